"""Dropout layers that use the operations of `keras_transformer.ops`."""

from __future__ import annotations

from typing import Any

import keras

from keras_transformer.ops import dropout, relu_dropout
from keras_transformer.tensors import Activation, Tensor


@keras.saving.register_keras_serializable(package="keras_transformer")
class Dropout(keras.layers.Dropout):
    """Keras' Dropout, computed by `keras_transformer.ops.dropout`.

    The kernels of that operation draw fewer random bits. With a `noise_shape`
    Keras' own implementation runs. Takes the arguments of
    `keras.layers.Dropout`.

    Reference: Srivastava et al. 2014, section 10.
    """

    def call(self, inputs: Tensor, training: bool | None = False) -> Tensor:
        if not self._drops(training):
            return super().call(inputs, training=training)
        return dropout(inputs, self.rate, self.seed_generator)

    def rate_and_seed(
        self, training: bool | None
    ) -> tuple[float, keras.random.SeedGenerator | None]:
        """The arguments of operations with dropout inside.

        Returns:
            rate and seed generator, or 0 and None if nothing is dropped.
        """
        if not self._drops(training):
            return 0.0, None
        return self.rate, self.seed_generator

    def _drops(self, training):
        return training and self.rate > 0 and self.noise_shape is None


@keras.saving.register_keras_serializable(package="keras_transformer")
class ActivationDropout(Dropout):
    """An activation, then dropout; one operation for "relu" in training.

    Args:
        rate: float, dropped fraction.
        activation: name or function.
    """

    def __init__(
        self, rate: float, activation: Activation = "relu", **kwargs: Any
    ) -> None:
        super().__init__(rate, **kwargs)
        self.activation = keras.activations.get(activation)

    def call(self, inputs: Tensor, training: bool | None = False) -> Tensor:
        rectifies = self.activation is keras.activations.relu
        if not (rectifies and self._drops(training)):
            return super().call(self.activation(inputs), training=training)
        return relu_dropout(inputs, self.rate, self.seed_generator)

    def get_config(self) -> dict:
        return {
            **super().get_config(),
            "activation": keras.activations.serialize(self.activation),
        }
