"""Dense layers: Keras' own, and one whose inputs are normalised first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import keras
from keras import ops

from keras_transformer.compat import kernel_variable
from keras_transformer.ops import dense
from keras_transformer.tensors import Tensor

if TYPE_CHECKING:
    from keras_transformer.layers.layer_normalization import LayerNormalization


@keras.saving.register_keras_serializable(package="keras_transformer")
class Dense(keras.layers.Dense):
    """Keras' Dense, in training by `keras_transformer.ops.dense`.

    TensorFlow has no reason to compute the gradients of weight matrices
    before the way back through the model has ended, and keeps two tensors for
    each until then; its kernel of that operation orders them. Takes Keras'
    arguments.
    """

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        if not self.needs_kernel_gradient(training):
            return super().call(inputs)
        outputs = self.product(
            inputs, self.kernel, self.bias, training, gradient=True
        )
        return outputs if self.activation is None else self.activation(outputs)

    def product(
        self,
        inputs: Tensor,
        kernel: Tensor,
        bias: Tensor | None,
        training: bool | None = None,
        gradient: bool = False,
    ) -> Tensor:
        """The product with weights that were made of the layer's.

        Args:
            inputs: float `(..., D)`, as `call` takes them.
            kernel: float `(D, E)`.
            bias: float `(E,)`, or None.
            training: bool.
            gradient: bool, whether one by the kernel will be asked for.

        Returns:
            float `(..., E)` in the layer's compute dtype.
        """
        kernel = ops.cast(kernel, self.compute_dtype)
        if bias is not None:
            bias = ops.cast(bias, self.compute_dtype)
        return dense(inputs, kernel, bias, kernel_gradient=gradient)

    def needs_kernel_gradient(self, training: bool | None) -> bool:
        """True if a gradient by the kernel will be asked for."""
        if not training or self.quantization_mode is not None:
            return False
        return kernel_variable(self).trainable

    def input_norm(self) -> LayerNormalization | None:
        """The `LayerNormalization` that inputs go through first, or None."""
        return None

    def quantize(
        self, mode: str | None = None, type_check: bool = True, **kwargs: Any
    ) -> None:
        # Keras' own refuses subclasses, which might compute something else.
        super().quantize(mode, type_check=False, **kwargs)


class NormalizedDense(Dense):
    """`dense(norm(inputs))`, with less memory in training.

    There the norm's scale and centre become part of kernel and bias. Then the
    product keeps for its gradient what the normalisation keeps anyway, not a
    tensor of its own, and passes over the inputs are saved. Only in training:
    each call scales the kernel, which a step of a search is too small for.

    Args:
        units: int, E.
        norm: `LayerNormalization`. The layer around both owns it: builds it,
            tracks its weights and saves them.
    """

    def __init__(
        self, units: int, norm: LayerNormalization, **kwargs: Any
    ) -> None:
        super().__init__(units, **kwargs)
        # In a function, where Keras doesn't find a second owner.
        self._input_norm = lambda: norm

    def input_norm(self) -> LayerNormalization:
        return self._input_norm()

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        weights = self.kernel, self.bias
        gradient = self.needs_kernel_gradient(training)
        return self.product(inputs, *weights, training, gradient)

    def product(
        self,
        inputs: Tensor,
        kernel: Tensor,
        bias: Tensor | None,
        training: bool | None = None,
        gradient: bool = False,
    ) -> Tensor:
        norm = self.input_norm()
        if training:
            inputs, kernel, bias = norm.fuse(inputs, kernel, bias)
        else:
            inputs = norm(inputs)
        return super().product(inputs, kernel, bias, training, gradient)

    def quantized_call(
        self, inputs: Tensor, training: bool | None = None
    ) -> Tensor:
        # Of training, float8 adapts its scales.
        inputs = self.input_norm()(inputs)
        return super().quantized_call(inputs, training=training)
