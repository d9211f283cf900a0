"""The Transformer's layers, usable in any Keras model and on any backend.

A model of these layers that was quantised by Keras' `quantize` can be saved,
but not loaded again: save it first, and quantise it after loading.
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
