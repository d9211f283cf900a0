"""Dense layers: Keras' own, and one that normalises its inputs first."""

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
    """Keras' Dense, which uses `keras_transformer.ops.dense` in training.

    TensorFlow may leave the gradients of weight matrices until the end of the
    backward pass, and keeps two tensors for each until then. Its kernel of
    `ops.dense` has each computed in turn. Takes the arguments of
    `keras.layers.Dense`.
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
        """The product of inputs and weights derived from the layer's.

        Args:
            inputs: float `(..., D)`, as `call` takes them.
            kernel: float `(D, E)`.
            bias: float `(E,)`, or None.
            training: bool.
            gradient: bool, whether the kernel's gradient will be needed.

        Returns:
            float `(..., E)` in the layer's compute dtype.
        """
        kernel = ops.cast(kernel, self.compute_dtype)
        if bias is not None:
            bias = ops.cast(bias, self.compute_dtype)
        return dense(inputs, kernel, bias, kernel_gradient=gradient)

    def needs_kernel_gradient(self, training: bool | None) -> bool:
        """True if the kernel's gradient will be needed."""
        if not training or self.quantization_mode is not None:
            return False
        return kernel_variable(self).trainable

    def input_norm(self) -> LayerNormalization | None:
        """The `LayerNormalization` that is applied to inputs, or None."""
        return None

    def quantize(
        self, mode: str | None = None, type_check: bool = True, **kwargs: Any
    ) -> None:
        # By default Keras refuses subclasses of its layers.
        super().quantize(mode, type_check=False, **kwargs)


class NormalizedDense(Dense):
    """`dense(norm(inputs))`, with less memory in training.

    In training the norm's scale and centre are fused into kernel and bias. The
    product's gradient then needs the standardised inputs, which the norm keeps
    anyway, instead of another tensor, and passes over the inputs are saved.
    Each call scales the kernel, though, which costs too much for the few rows
    of a search step.

    Args:
        units: int, E.
        norm: `LayerNormalization`. It belongs to the enclosing layer, which
            builds it, tracks its weights and saves them.
    """

    def __init__(
        self, units: int, norm: LayerNormalization, **kwargs: Any
    ) -> None:
        super().__init__(units, **kwargs)
        # In a function, so that Keras doesn't track it as a sublayer here.
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
        # `training` matters to float8, which adapts its scales then.
        inputs = self.input_norm()(inputs)
        return super().quantized_call(inputs, training=training)
