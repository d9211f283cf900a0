"""A dense layer whose gradient takes little memory on TensorFlow."""

import keras
from keras import ops

from keras_transformer import backend


@keras.saving.register_keras_serializable(package="keras_transformer")
class Dense(keras.layers.Dense):
    """Keras' Dense, whose kernel's gradient is computed before its input's.

    TensorFlow has no reason to compute the gradients of kernels before the
    way back through the model has ended, and keeps two tensors for each until
    then. Takes its arguments.
    """

    def call(self, inputs, training=None):
        if not self.trains(training):
            return super().call(inputs)
        outputs = product(
            inputs, self.kernel, self.bias, self.compute_dtype, trained=True
        )
        return outputs if self.activation is None else self.activation(outputs)

    def trains(self, training):
        """Whether a gradient by the kernel will be wanted."""
        plain = self.quantization_mode is None
        return bool(training) and plain and self._kernel.trainable

    def quantize(self, mode=None, type_check=True, **kwargs):
        # Keras' own refuses subclasses, which might compute something else.
        super().quantize(mode, type_check=False, **kwargs)


def product(inputs, kernel, bias, dtype, trained=False):
    """A matrix product, with a bias if not None, of weights cast to `dtype`.

    Args:
        inputs: float `(..., D)`.
        kernel: float `(D, E)`.
        bias: float `(E,)`, or None.
        dtype: of inputs and outputs.
        trained: bool, whether a gradient by the kernel will be wanted, which
            is then computed before the one by the inputs.

    Returns:
        float `(..., E)`.
    """
    weights = [ops.cast(w, dtype) for w in (kernel, bias) if w is not None]
    fused = backend.fused()
    if trained and fused:
        return fused.dense(inputs, *weights)
    outputs = ops.matmul(inputs, weights[0])
    return outputs if bias is None else ops.add(outputs, weights[1])
