"""Layer normalisation that can be fused into the product after it."""

from __future__ import annotations

import keras
from keras import ops

from keras_transformer.ops import standardize
from keras_transformer.tensors import Tensor


@keras.saving.register_keras_serializable(package="keras_transformer")
class LayerNormalization(keras.layers.LayerNormalization):
    """Keras' LayerNormalization, using `keras_transformer.ops.standardize`.

    Takes the same arguments. Keras' own implementation runs for other axes
    than the last, without scale or centre, and for weights that aren't
    float32.

    Reference: Ba et al. 2016, "Layer Normalization", equation 4.
    """

    def call(self, inputs: Tensor) -> Tensor:
        if not self._is_plain(inputs):
            return super().call(inputs)
        outputs = self._standardize(inputs) * self.gamma + self.beta
        return ops.cast(outputs, self.compute_dtype)

    def fuse(
        self, inputs: Tensor, kernel: Tensor, bias: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Fuses scale and centre into the weights of the product after it.

        `matmul(inputs, kernel) + bias` of the returned tensors equals
        `matmul(self(inputs), kernel) + bias` of the given ones.

        Args:
            inputs: float `(..., D)`.
            kernel: float `(D, E)`.
            bias: float `(E,)`, or None.

        Returns:
            inputs `(..., D)`, kernel `(D, E)` and bias `(E,)` or None.
        """
        if not self._is_plain(inputs):
            return self(inputs), kernel, bias
        inputs = ops.cast(self._standardize(inputs), self.compute_dtype)
        # In float32: the caller rounds the result to the compute dtype.
        kernel = ops.cast(kernel, "float32")
        row = ops.matmul(ops.reshape(self.beta, (1, -1)), kernel)  # (1, E)
        shift = ops.reshape(row, (-1,))  # (E,)
        bias = shift if bias is None else shift + ops.cast(bias, "float32")
        return inputs, ops.reshape(self.gamma, (-1, 1)) * kernel, bias

    def _standardize(self, inputs):
        return standardize(ops.cast(inputs, "float32"), self.epsilon)

    def _is_plain(self, inputs):
        last = self.axis in (-1, [-1], len(inputs.shape) - 1)
        weights = self.scale and self.center
        return last and weights and self.variable_dtype == "float32"
