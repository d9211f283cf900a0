"""The searches compiled by XLA give what they give without it."""

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.config import DecodingConfig
from keras_transformer.inference.incremental import IncrementalTransformer
from keras_transformer.search.constraints import SentenceConstraints
from keras_transformer.search.from_config import search
from keras_transformer.search.scoring import score_translations
from tests.fake_models import random_sources
from tests.toy_models import check_equal, shared_transformer

LIMITS = tf.constant([3, 22, 7, 18, 0, 20])
STEPS = 24
CONFIG = {"no_repeat_ngram_size": 2, "length_penalty": 0.6}


def run(functions, beam_size, source_ids, steps, limits=LIMITS):
    config = DecodingConfig(beam_size=beam_size, **CONFIG)
    sentences = SentenceConstraints(limits, min_lengths=limits // 2)
    return search(functions, source_ids, sentences, config, xla_max_steps=steps)


def cut(result):
    """The compiled search has capacity for more tokens than the other."""
    width = int(tf.reduce_max(LIMITS))
    assert not result.ids[:, :, width:].numpy().any()
    return result._replace(ids=result.ids[:, :, :width])


@pytest.mark.medium
@pytest.mark.parametrize(
    "variant", ["pre", pytest.param("post", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("beam_size", [1, 4])
def test_compiled_search_equals_uncompiled_search(variant, beam_size):
    model = shared_transformer(variant)
    source_ids, _ = random_sources(3, rows=6, longest=9)
    functions = IncrementalTransformer(model, compiled=True)

    @tf.function(jit_compile=True, autograph=False)
    def compiled(source_ids, limits):
        return run(functions, beam_size, source_ids, STEPS, limits)

    expected = run(IncrementalTransformer(model), beam_size, source_ids, None)
    check_equal(cut(compiled(source_ids, LIMITS)), expected)
    # The same program for another batch of this shape.
    other, _ = random_sources(4, rows=6, longest=9)
    expected = run(IncrementalTransformer(model), beam_size, other, None)
    check_equal(cut(compiled(other, LIMITS)), expected)
    assert compiled.experimental_get_tracing_count() == 1


@pytest.mark.parametrize("beam_size", [1, 4])
def test_bfloat16_scores_are_finite_and_nearly_equal(beam_size):
    model = shared_transformer("pre")
    source_ids, _ = random_sources(5, rows=24, longest=9)
    limits = tf.fill([24], 4)
    functions = IncrementalTransformer(model)
    half = IncrementalTransformer(model, "bfloat16")
    actual = run(half, beam_size, source_ids, None, limits)
    assert actual.scores.dtype == tf.float32
    assert np.isfinite(actual.scores).all()
    # float32 gives the same translations nearly the same scores.
    _, num_hypotheses, length = actual.ids.shape
    again = score_translations(
        functions,
        tf.repeat(source_ids, num_hypotheses, axis=0),
        tf.reshape(actual.ids, [-1, length]),
    )
    np.testing.assert_allclose(
        tf.reshape(actual.log_probabilities, [-1]),
        again.log_probabilities,
        atol=0.15,
    )
    # A sentence's best may be another one, where two prefixes are about as
    # good and one is dropped, for better or worse; on average hardly.
    expected = run(functions, beam_size, source_ids, None, limits)
    difference = actual.scores[:, 0] - expected.scores[:, 0]
    assert abs(np.mean(difference)) < 0.05
