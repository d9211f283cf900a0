"""Dropout whose random numbers cost a quarter on TensorFlow."""

import keras
from keras import ops

from keras_transformer import backend


@keras.saving.register_keras_serializable(package="keras_transformer")
class Dropout(keras.layers.Dropout):
    """Keras' Dropout from 8 random bits for each number.

    TensorFlow's own draws a float of 32 bits for each, which takes a fifth of
    a training step on a processor. With 8 bits the share that a call drops is
    a multiple of 1/256: one of the two beside `rate`, drawn anew for each
    call so that each number is dropped with the probability `rate`. What is
    kept is scaled by the call's own share, so that the mean stays what it
    was. Other backends, rates above 255/256 and a `noise_shape` take Keras'
    way. Takes the arguments of `keras.layers.Dropout`.

    Reference: Srivastava et al. 2014, section 10.
    """

    def call(self, inputs, training=False):
        if not (training and self._has_faster()):
            return super().call(inputs, training=training)
        seed = self.seed_generator.next()
        return backend.fused().dropout(inputs, self.rate, seed)

    def matmul(self, inputs, other, training=False):
        """The matrix product of what the layer makes of `inputs` and `other`.

        Args:
            inputs: float `(..., M, K)`.
            other: float `(..., K, N)`.
            training: bool, whether dropout is applied.

        Returns:
            float `(..., M, N)`.
        """
        # The fused gradient doesn't sum over a batch of 1 that serves all.
        same = inputs.shape[:-2] == other.shape[:-2]
        if not (training and same and self._has_faster()):
            return ops.matmul(self(inputs, training=training), other)
        seed = self.seed_generator.next()
        return backend.fused().dropout_matmul(inputs, other, self.rate, seed)

    def _has_faster(self):
        return (
            0 < self.rate <= 255 / 256
            and self.noise_shape is None
            and backend.fused() is not None
        )


@keras.saving.register_keras_serializable(package="keras_transformer")
class ActivationDropout(Dropout):
    """An activation, then dropout: in training one operation for "relu".

    Args:
        rate: float, dropped share.
        activation: name or function.
    """

    def __init__(self, rate, activation="relu", **kwargs):
        super().__init__(rate, **kwargs)
        self.activation = keras.activations.get(activation)

    def call(self, inputs, training=False):
        rectifies = self.activation is keras.activations.relu
        if not (training and rectifies and self._has_faster()):
            return super().call(self.activation(inputs), training=training)
        seed = self.seed_generator.next()
        return backend.fused().relu_dropout(inputs, self.rate, seed)

    def get_config(self):
        return {
            **super().get_config(),
            "activation": keras.activations.serialize(self.activation),
        }
