"""One layer of the decoder.

Axes: B batch, T target, S source, D model width.
"""

import keras

from keras_transformer.layers.attention import MultiHeadAttention
from keras_transformer.layers.transformer_layer import TransformerLayer


@keras.saving.register_keras_serializable(package="keras_transformer")
class DecoderLayer(TransformerLayer):
    """Self-attention, cross-attention, feed-forward, with residuals.

    Takes the arguments of `TransformerLayer`: `d_model`, `num_heads`,
    `d_ff`, `activation`, `dropout`, `attention_dropout`,
    `feedforward_dropout`, `norm` ("pre" or "post"), `layer_norm_epsilon`.

    Call arguments:
        x: float `(B, T, D)`.
        encoder_output: float `(B, S, D)`.
        self_attention_mask: bool, broadcasts to `(B, T, T)`, True keeps;
            causal and padding (see `layers.masks.decoder_mask`).
        cross_attention_mask: bool, broadcasts to `(B, T, S)`, True keeps.
        training: bool, whether dropout is applied.

    Returns:
        float `(B, T, D)`.

    Example:
        >>> import numpy as np
        >>> layer = DecoderLayer(d_model=8, num_heads=2, d_ff=16)
        >>> x = np.ones((1, 3, 8), dtype="float32")
        >>> tuple(layer(x, np.ones((1, 5, 8), dtype="float32")).shape)
        (1, 3, 8)

    Reference: Vaswani et al. 2017, section 3.1.
    """

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._self_attention = self._attention("self_attention")
        self._self_attention_layer_norm = self._layer_norm("self_attention")
        self._cross_attention = self._attention("cross_attention")
        self._cross_attention_layer_norm = self._layer_norm("cross_attention")

    def _attention(self, name):
        return MultiHeadAttention(
            self.num_heads,
            self.d_model,
            dropout=self.attention_dropout,
            dtype=self.dtype_policy,
            name=name,
        )

    def build(self, x_shape, encoder_output_shape):
        self._self_attention.build(x_shape, x_shape)
        self._self_attention_layer_norm.build(x_shape)
        self._cross_attention.build(x_shape, encoder_output_shape)
        self._cross_attention_layer_norm.build(x_shape)
        self._build_feedforward(x_shape)

    def call(
        self,
        x,
        encoder_output,
        self_attention_mask=None,
        cross_attention_mask=None,
        training=None,
    ):
        x = self._self_attention_residual(x, self_attention_mask, training)
        x = self._residual(
            x,
            lambda x, norm: self._cross_attention(
                x,
                encoder_output,
                attention_mask=cross_attention_mask,
                training=training,
                query_norm=norm,
            ),
            self._cross_attention_layer_norm,
            training,
        )
        return self._feedforward_residual(x, training)

    def _self_attention_residual(self, x, attention_mask, training=None):
        return self._residual(
            x,
            lambda x, norm: self._self_attention(
                x,
                x,
                attention_mask=attention_mask,
                training=training,
                query_norm=norm,
                value_norm=norm,
            ),
            self._self_attention_layer_norm,
            training,
        )

    def attention_weights(
        self,
        x,
        encoder_output,
        self_attention_mask=None,
        cross_attention_mask=None,
    ):
        """What each position attends to, for the arguments of `call`.

        Returns:
            self-attention, float `(B, N, T, T)`, and cross-attention, float
            `(B, N, T, S)`: queries, then keys; see
            `MultiHeadAttention.attention_weights`.
        """
        y = self._sublayer_input(x, self._self_attention_layer_norm)
        to_itself = self._self_attention.attention_weights(
            y, y, self_attention_mask
        )
        x = self._self_attention_residual(x, self_attention_mask)
        y = self._sublayer_input(x, self._cross_attention_layer_norm)
        to_source = self._cross_attention.attention_weights(
            y, encoder_output, cross_attention_mask
        )
        return to_itself, to_source

    def compute_output_shape(
        self, x_shape, encoder_output_shape=None, **kwargs
    ):
        return x_shape
