"""The searches on the Transformer itself, with random weights."""

import functools

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.config import DecodingConfig
from keras_transformer.inference.incremental import IncrementalTransformer
from keras_transformer.search.constraints import SentenceConstraints
from keras_transformer.search.from_config import search
from keras_transformer.search.loop import SEGMENT
from keras_transformer.search.scoring import score_translations
from tests.fake_models import random_sources, traced
from tests.toy_models import by_full_passes, check_equal, shared_transformer

SLOW = pytest.mark.slow  # Each variant traces graphs of its own.
BEAMS = pytest.mark.parametrize(
    "beam_size", [1, pytest.param(2, marks=SLOW), 4]
)
VARIANTS = pytest.mark.parametrize(
    "variant",
    [
        "pre",
        pytest.param("post", marks=SLOW),
        pytest.param("pre, tied", marks=SLOW),
        "post, tied",
    ],
)
# Random models say one word for ever unless it is forbidden; these searches
# wander through the vocabulary and end at different lengths, not at once.
CONFIG = {
    "no_repeat_ngram_size": 2,
    "length_penalty": 0.6,
    "length_normalization": "gnmt",
    "early_stopping": True,
}
LIMITS = tf.constant([3, 22, 7, 18, 1, 20, 12, 9])


@functools.cache
def full(variant):
    return by_full_passes(shared_transformer(variant))


@functools.cache
def graph(variant, beam_size):
    """The search as a graph that knows no sizes."""
    incremental = IncrementalTransformer(shared_transformer(variant))
    return traced(functools.partial(run, incremental, beam_size))


def run(functions, beam_size, source_ids, limits, **options):
    config = DecodingConfig(beam_size=beam_size, **{**CONFIG, **options})
    sentences = SentenceConstraints(limits, min_lengths=limits // 2)
    return search(functions, source_ids, sentences, config)


@pytest.mark.medium
@BEAMS
@VARIANTS
def test_cached_search_equals_search_by_full_passes(variant, beam_size):
    source_ids, _ = random_sources(3, rows=8, longest=9)
    functions = IncrementalTransformer(shared_transformer(variant))
    actual = run(functions, beam_size, source_ids, LIMITS)
    expected = run(full(variant), beam_size, source_ids, LIMITS)
    check_equal(actual, expected)
    assert len(np.unique(actual.ids)) > 5
    assert len(np.unique(actual.lengths)) > 2


@BEAMS
def test_cached_search_without_constraints_equals_search_by_full_passes(
    beam_size,
):
    source_ids, _ = random_sources(4, rows=8, longest=9)
    functions = IncrementalTransformer(shared_transformer("pre"))
    options = {"no_repeat_ngram_size": 0, "early_stopping": False}
    actual = run(functions, beam_size, source_ids, LIMITS, **options)
    expected = run(full("pre"), beam_size, source_ids, LIMITS, **options)
    check_equal(actual, expected)


@pytest.mark.parametrize("beam_size", [1, 4])
@pytest.mark.parametrize("seed", range(4))
def test_a_sentence_does_not_depend_on_its_neighbours(seed, beam_size):
    random = np.random.default_rng(seed)
    source_ids, lengths = random_sources(seed, rows=9, longest=12)
    limits = tf.constant(random.integers(1, 30, 9), tf.int32)
    assert tf.reduce_max(limits) > 2 * SEGMENT
    search = graph("pre", beam_size)
    together = search(source_ids, limits)
    order = random.permutation(9)
    for batch in (order[:1], order[1:4], order[4:]):
        longest = int(np.max(lengths.numpy()[batch]))
        part = search(
            tf.gather(source_ids, batch)[:, :longest], tf.gather(limits, batch)
        )
        width = part.ids.shape[2]
        expected = type(together)(*(tf.gather(x, batch) for x in together))
        check_equal(part, expected._replace(ids=expected.ids[:, :, :width]))
        assert not expected.ids[:, :, width:].numpy().any()


@VARIANTS
@pytest.mark.parametrize("beam_size", [1, 4])
def test_scores_are_those_of_one_pass_over_the_translation(variant, beam_size):
    functions = IncrementalTransformer(shared_transformer(variant))
    source_ids, _ = random_sources(5, rows=8)
    result = graph(variant, beam_size)(source_ids, LIMITS)
    for row in range(beam_size):
        scored = score_translations(functions, source_ids, result.ids[:, row])
        np.testing.assert_array_equal(scored.lengths, result.lengths[:, row])
        exists = result.lengths[:, row].numpy() > 0
        assert exists.any()
        np.testing.assert_allclose(
            result.log_probabilities[:, row].numpy()[exists],
            scored.log_probabilities.numpy()[exists],
            atol=1e-4,
        )
        penalty = ((5 + scored.lengths.numpy()) / 6) ** 0.6
        np.testing.assert_allclose(
            result.scores[:, row].numpy()[exists],
            (scored.log_probabilities.numpy() / penalty)[exists],
            atol=1e-4,
        )


@pytest.mark.parametrize("beam_size", [1, 4])
def test_nothing_to_search(beam_size):
    result = graph("pre", beam_size)(
        tf.zeros([0, 5], tf.int32), tf.zeros([0], tf.int32)
    )
    assert result.ids.shape[:2] == (0, beam_size)
    assert result.scores.shape == (0, beam_size)
    source_ids, _ = random_sources(1, rows=3)
    result = graph("pre", beam_size)(source_ids, tf.zeros([3], tf.int32))
    assert not result.ids.numpy().any()
    assert not result.finished.numpy().any()


@pytest.mark.parametrize("beam_size", [1, 4])
def test_a_source_of_one_token_and_limits_of_0(beam_size):
    source_ids = tf.constant([[5], [5], [7]])
    result = graph("pre", beam_size)(source_ids, tf.constant([0, 20, 0]))
    np.testing.assert_array_equal(result.lengths[0], 0)
    assert result.scores[0, 0] == 0.0
    assert not result.ids[0].numpy().any()
    assert result.lengths[1, 0] > 0
    alone = graph("pre", beam_size)(source_ids[1:2], tf.constant([20]))
    np.testing.assert_array_equal(alone.ids[0], result.ids[1])
