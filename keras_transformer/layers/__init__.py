"""The Transformer's layers, usable alone. Only `keras.ops`, any backend."""

from keras_transformer.layers.attention import MultiHeadAttention
from keras_transformer.layers.decoder_layer import DecoderLayer
from keras_transformer.layers.encoder_layer import EncoderLayer
from keras_transformer.layers.feed_forward import FeedForward
from keras_transformer.layers.masks import (
    causal_mask,
    decoder_mask,
    padding_mask,
)
from keras_transformer.layers.positional_embedding import (
    PositionalEmbedding,
    sinusoids,
)

__all__ = [
    "DecoderLayer",
    "EncoderLayer",
    "FeedForward",
    "MultiHeadAttention",
    "PositionalEmbedding",
    "causal_mask",
    "decoder_mask",
    "padding_mask",
    "sinusoids",
]
