"""What the encoder's and the decoder's layers share."""

import keras

from keras_transformer.layers.dropout import Dropout
from keras_transformer.layers.feed_forward import FeedForward
from keras_transformer.layers.layer_normalization import LayerNormalization

NORMS = ("pre", "post")


class TransformerLayer(keras.layers.Layer):
    """Sizes, the feed-forward sublayer, and the residual written once.

    Args:
        d_model: int, width D of input and output.
        num_heads: int, attention heads.
        d_ff: int, width inside the feed-forward sublayer.
        activation: of the feed-forward sublayer.
        dropout: float, on each sublayer's output.
        attention_dropout: float, on attention weights.
        feedforward_dropout: float, inside the feed-forward sublayer.
        norm: "pre" (x + f(norm(x))) or "post" (norm(x + f(x))).
        layer_norm_epsilon: float, added to the variance.
    """

    def __init__(
        self,
        d_model,
        num_heads,
        d_ff,
        activation="relu",
        dropout=0.0,
        attention_dropout=0.0,
        feedforward_dropout=0.0,
        norm="pre",
        layer_norm_epsilon=1e-6,
        **kwargs,
    ):
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
        self._feedforward = FeedForward(
            d_ff,
            d_model,
            activation=self.activation,
            dropout=feedforward_dropout,
            dtype=self.dtype_policy,
            name="feedforward",
        )
        self._feedforward_layer_norm = self._layer_norm("feedforward")
        self._dropout = Dropout(
            dropout, dtype=self.dtype_policy, name="residual_dropout"
        )

    def _layer_norm(self, sublayer_name):
        return LayerNormalization(
            epsilon=self.layer_norm_epsilon,
            dtype=self.dtype_policy,
            name=f"{sublayer_name}_layer_norm",
        )

    def _build_feedforward(self, shape):
        self._feedforward.build(shape)
        self._feedforward_layer_norm.build(shape)

    def _residual(self, x, sublayer, layer_norm, training=None):
        """x joined with `sublayer` of it, normalised before or after.

        References: Vaswani et al. 2017, section 3.1 (post); Xiong et al.
        2020 (pre).
        """
        update = sublayer(x, norm=layer_norm if self.norm == "pre" else None)
        x = x + self._dropout(update, training=training)
        return x if self.norm == "pre" else layer_norm(x)

    def _sublayer_input(self, x, layer_norm):
        """What a sublayer sees of x."""
        return layer_norm(x) if self.norm == "pre" else x

    def _feedforward_residual(self, x, training=None):
        return self._residual(
            x,
            lambda x, norm: self._feedforward(x, training=training, norm=norm),
            self._feedforward_layer_norm,
            training,
        )

    def get_config(self):
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
        }
