"""Transformers small enough to search in tests, none of whose weights is 0."""

import keras
import numpy as np
import tensorflow as tf

from keras_transformer.config import ModelConfig
from keras_transformer.models.transformer import build_transformer
from keras_transformer.search.loop import SearchResult
from tests.decoding.fake_models import Uncached

VARIANTS = {
    "pre": {},
    "post": {"norm": "post"},
    "pre, tied": {"tied_embeddings": "target"},
    "post, tied": {"tied_embeddings": "all", "norm": "post"},
    "learned, gelu": {"positions": "learned", "activation": "gelu"},
    "no final norm": {"final_norm": False},
    "post, final norm": {"norm": "post", "final_norm": True},
}
VOCABULARY_SIZE = 20


def small_transformer(variant="pre", seed=1, **changes):
    """A model with random biases, scales and offsets.

    Args:
        variant: one of `VARIANTS`.
        seed: of the weights.
        changes: to the configuration.
    """
    keras.utils.set_random_seed(seed)
    options = {**VARIANTS[variant], **changes}
    final_norm = options.pop("final_norm", None)
    config = ModelConfig(
        num_encoder_layers=2,
        num_decoder_layers=3,
        d_model=16,
        num_heads=2,
        d_ff=32,
        max_length=64,
        **options,
    )
    model = build_transformer(
        config, VOCABULARY_SIZE, VOCABULARY_SIZE, final_norm
    )
    randomise(model, seed)
    return model


def randomise(model, seed):
    """Other weights: clear in effect, and none at its initial 0 or 1."""
    random = np.random.default_rng(seed)
    for weight in model.weights:
        if not weight.trainable:
            continue
        noise = random.normal(size=weight.shape)
        if weight.path.endswith("gamma"):
            weight.assign(1.0 + 0.3 * noise)
        elif len(weight.shape) == 1:
            weight.assign(0.3 * noise)
        elif "embedding" in weight.path:
            weight.assign(0.25 * noise)
        else:
            weight.assign(noise * (2.0 / weight.shape[0]) ** 0.5)


def by_full_passes(model):
    """The functions of a search, by calling the Keras model itself."""
    ids = tf.TensorSpec([None, None], tf.int32)
    return Uncached(
        tf.function(
            lambda source_ids, target_ids: model(
                {"source_ids": source_ids, "target_ids": target_ids},
                training=False,
            ),
            input_signature=[ids, ids],
        )
    )


def check_equal(found: SearchResult, expected: SearchResult, atol=1e-4):
    """Equal ids; scores that differ by rounding."""
    np.testing.assert_array_equal(found.ids, expected.ids)
    np.testing.assert_array_equal(found.lengths, expected.lengths)
    np.testing.assert_array_equal(found.finished, expected.finished)
    for name in ("scores", "log_probabilities"):
        np.testing.assert_allclose(
            getattr(found, name),
            getattr(expected, name),
            atol=atol,
            err_msg=name,
        )
