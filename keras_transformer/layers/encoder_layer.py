"""One layer of the encoder. Axes: B batch, S source, D model width."""

import keras

from keras_transformer.layers.attention import MultiHeadAttention
from keras_transformer.layers.transformer_layer import TransformerLayer


@keras.saving.register_keras_serializable(package="keras_transformer")
class EncoderLayer(TransformerLayer):
    """Self-attention, then feed-forward, each with a residual and a norm.

    Takes the arguments of `TransformerLayer`: `d_model`, `num_heads`,
    `d_ff`, `activation`, `dropout`, `attention_dropout`,
    `feedforward_dropout`, `norm` ("pre" or "post"), `layer_norm_epsilon`.

    Call arguments:
        x: float `(B, S, D)`.
        attention_mask: bool, broadcasts to `(B, S, S)`, True keeps.
        training: bool, whether dropout is applied.

    Returns:
        float `(B, S, D)`.

    Example:
        >>> import numpy as np
        >>> layer = EncoderLayer(d_model=8, num_heads=2, d_ff=16)
        >>> tuple(layer(np.ones((1, 3, 8), dtype="float32")).shape)
        (1, 3, 8)

    Reference: Vaswani et al. 2017, section 3.1.
    """

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._self_attention = MultiHeadAttention(
            self.num_heads,
            self.d_model,
            dropout=self.attention_dropout,
            dtype=self.dtype_policy,
            name="self_attention",
        )
        self._self_attention_layer_norm = self._layer_norm("self_attention")

    def build(self, x_shape):
        self._self_attention.build(x_shape, x_shape)
        self._self_attention_layer_norm.build(x_shape)
        self._build_feedforward(x_shape)

    def call(self, x, attention_mask=None, training=None):
        x = self._residual(
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
        return self._feedforward_residual(x, training)

    def attention_weights(self, x, attention_mask=None):
        """What each position attends to, for the arguments of `call`.

        Returns:
            float `(B, N, S, S)`, queries, then keys; see
            `MultiHeadAttention.attention_weights`.
        """
        y = self._sublayer_input(x, self._self_attention_layer_norm)
        return self._self_attention.attention_weights(y, y, attention_mask)

    def compute_output_shape(self, x_shape, **kwargs):
        return x_shape
