"""A translator with an untrained model that aligns, and texts for it."""

import keras
import numpy as np

from keras_transformer.config import DecodingConfig, ModelConfig
from keras_transformer.constants import SPECIAL_TOKENS
from keras_transformer.inference.incremental import IncrementalTransformer
from keras_transformer.models import build_transformer
from keras_transformer.text import CharacterTokenizer, WordTokenizer
from keras_transformer.translation.translator import Translator

WORDS = ["alpha", "beta", "gamma", "delta"]
TEXTS = ["alpha beta gamma", "", "Zed", "beta Ωmega Beta alpha delta"]


def tokenizers():
    """Four words on the source side, four letters on the target's."""
    return (
        WordTokenizer([*SPECIAL_TOKENS, *WORDS]),
        CharacterTokenizer([*SPECIAL_TOKENS, *"abcd"]),
    )


def aligned_translator(**decoding):
    """Each call's has the same weights, clear in effect."""
    config = ModelConfig(
        num_encoder_layers=1,
        num_decoder_layers=2,
        d_model=8,
        num_heads=2,
        d_ff=8,
        max_length=12,
    )
    keras.utils.set_random_seed(1)
    model = build_transformer(config, 8, 8)
    random = np.random.default_rng(3)
    model.set_weights(
        [w + random.normal(0, 1, w.shape) for w in model.get_weights()]
    )
    return Translator(
        *tokenizers(),
        IncrementalTransformer(model, align=True),
        DecodingConfig(**{"beam_size": 3, "max_length": 6, **decoding}),
    )
