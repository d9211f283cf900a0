"""Layer normalisation in fewer passes on TensorFlow."""

import keras
from keras import ops

from keras_transformer import backend
from keras_transformer.layers.dense import product


@keras.saving.register_keras_serializable(package="keras_transformer")
class LayerNormalization(keras.layers.LayerNormalization):
    """Keras' LayerNormalization, whose gradient keeps one tensor, not five.

    Takes its arguments. Over several axes, without scale or centre, with
    weights that aren't float32, and on other backends than TensorFlow it is
    Keras' own.

    Reference: Ba et al. 2016, "Layer Normalization", equation 4.
    """

    def call(self, inputs):
        if not self._has_faster(inputs):
            return super().call(inputs)
        outputs = self._standardize(inputs) * self.gamma + self.beta
        return ops.cast(outputs, self.compute_dtype)

    def project(self, inputs, kernel, bias=None, trained=False):
        """The matrix product of what the layer makes of `inputs` and `kernel`.

        Scale and centre become part of kernel and bias. Then the product
        keeps for its gradient what the normalisation keeps anyway, not a
        tensor of its own, and passes over the inputs are saved. For training:
        each call scales the kernel, which a step of a search is too small for.

        Args:
            inputs: float `(..., D)`.
            kernel: float `(D, E)`.
            bias: float `(E,)`, or None.
            trained: see `layers.dense.product`.

        Returns:
            float `(..., E)`.
        """
        if self._has_faster(inputs):
            inputs = ops.cast(self._standardize(inputs), self.compute_dtype)
            # Rounded once, to what the product is computed in.
            kernel = ops.cast(kernel, "float32")
            row = ops.matmul(ops.reshape(self.beta, (1, -1)), kernel)
            centre = ops.reshape(row, (-1,))
            bias = (
                centre if bias is None else centre + ops.cast(bias, "float32")
            )
            kernel = ops.reshape(self.gamma, (-1, 1)) * kernel
        else:
            inputs = self(inputs)
        return product(inputs, kernel, bias, self.compute_dtype, trained)

    def _standardize(self, inputs):
        inputs = ops.cast(inputs, "float32")
        return backend.fused().standardize(inputs, self.epsilon)

    def _has_faster(self, inputs):
        last = self.axis in (-1, [-1], len(inputs.shape) - 1)
        plain = last and self.scale and self.center
        usual = self.variable_dtype == "float32"
        return plain and usual and backend.fused() is not None
