"""A language model one token at a time, and searches on it."""

import functools

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.config import DecodingConfig, ModelConfig
from keras_transformer.constants import END_ID, START_ID
from keras_transformer.errors import InputError
from keras_transformer.inference.incremental import IncrementalTransformer
from keras_transformer.models import build_language_model
from keras_transformer.search.constraints import SentenceConstraints
from keras_transformer.search.from_config import search
from tests import toy_models
from tests.fake_models import Uncached
from tests.toy_models import VOCABULARY_SIZE, check_equal, randomise

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


def by_full_passes(model):
    """The functions of a search, by calling the Keras model itself."""
    spec = tf.TensorSpec([None, None], tf.int32)
    return Uncached(
        tf.function(
            lambda source_ids, ids: model(ids, training=False),
            input_signature=[spec, spec],
            autograph=False,
        )
    )


def run(functions, beam_size, prompts=PROMPTS, limits=LIMITS, **options):
    """A search whose outputs begin with prompts."""
    config = DecodingConfig(
        beam_size=beam_size, **{"no_repeat_ngram_size": 2, **options}
    )
    sentences = SentenceConstraints(limits, limits // 2, tf.constant(prompts))
    return search(functions, tf.constant(prompts), sentences, config)


@BEAMS
@VARIANTS
def test_step_by_step_equals_the_model(variant, beam_size):
    steps = IncrementalTransformer(model(variant))
    beams = np.stack([np.roll(IDS, k, axis=0) for k in range(beam_size)], 1)
    cache = steps.start(tf.constant(PROMPTS), beam_size, 6)
    for t in range(6):
        step = steps.step(tf.constant(beams[:, :, t]), cache, t)
        cache = step.cache
        for k in range(beam_size):
            expected = model(variant)(beams[:, k])[:, t]
            real = beams[:, k, t] != 0
            np.testing.assert_allclose(
                step.logits[:, k].numpy()[real],
                expected.numpy()[real],
                atol=1e-4,
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
    expected = run(by_full_passes(model(variant)), beam_size)
    check_equal(actual, expected)
    np.testing.assert_array_equal(actual.ids[0, :, :3], [[5, 6, 7]] * beam_size)
    assert (actual.ids[1, :, 0] == 8).numpy().all()
    assert len(np.unique(actual.ids)) > 5


def test_greedy_search_is_the_argmax_of_whole_passes():
    made = model("pre", seed=3)
    result = run(
        IncrementalTransformer(made), 1, no_repeat_ngram_size=0
    ).ids.numpy()[:, 0]
    for prompt, limit, ids in zip(PROMPTS, LIMITS.numpy(), result, strict=True):
        written = [START_ID, *prompt[prompt > 0]]
        while len(written) <= limit and written[-1] != END_ID:
            logits = made(np.array([written])).numpy()[0, -1]
            logits[[0, START_ID]] = -np.inf
            if len(written) - 1 < limit // 2:
                logits[END_ID] = -np.inf
            written.append(int(logits.argmax()))
        assert ids[ids > 0].tolist() == written[1:]


def test_no_alignment_without_a_source():
    with pytest.raises(InputError, match="attends to no source. Accepted"):
        IncrementalTransformer(model(), align=True)
