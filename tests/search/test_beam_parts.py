"""The parts of a step of beam search."""

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.constants import END_ID
from keras_transformer.search import beam
from keras_transformer.search.beam_hypotheses import (
    EMPTY,
    Candidates,
    Hypotheses,
    top_tokens,
)
from keras_transformer.search.constraints import (
    SearchConstraints,
)
from keras_transformer.search.scoring import ScorePenalties

PLAIN = SearchConstraints()


def hypotheses(log_probs, ids=None, length=1):
    """`Hypotheses` of one sentence, alpha 0."""
    rows = len(log_probs)
    ids = np.zeros([rows, 3], np.int32) if ids is None else np.array(ids)
    values = tf.constant([log_probs], tf.float32)
    return Hypotheses(
        ids=tf.constant(ids[np.newaxis], tf.int32),
        lengths=tf.fill([1, rows], length),
        log_probs=values,
        penalised_log_probs=values,
        scores=values,
    )


def candidates(log_probs, parents, tokens):
    values = tf.constant([log_probs], tf.float32)
    return Candidates(
        values,
        values,
        tf.constant([parents]),
        tf.constant([tokens]),
    )


def test_finish_counts_only_the_best_candidates():
    before = hypotheses([-1.0, -2.0], [[4, 0, 0], [5, 0, 0]])
    actual = beam.finish(
        before,
        candidates([-2.0, -3.0, -4.0, -5.0], [0, 1, 1, 0], [4, 3, 6, 3]),
        1,
        PLAIN,
        (),
    )
    np.testing.assert_array_equal(actual.scores, [[EMPTY, -3.0]])
    np.testing.assert_array_equal(actual.ids[0, 1], [5, END_ID, 0])
    np.testing.assert_array_equal(actual.lengths[0, 1], 2)


@pytest.mark.parametrize(
    ("live", "finished", "num_hypotheses", "expected"),
    [
        ([-1.0, -9.0], [-2.0, EMPTY], 1, False),
        ([-3.0, -9.0], [-2.0, EMPTY], 1, True),
        ([-3.0, -9.0], [-2.0, EMPTY], 2, False),
        ([-1.0, -9.0], [-2.0, -3.0], 2, False),
        ([-4.0, -9.0], [-2.0, -3.0], 2, True),
        ([EMPTY, EMPTY], [-2.0, EMPTY], 2, True),
        ([-1.0, -9.0], [EMPTY, EMPTY], 1, False),
    ],
    ids=[
        "can win",
        "can't",
        "can be 2nd",
        "full",
        "full, can't",
        "nothing live",
        "none yet",
    ],
)
def test_decided(live, finished, num_hypotheses, expected):
    actual = beam.cannot_improve(
        hypotheses(live),
        hypotheses(finished),
        tf.constant([9]),
        ScorePenalties(),
        num_hypotheses,
        early_stopping=False,
    )
    assert actual.numpy().tolist() == [expected]


@pytest.mark.parametrize(
    ("kind", "limit", "expected"),
    [
        # -3 over ((5 + 19) / 6) ** 1 is -0.75, which -1 doesn't beat.
        ("gnmt", 19, False),
        ("gnmt", 12, True),
        ("average", 4, False),
        ("average", 3, True),
    ],
)
def test_decided_allows_for_the_best_length(kind, limit, expected):
    actual = beam.cannot_improve(
        hypotheses([-3.0]),
        hypotheses([-1.0, EMPTY]),
        tf.constant([limit]),
        ScorePenalties(kind, 1.0),
        1,
        early_stopping=False,
    )
    assert actual.numpy().tolist() == [expected]


@pytest.mark.parametrize("second", [-2.0, EMPTY])
def test_early_stopping_decides_when_the_beam_has_ended(second):
    actual = beam.cannot_improve(
        hypotheses([-0.1, -0.2]),
        hypotheses([-1.0, second]),
        tf.constant([9]),
        ScorePenalties(),
        1,
        early_stopping=True,
    )
    assert actual.numpy().tolist() == [second > EMPTY]


def test_best_puts_live_ones_in_the_order_of_their_scores():
    live = hypotheses([-1.0, -1.5], [[4, 4, 4], [5, 5, 5]], length=3)
    # A penalty on coverage counts in scores only.
    live = live._replace(scores=tf.constant([[-3.0, -2.0]]))
    none = hypotheses([EMPTY, EMPTY], [[0, 0, 0], [0, 0, 0]])
    actual = beam.best(live, none, 2)
    np.testing.assert_array_equal(actual.ids[0], [[5, 5, 5], [4, 4, 4]])
    np.testing.assert_array_equal(actual.scores, [[-2.0, -3.0]])


@pytest.mark.parametrize("size", [640, 2910, 1009], ids=str)
@pytest.mark.parametrize("width", [2, 8])
def test_top_tokens_equals_top_k(size, width):
    # Rounded, for many equals; some tokens are forbidden.
    logits = np.random.default_rng(size).normal(size=(3, 2, size)).round(1)
    logits[:, :, ::7] = -np.inf
    logits[0, 0, 5:] = -np.inf
    logits = tf.constant(logits, tf.float32)
    for actual, expected in zip(
        top_tokens(logits, width), tf.math.top_k(logits, width), strict=True
    ):
        np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("size", [8, 129, 640, 1009], ids=str)
@pytest.mark.parametrize("width", [1, 8])
def test_top_tokens_of_a_size_known_late_equals_top_k(size, width):
    logits = np.random.default_rng(size).normal(size=(3, 2, size)).round(1)
    logits[:, :, ::7] = -np.inf
    logits[0, 0, 5:] = -np.inf  # fewer than are asked for
    logits = tf.constant(logits, tf.float32)
    spec = tf.TensorSpec([None, 2, None])
    late = tf.function(lambda logits: top_tokens(logits, width), [spec])
    for actual, expected in zip(
        late(logits), tf.math.top_k(logits, width), strict=True
    ):
        np.testing.assert_array_equal(actual, expected)


def test_top_tokens_of_a_width_known_late_equals_top_k():
    logits = tf.random.stateless_normal([3, 2, 64], [1, 2])
    late = tf.function(top_tokens, autograph=False)
    for actual, expected in zip(
        late(logits, tf.constant(40)), tf.math.top_k(logits, 40), strict=True
    ):
        np.testing.assert_array_equal(actual, expected)


def test_no_sentence_has_no_tokens():
    values, ids = top_tokens(tf.zeros([0, 2, 640]), 4)
    assert values.shape == ids.shape == (0, 2, 4)
