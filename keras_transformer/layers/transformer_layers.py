"""The encoder's and the decoder's layers.

Axes: B batch, T target, S source, D model width, N heads.
"""

from __future__ import annotations

import functools
from typing import Any

import keras
from keras import ops

from keras_transformer.layers.attention import (
    MultiHeadAttention,
    PreNormAttention,
)
from keras_transformer.layers.composite import (
    CompositeLayer,
    check_width,
    initializers_config,
    refuse_symbolic,
)
from keras_transformer.layers.dropout import Dropout
from keras_transformer.layers.feed_forward import (
    FeedForward,
    PreNormFeedForward,
)
from keras_transformer.layers.layer_normalization import LayerNormalization
from keras_transformer.tensors import Activation, Initializer, Shape, Tensor

NORMS = ("pre", "post")


class TransformerLayer(CompositeLayer):
    """Base of `EncoderLayer` and `DecoderLayer`: sublayers and residuals.

    With pre-norm a sublayer normalises its inputs itself (`NormalizedDense`).

    Takes the arguments of `EncoderLayer`.

    References: Vaswani et al. 2017, section 3.1 (post); Xiong et al. 2020
    (pre).
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int,
        activation: Activation = "relu",
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        feedforward_dropout: float = 0.0,
        norm: str = "pre",
        layer_norm_epsilon: float = 1e-6,
        kernel_initializer: Initializer = "glorot_uniform",
        bias_initializer: Initializer = "zeros",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if norm not in NORMS:
            raise ValueError(
                f"norm must be 'pre' or 'post'. Received: {norm!r}"
            )
        self.d_model = d_model
        self.num_heads = num_heads
        self.d_ff = d_ff
        self.activation = keras.activations.get(activation)
        self.dropout = dropout
        self.attention_dropout = attention_dropout
        self.feedforward_dropout = feedforward_dropout
        self.norm = norm
        self.layer_norm_epsilon = layer_norm_epsilon
        self.supports_masking = True
        self._initializers = {
            "kernel_initializer": kernel_initializer,
            "bias_initializer": bias_initializer,
        }
        self._feedforward, self._feedforward_layer_norm = self._sublayer(
            "feedforward",
            (FeedForward, PreNormFeedForward),
            d_ff=d_ff,
            activation=self.activation,
            dropout=feedforward_dropout,
        )
        self._dropout = Dropout(
            dropout, dtype=self.dtype_policy, name="residual_dropout"
        )
        self._self_attention, self._self_attention_layer_norm = self._attention(
            "self_attention", normalized=("query", "key", "value")
        )
        self.kernel_initializer = self._self_attention.kernel_initializer
        self.bias_initializer = self._self_attention.bias_initializer

    def _attention(self, name, normalized):
        """Makes an attention sublayer and its norm.

        With pre-norm the inputs named by `normalized` are normalised.
        """
        pre_norm = functools.partial(PreNormAttention, inputs=normalized)
        return self._sublayer(
            name,
            (MultiHeadAttention, pre_norm),
            num_heads=self.num_heads,
            dropout=self.attention_dropout,
        )

    def _sublayer(self, name, kinds, **options):
        """Makes a sublayer and its norm.

        `kinds` are its class for post-norm and its class for pre-norm, which
        takes the norm. The names of both layers are in checkpoints.
        """
        norm = LayerNormalization(
            epsilon=self.layer_norm_epsilon,
            dtype=self.dtype_policy,
            name=f"{name}_layer_norm",
        )
        make, make_pre_norm = kinds
        if self.norm == "pre":
            make = functools.partial(make_pre_norm, norm=norm)
        sublayer = make(
            d_model=self.d_model,
            dtype=self.dtype_policy,
            name=name,
            **self._initializers,
            **options,
        )
        return sublayer, norm

    def build(self, x_shape: Shape) -> None:
        check_width(self, "x", x_shape, self.d_model)
        self._self_attention.build(x_shape, x_shape)
        self._self_attention_layer_norm.build(x_shape)
        self._feedforward.build(x_shape)
        self._feedforward_layer_norm.build(x_shape)

    def _add(self, x, update, layer_norm, training=None):
        """Adds an update to the residual stream; with post-norm, normalises."""
        x = x + self._dropout(update, training=training)
        return x if self.norm == "pre" else layer_norm(x)

    def compute_output_shape(
        self, x_shape: Shape, *args: Any, **kwargs: Any
    ) -> Shape:
        return x_shape

    def get_config(self) -> dict:
        return {
            **super().get_config(),
            "d_model": self.d_model,
            "num_heads": self.num_heads,
            "d_ff": self.d_ff,
            "activation": keras.activations.serialize(self.activation),
            "dropout": self.dropout,
            "attention_dropout": self.attention_dropout,
            "feedforward_dropout": self.feedforward_dropout,
            "norm": self.norm,
            "layer_norm_epsilon": self.layer_norm_epsilon,
            **initializers_config(self),
        }


@keras.saving.register_keras_serializable(package="keras_transformer")
class EncoderLayer(TransformerLayer):
    """Self-attention, then feed-forward, each with a residual and a norm.

    KerasHub's `TransformerEncoder` calls `d_ff` `intermediate_dim`, and
    `norm="pre"` `normalize_first=True` (False by default). Its `dropout` sets
    both `dropout` and `attention_dropout`, its `layer_norm_epsilon` is 1e-5 by
    default, and it takes `d_model` from its input.

    Args:
        d_model: int, width D of input and output.
        num_heads: int, attention heads, which divide D.
        d_ff: int, width inside the feed-forward sublayer.
        activation: of the feed-forward sublayer, a name or a function.
        dropout: float, on each sublayer's output.
        attention_dropout: float, on attention weights.
        feedforward_dropout: float, inside the feed-forward sublayer.
        norm: "pre" (x + f(norm(x))) or "post" (norm(x + f(x))).
        layer_norm_epsilon: float, added to the variance.
        kernel_initializer: initializer of all kernels.
        bias_initializer: initializer of all biases.

    Call arguments:
        x: float `(B, S, D)`. Its implicit mask, such as `PositionalEmbedding`
            sets, hides keys.
        attention_mask: bool, broadcasts to `(B, S, S)`, True keeps.
        training: bool, whether dropout is applied.

    Returns:
        float `(B, S, D)`.

    Raises:
        ValueError: unknown `norm`, or `num_heads` doesn't divide `d_model`;
            or, when called, an input of another width or a mask of floats;
            or `attention_weights` got a symbolic tensor.

    Example:
        >>> import numpy as np
        >>> layer = EncoderLayer(d_model=8, num_heads=2, d_ff=16)
        >>> tuple(layer(np.ones((1, 3, 8), dtype="float32")).shape)
        (1, 3, 8)

    Reference: Vaswani et al. 2017, section 3.1.
    """

    def call(
        self,
        x: Tensor,
        attention_mask: Tensor | None = None,
        training: bool | None = None,
    ) -> Tensor:
        check_width(self, "x", x.shape, self.d_model)
        update = self._self_attention(
            x, x, attention_mask=attention_mask, training=training
        )
        x = self._add(x, update, self._self_attention_layer_norm, training)
        update = self._feedforward(x, training=training)
        return self._add(x, update, self._feedforward_layer_norm, training)

    def attention_weights(
        self, x: Tensor, attention_mask: Tensor | None = None
    ) -> Tensor:
        """Attention weights of each position, for the arguments of `call`.

        Returns:
            float `(B, N, S, S)`, queries, then keys; see
            `MultiHeadAttention.attention_weights`.
        """
        refuse_symbolic(self, "attention_weights", x, attention_mask)
        if not self.built:
            self.build(x.shape)
        return self._self_attention.attention_weights(x, x, attention_mask)


@keras.saving.register_keras_serializable(package="keras_transformer")
class DecoderLayer(TransformerLayer):
    """Self-attention, cross-attention, feed-forward, with residuals.

    KerasHub's `TransformerDecoder` calls `x` `decoder_sequence` and
    `encoder_output` `encoder_sequence`; for the rest see `EncoderLayer`.

    Args:
        d_model: int, width D of input and output.
        num_heads: int, attention heads, which divide D.
        d_ff: int, width inside the feed-forward sublayer.
        activation: of the feed-forward sublayer, a name or a function.
        dropout: float, on each sublayer's output.
        attention_dropout: float, on attention weights.
        feedforward_dropout: float, inside the feed-forward sublayer.
        norm: "pre" (x + f(norm(x))) or "post" (norm(x + f(x))).
        layer_norm_epsilon: float, added to the variance.
        cross_attention: bool, whether the layer attends to an encoder's
            output. False in a language model.
        kernel_initializer: initializer of all kernels.
        bias_initializer: initializer of all biases.

    Call arguments:
        x: float `(B, T, D)`. Its implicit mask and that of `encoder_output`
            hide keys as in `EncoderLayer`.
        encoder_output: float `(B, S, D)`; None without cross-attention.
        self_attention_mask: bool, broadcasts to `(B, T, T)`, True keeps.
        cross_attention_mask: bool, broadcasts to `(B, T, S)`, True keeps.
        training: bool, whether dropout is applied.
        use_causal_mask: bool, whether to also hide later positions. Pass
            False if the mask already does, or if the layer isn't
            autoregressive.

    Returns:
        float `(B, T, D)`.

    Raises:
        ValueError: as for `EncoderLayer`; or, when called, `encoder_output` is
            missing with cross-attention, or given without it.

    Example:
        >>> import numpy as np
        >>> layer = DecoderLayer(d_model=8, num_heads=2, d_ff=16)
        >>> x = np.ones((1, 3, 8), dtype="float32")
        >>> tuple(layer(x, np.ones((1, 5, 8), dtype="float32")).shape)
        (1, 3, 8)

    Reference: Vaswani et al. 2017, section 3.1.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int,
        activation: Activation = "relu",
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        feedforward_dropout: float = 0.0,
        norm: str = "pre",
        layer_norm_epsilon: float = 1e-6,
        cross_attention: bool = True,
        kernel_initializer: Initializer = "glorot_uniform",
        bias_initializer: Initializer = "zeros",
        **kwargs: Any,
    ) -> None:
        super().__init__(
            d_model,
            num_heads,
            d_ff,
            activation,
            dropout,
            attention_dropout,
            feedforward_dropout,
            norm,
            layer_norm_epsilon,
            kernel_initializer,
            bias_initializer,
            **kwargs,
        )
        self.cross_attention = cross_attention
        if cross_attention:
            self._cross_attention, self._cross_attention_layer_norm = (
                self._attention("cross_attention", normalized=("query",))
            )

    def build(
        self, x_shape: Shape, encoder_output_shape: Shape | None = None
    ) -> None:
        self._check_source(encoder_output_shape)
        super().build(x_shape)
        if self.cross_attention:
            self._cross_attention.build(x_shape, encoder_output_shape)
            self._cross_attention_layer_norm.build(x_shape)

    def call(
        self,
        x: Tensor,
        encoder_output: Tensor | None = None,
        self_attention_mask: Tensor | None = None,
        cross_attention_mask: Tensor | None = None,
        training: bool | None = None,
        use_causal_mask: bool = True,
    ) -> Tensor:
        self._check_source(encoder_output)
        check_width(self, "x", x.shape, self.d_model)
        update = self._self_attention(
            x,
            x,
            attention_mask=self_attention_mask,
            training=training,
            use_causal_mask=use_causal_mask,
        )
        x = self._add(x, update, self._self_attention_layer_norm, training)
        if self.cross_attention:
            update = self._cross_attention(
                x,
                encoder_output,
                attention_mask=cross_attention_mask,
                training=training,
            )
            norm = self._cross_attention_layer_norm
            x = self._add(x, update, norm, training)
        update = self._feedforward(x, training=training)
        return self._add(x, update, self._feedforward_layer_norm, training)

    def attention_weights(
        self,
        x: Tensor,
        encoder_output: Tensor | None = None,
        self_attention_mask: Tensor | None = None,
        cross_attention_mask: Tensor | None = None,
        use_causal_mask: bool = True,
    ) -> tuple[Tensor, Tensor | None]:
        """Attention weights of each position, for the arguments of `call`.

        Returns:
            self-attention, float `(B, N, T, T)`, and cross-attention, float
            `(B, N, T, S)` or None: queries, then keys; see
            `MultiHeadAttention.attention_weights`.
        """
        masks = self_attention_mask, cross_attention_mask
        refuse_symbolic(self, "attention_weights", x, encoder_output, *masks)
        self._check_source(encoder_output)
        if not self.built:
            self.build(x.shape, getattr(encoder_output, "shape", None))
        to_itself = self._self_attention.attention_weights(
            x, x, self_attention_mask, use_causal_mask
        )
        if not self.cross_attention:
            return to_itself, None
        update = self._self_attention(
            x,
            x,
            attention_mask=self_attention_mask,
            use_causal_mask=use_causal_mask,
        )
        # Keras casts the arguments of `call`, but not of other methods.
        x = ops.cast(x, self.compute_dtype)
        x = self._add(x, update, self._self_attention_layer_norm)
        to_source = self._cross_attention.attention_weights(
            x, encoder_output, cross_attention_mask
        )
        return to_itself, to_source

    def guide(self, head: int) -> None:
        """Makes calls in training keep a cross-attention head's weights.

        `take_alignment` returns them.
        """
        self._cross_attention.guided_head = head

    def take_alignment(self) -> Tensor:
        """Returns the logarithms of the guided head's weights and drops them.

        Returns:
            float32 `(B, T, S)`, of the last call in training.
        """
        layer = self._cross_attention
        taken, layer.log_weights = layer.log_weights, None
        return taken

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "cross_attention": self.cross_attention}

    def _check_source(self, encoder_output):
        """Checks that an encoder's output, or its shape, is given if needed."""
        missing = encoder_output is None
        if missing == self.cross_attention:
            raise ValueError(
                "encoder_output is required with cross_attention=True, and not "
                "accepted without. Received: cross_attention="
                f"{self.cross_attention}, {'no ' * missing}encoder_output"
            )
