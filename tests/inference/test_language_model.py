"""A language model one token at a time, and searches on it."""

import functools

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.config import DecodingConfig, ModelConfig
from keras_transformer.errors import InputError
from keras_transformer.inference.incremental import IncrementalTransformer
from keras_transformer.models import build_language_model
from keras_transformer.search.constraints import SentenceConstraints
from keras_transformer.search.from_config import search
from tests import toy_models
from tests.inference.test_incremental import stepped
from tests.toy_models import (
    VOCABULARY_SIZE,
    by_full_passes,
    check_equal,
    randomise,
)

IDS = np.array(
    [[2, 4, 6, 8, 9, 5], [2, 9, 1, 5, 5, 7], [2, 7, 3, 0, 0, 0]], np.int32
)
PROMPTS = np.array([[5, 6, 7], [8, 0, 0], [0, 0, 0]], np.int32)
LIMITS = tf.constant([14, 9, 12])
SLOW = pytest.mark.slow  # The layers' own tests have these differences, too.
FURTHER = ("post", "pre, tied", "learned, gelu")
VARIANTS = pytest.mark.parametrize(
    "variant",
    [
        *("pre", "as Marian's"),
        *(pytest.param(name, marks=SLOW) for name in FURTHER),
    ],
)
BEAMS = pytest.mark.parametrize("beam_size", [1, 3])


@functools.cache
def model(variant="pre", seed=1):
    config = ModelConfig(
        num_decoder_layers=3,
        d_model=16,
        num_heads=2,
        d_ff=32,
        max_length=24,
        **toy_models.VARIANTS[variant],
    )
    keras.utils.set_random_seed(seed)
    made = build_language_model(config, VOCABULARY_SIZE)
    randomise(made, seed)
    return made


def run(functions, beam_size):
    """A search whose outputs begin with prompts."""
    config = DecodingConfig(beam_size=beam_size, no_repeat_ngram_size=2)
    prompts = tf.constant(PROMPTS)
    sentences = SentenceConstraints(LIMITS, LIMITS // 2, prompts)
    return search(functions, prompts, sentences, config)


@BEAMS
@VARIANTS
def test_step_by_step_equals_the_model(variant, beam_size):
    beams = np.stack([np.roll(IDS, k, axis=0) for k in range(beam_size)], 1)
    actual = stepped(IncrementalTransformer(model(variant)), PROMPTS, beams)
    for k in range(beam_size):
        expected = model(variant)(beams[:, k]).numpy()
        real = beams[:, k] != 0
        np.testing.assert_allclose(
            actual[:, k].numpy()[real], expected[real], atol=1e-4
        )


@VARIANTS
def test_predict_equals_the_model(variant):
    logits, attention = IncrementalTransformer(model(variant)).predict(IDS, IDS)
    assert attention is None
    expected = model(variant)(IDS).numpy()
    real = IDS != 0
    np.testing.assert_allclose(logits[real], expected[real], atol=1e-4)


@pytest.mark.medium
@BEAMS
@VARIANTS
def test_cached_search_equals_search_by_full_passes(variant, beam_size):
    actual = run(IncrementalTransformer(model(variant)), beam_size)
    full = by_full_passes(
        lambda inputs, training: model(variant)(inputs["target_ids"])
    )
    expected = run(full, beam_size)
    check_equal(actual, expected)
    np.testing.assert_array_equal(actual.ids[0, :, :3], [[5, 6, 7]] * beam_size)
    assert (actual.ids[1, :, 0] == 8).numpy().all()
    assert len(np.unique(actual.ids)) > 5


def test_no_alignment_without_a_source():
    with pytest.raises(InputError, match="attends to no source. Accepted"):
        IncrementalTransformer(model(), align=True)
