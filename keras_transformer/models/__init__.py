"""The functional Transformer."""

from keras_transformer.models.transformer import build_transformer

__all__ = ["build_transformer"]
