import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.constants import END_ID, PAD_ID, START_ID
from keras_transformer.inference.incremental import IncrementalTransformer
from keras_transformer.search.scoring import (
    ScorePenalties,
    coverage_penalty,
    hypothesis_scores,
    length_penalty,
    log_normalizer,
    log_probability,
    score_translations,
    token_log_probabilities,
)
from tests.toy_models import VARIANTS, shared_transformer

SOURCE = tf.constant([[2, 5, 7, 9, 3], [2, 8, 3, 0, 0]])
IDS = tf.constant([[4, 6, 8, END_ID], [9, END_ID, 0, 0]])


def test_token_log_probabilities_are_those_of_the_labels():
    logits = tf.random.stateless_normal([2, 3, 7], [1, 2])
    labels = tf.constant([[4, 6, END_ID], [5, END_ID, PAD_ID]])
    actual = token_log_probabilities(logits, labels).numpy()
    expected = tf.nn.log_softmax(logits).numpy()
    for row, column in [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]:
        np.testing.assert_allclose(
            actual[row, column],
            expected[row, column, labels[row, column]],
            atol=1e-6,
        )
    assert actual[1, 2] == 0.0


@pytest.mark.parametrize("variant", VARIANTS)
def test_scores_are_those_of_the_model(variant):
    model = shared_transformer(variant)
    actual = score_translations(IncrementalTransformer(model), SOURCE, IDS)
    inputs = tf.constant([[START_ID, 4, 6, 8], [START_ID, 9, END_ID, 0]])
    logits = model({"source_ids": SOURCE, "target_ids": inputs})
    every = tf.nn.log_softmax(logits).numpy()
    expected = np.take_along_axis(every, IDS.numpy()[..., None], 2)[..., 0]
    expected[1, 2:] = 0.0
    np.testing.assert_allclose(
        actual.token_log_probabilities, expected, atol=1e-4
    )
    np.testing.assert_allclose(
        actual.log_probabilities, expected.sum(axis=1), atol=1e-4
    )
    np.testing.assert_array_equal(actual.lengths, [4, 2])
    assert actual.attention is None


def test_padding_and_neighbours_change_no_score():
    model = IncrementalTransformer(shared_transformer("pre"))
    together = score_translations(model, SOURCE, IDS)
    alone = score_translations(model, SOURCE[1:, :3], IDS[1:, :2])
    np.testing.assert_allclose(
        alone.token_log_probabilities,
        together.token_log_probabilities[1:, :2],
        atol=1e-5,
    )


def test_attention_is_aligned_with_the_tokens():
    model = IncrementalTransformer(shared_transformer("pre"), align=True)
    attention = score_translations(model, SOURCE, IDS).attention
    assert attention.shape == (2, 4, 5)
    np.testing.assert_allclose(tf.reduce_sum(attention, -1), 1.0, rtol=1e-5)
    np.testing.assert_array_equal(attention[1, :, 3:], 0.0)


def test_no_sentence():
    model = IncrementalTransformer(shared_transformer("pre"))
    actual = score_translations(
        model, tf.zeros([0, 4], tf.int32), tf.zeros([0, 3], tf.int32)
    )
    assert actual.token_log_probabilities.shape == (0, 3)
    assert actual.log_probabilities.shape == (0,)


def test_logit_minus_normalizer_is_log_softmax():
    logits = 50 * tf.random.stateless_normal([3, 2, 11], [1, 2])
    np.testing.assert_allclose(
        logits - log_normalizer(logits)[..., tf.newaxis],
        tf.nn.log_softmax(logits),
        atol=2e-5,
    )


def test_normalizer_of_half_precision_is_float32():
    assert log_normalizer(tf.zeros([2, 5], tf.float16)).dtype == tf.float32


def test_log_probability_is_never_above_0():
    values = log_probability(tf.constant([2.0, 1.0]), tf.constant(1.5))
    np.testing.assert_array_equal(values, [0.0, -0.5])


def test_length_penalty_is_that_of_gnmt():
    np.testing.assert_allclose(
        length_penalty(tf.constant([1, 7, 13]), 0.6),
        [1.0, 2.0**0.6, 3.0**0.6],
        rtol=1e-6,
    )


def test_average_divides_by_a_power_of_the_length():
    np.testing.assert_allclose(
        length_penalty(tf.constant([0, 1, 4, 9]), 0.5, "average"),
        [1.0, 1.0, 2.0, 3.0],
        rtol=1e-6,
    )


@pytest.mark.parametrize("kind", ["gnmt", "average"])
def test_length_penalty_of_alpha_0_is_1(kind):
    np.testing.assert_array_equal(length_penalty(tf.range(9), 0.0, kind), 1.0)


def test_coverage_penalty_is_the_log_of_what_is_missing():
    # Covered, twice covered, a half and a quarter left out; padding has 1.
    coverage = tf.constant([[1.0, 2.0, 1.0], [0.5, 0.25, 1.0]])
    np.testing.assert_allclose(
        coverage_penalty(coverage), [0.0, np.log(8.0)], rtol=1e-6
    )


def test_coverage_penalty_of_what_nobody_looked_at_is_finite():
    assert np.isfinite(coverage_penalty(tf.zeros([2, 3]))).all()


def test_score_worked_by_hand():
    # (5 + 7) / 6 = 2; -3 / 2 ** 2 - 0.5 * log 8.
    actual = hypothesis_scores(
        tf.constant([-3.0]),
        tf.constant([7]),
        ScorePenalties("gnmt", 2.0, 0.5),
        tf.constant([[0.5, 0.25, 1.0]]),
    )
    np.testing.assert_allclose(actual, [-0.75 - 0.5 * np.log(8.0)], rtol=1e-6)
    actual = hypothesis_scores(
        tf.constant([-3.0]), tf.constant([7]), ScorePenalties("average", 1.0)
    )
    np.testing.assert_allclose(actual, [-3.0 / 7.0], rtol=1e-6)


def test_length_penalty_is_the_same_in_every_place():
    alone = length_penalty(tf.constant([11]), 0.6)[0]
    among = length_penalty(tf.fill([13], 11), 0.6)
    np.testing.assert_array_equal(among, alone)
