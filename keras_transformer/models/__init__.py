"""The functional Transformer, and the same one a token at a time."""

from keras_transformer.models.incremental import Cache, IncrementalTransformer
from keras_transformer.models.transformer import build_transformer

__all__ = ["Cache", "IncrementalTransformer", "build_transformer"]
