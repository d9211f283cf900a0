"""The position-wise feed-forward sublayer."""

from __future__ import annotations

import functools
from typing import Any

import keras
from keras import ops

from keras_transformer.layers.composite import (
    CompositeLayer,
    check_width,
    initializers_config,
    own_initializer,
)
from keras_transformer.layers.dense import Dense, NormalizedDense
from keras_transformer.layers.dropout import ActivationDropout
from keras_transformer.layers.layer_normalization import LayerNormalization
from keras_transformer.tensors import Activation, Initializer, Shape, Tensor


@keras.saving.register_keras_serializable(package="keras_transformer")
class FeedForward(CompositeLayer):
    """Two projections with an activation between, the same at each position.

    In KerasHub this is a part of the Transformer layers, and `d_ff` is called
    `intermediate_dim`.

    Args:
        d_ff: int, width between the two projections.
        d_model: int, width of input and output.
        activation: name or function, such as "relu", "gelu" (exact, by erf)
            or "swish". Functions are used as given.
        dropout: float, fraction to drop after the activation.
        kernel_initializer: initializer of both kernels.
        bias_initializer: initializer of both biases.

    Call arguments:
        inputs: float `(..., D)`.
        training: bool, whether dropout is applied.

    Returns:
        float `(..., d_model)`.

    Raises:
        ValueError: inputs of another width than at the first call.

    Example:
        >>> import numpy as np
        >>> layer = FeedForward(d_ff=16, d_model=8)
        >>> tuple(layer(np.ones((1, 3, 8), dtype="float32")).shape)
        (1, 3, 8)

    Reference: Vaswani et al. 2017, section 3.3.
    """

    def __init__(
        self,
        d_ff: int,
        d_model: int,
        activation: Activation = "relu",
        dropout: float = 0.0,
        kernel_initializer: Initializer = "glorot_uniform",
        bias_initializer: Initializer = "zeros",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.d_ff = d_ff
        self.d_model = d_model
        self.activation = keras.activations.get(activation)
        self.dropout = dropout
        self.supports_masking = True
        self._inner = self._inner_dense(
            kernel_initializer=own_initializer(kernel_initializer),
            bias_initializer=own_initializer(bias_initializer),
            dtype=self.dtype_policy,
            name="inner",
        )
        self.kernel_initializer = self._inner.kernel_initializer
        self.bias_initializer = self._inner.bias_initializer
        self._outer = Dense(
            d_model,
            kernel_initializer=own_initializer(self.kernel_initializer),
            bias_initializer=own_initializer(self.bias_initializer),
            dtype=self.dtype_policy,
            name="outer",
        )
        self._activation_dropout = ActivationDropout(
            dropout,
            self.activation,
            dtype=self.dtype_policy,
            name="feedforward_dropout",
        )

    def _inner_dense(self, **options):
        return Dense(self.d_ff, **options)

    def build(self, inputs_shape: Shape) -> None:
        self._width = inputs_shape[-1]
        self._inner.build(inputs_shape)
        self._outer.build((*inputs_shape[:-1], self.d_ff))

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        check_width(self, "inputs", inputs.shape, self._width, any_axes=True)
        # 2-D, because a product with more axes adds dozens of graph nodes.
        x = ops.reshape(inputs, (-1, inputs.shape[-1]))  # (B * T, D)
        x = self._activation_dropout(self._inner(x), training=training)
        x = self._outer(x)  # (B * T, D)
        return ops.reshape(x, (*ops.shape(inputs)[:-1], self.d_model))

    def compute_output_shape(self, inputs_shape: Shape) -> Shape:
        return (*inputs_shape[:-1], self.d_model)

    def get_config(self) -> dict:
        return {
            **super().get_config(),
            "d_ff": self.d_ff,
            "d_model": self.d_model,
            "activation": keras.activations.serialize(self.activation),
            "dropout": self.dropout,
            **initializers_config(self),
        }


class PreNormFeedForward(FeedForward):
    """Feed-forward sublayer that normalises its inputs itself.

    Args:
        norm: `LayerNormalization`, see `NormalizedDense`.
    """

    def __init__(
        self, *args: Any, norm: LayerNormalization, **kwargs: Any
    ) -> None:
        self._dense = functools.partial(NormalizedDense, norm=norm)
        super().__init__(*args, **kwargs)

    def _inner_dense(self, **options):
        return self._dense(self.d_ff, **options)
