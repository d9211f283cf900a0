"""The functional Transformer, and its encoder and decoder alone."""

from keras_transformer.models.stacks import build_encoder, build_language_model
from keras_transformer.models.transformer import build_transformer

__all__ = ["build_encoder", "build_language_model", "build_transformer"]
