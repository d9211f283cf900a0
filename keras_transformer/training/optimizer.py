"""Adam that treats an embedding's gradient as what it is: a sum."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="keras_transformer")
class DenseAdam(keras.optimizers.Adam):
    """Keras' Adam, with sparse gradients summed before anything else.

    TensorFlow gives the gradient of an embedding as slices, one for each
    token of the batch, so that a frequent token has many. Keras 3.15 squares
    each slice and then adds them up, where Adam's second moment is the
    square of their sum: frequent tokens get steps of a wrong size, and
    quality suffers. Here repeated slices are summed first, as PyTorch and
    TensorFlow's own Adam do. Takes the arguments of `keras.optimizers.Adam`.

    Reference: Kingma and Ba 2015, algorithm 1.
    """

    def apply(self, grads, trainable_variables=None):
        return super().apply([_summed(g) for g in grads], trainable_variables)


def _summed(gradient):
    """A gradient in slices as one tensor, equal rows added up."""
    indices = getattr(gradient, "indices", None)
    if indices is None:
        return gradient
    return ops.scatter(
        ops.expand_dims(indices, axis=-1),
        gradient.values,
        ops.cast(gradient.dense_shape, indices.dtype),
    )
