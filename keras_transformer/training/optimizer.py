"""Optimizer: Adam that sums the slices of an embedding's gradient first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from keras_transformer.ops import adam_update
from keras_transformer.tensors import Tensor


@keras.saving.register_keras_serializable(package="keras_transformer")
class DenseAdam(keras.optimizers.Adam):
    """Keras' Adam: sparse gradients summed, the update by `ops.adam_update`.

    TensorFlow gives the gradient of an embedding as slices, one for each
    token of the batch, so that a frequent token has many. Keras 3.15 squares
    each slice and then adds them up, where Adam's second moment is the
    square of their sum: frequent tokens get steps of a wrong size, and
    quality suffers. Here repeated slices are summed first, as PyTorch and
    TensorFlow's own Adam do.

    Takes the arguments of `keras.optimizers.Adam`.

    Reference: Kingma and Ba 2015, algorithm 1.
    """

    _update: Any = None

    def apply(
        self,
        grads: Sequence[Tensor],
        trainable_variables: Sequence[keras.Variable] | None = None,
    ) -> None:
        self._update = adam_update(self)
        try:
            summed = [_summed(gradient) for gradient in grads]
            super().apply(summed, trainable_variables)
        finally:
            self._update = None

    def update_step(
        self, gradient: Tensor, variable: keras.Variable, learning_rate: Tensor
    ) -> None:
        self._update(gradient, variable, learning_rate)


def _summed(gradient):
    """A gradient in slices as one tensor, equal rows added up."""
    # PyTorch's tensors have methods named as the other fields of slices.
    if not hasattr(gradient, "dense_shape"):
        return gradient
    indices = gradient.indices
    return ops.scatter(
        ops.expand_dims(indices, axis=-1),
        gradient.values,
        ops.cast(gradient.dense_shape, indices.dtype),
    )
