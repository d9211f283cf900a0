"""The parts of a step of beam search."""

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.search import beam
from keras_transformer.search.beam_hypotheses import (
    EMPTY,
    Hypotheses,
    top_tokens,
)
from keras_transformer.search.scoring import LengthPenalty


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
        LengthPenalty(kind, 1.0),
        1,
        early_stopping=False,
    )
    assert actual.numpy().tolist() == [expected]


@pytest.mark.parametrize("late", [False, True], ids=["known", "known late"])
@pytest.mark.parametrize("size", [8, 129, 640, 1009, 2910], ids=str)
@pytest.mark.parametrize("width", [1, 2, 8])
def test_top_tokens_equals_top_k(size, width, late):
    # Rounded, for many equals; some tokens are forbidden.
    logits = np.random.default_rng(size).normal(size=(3, 2, size)).round(1)
    logits[:, :, ::7] = -np.inf
    logits[0, 0, 5:] = -np.inf  # fewer than are asked for
    logits = tf.constant(logits, tf.float32)

    def top(logits):
        return top_tokens(logits, width)

    if late:
        top = tf.function(top, [tf.TensorSpec([None, 2, None])])
    for actual, expected in zip(
        top(logits), tf.math.top_k(logits, width), strict=True
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
