"""The Transformer's layers, usable alone. Only `keras.ops`, any backend.

A model of them that Keras' `quantize` has changed can't be loaded once it is
saved: save first, and quantise what was loaded.
"""

from keras_transformer.layers.attention import MultiHeadAttention
from keras_transformer.layers.feed_forward import FeedForward
from keras_transformer.layers.masks import (
    causal_mask,
    decoder_mask,
    padding_mask,
    seen_source,
)
from keras_transformer.layers.pooling import MaskedPooling
from keras_transformer.layers.positional_embedding import (
    PositionalEmbedding,
    sinusoids,
)
from keras_transformer.layers.transformer_layers import (
    DecoderLayer,
    EncoderLayer,
)

__all__ = [
    "DecoderLayer",
    "EncoderLayer",
    "FeedForward",
    "MaskedPooling",
    "MultiHeadAttention",
    "PositionalEmbedding",
    "causal_mask",
    "decoder_mask",
    "padding_mask",
    "seen_source",
    "sinusoids",
]
