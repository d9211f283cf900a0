"""Dropout layers that take the operations of `keras_transformer.ops`."""

import keras
from keras import ops

from keras_transformer.ops import dropout, dropout_matmul, relu_dropout


@keras.saving.register_keras_serializable(package="keras_transformer")
class Dropout(keras.layers.Dropout):
    """Keras' Dropout, computed by `keras_transformer.ops.dropout`.

    Its kernels draw fewer random bits. A `noise_shape` takes Keras' way. Takes
    the arguments of `keras.layers.Dropout`.

    Reference: Srivastava et al. 2014, section 10.
    """

    def call(self, inputs, training=False):
        if not self._drops(training):
            return super().call(inputs, training=training)
        return dropout(inputs, self.rate, self.seed_generator)

    def matmul(self, inputs, other, training=False):
        """The matrix product of what the layer makes of `inputs` and `other`.

        Args:
            inputs: float `(..., T, S)`.
            other: float `(..., S, H)`.
            training: bool, whether dropout is applied.

        Returns:
            float `(..., T, H)`.
        """
        if not self._drops(training):
            return ops.matmul(self(inputs, training=training), other)
        return dropout_matmul(inputs, other, self.rate, self.seed_generator)

    def _drops(self, training):
        return training and self.rate > 0 and self.noise_shape is None


@keras.saving.register_keras_serializable(package="keras_transformer")
class ActivationDropout(Dropout):
    """An activation, then dropout: in training one operation for "relu".

    Args:
        rate: float, dropped fraction.
        activation: name or function.
    """

    def __init__(self, rate, activation="relu", **kwargs):
        super().__init__(rate, **kwargs)
        self.activation = keras.activations.get(activation)

    def call(self, inputs, training=False):
        rectifies = self.activation is keras.activations.relu
        if not (rectifies and self._drops(training)):
            return super().call(self.activation(inputs), training=training)
        return relu_dropout(inputs, self.rate, self.seed_generator)

    def get_config(self):
        return {
            **super().get_config(),
            "activation": keras.activations.serialize(self.activation),
        }
