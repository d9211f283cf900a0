import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.constants import END_ID, PAD_ID, START_ID
from keras_transformer.inference.incremental import IncrementalTransformer
from keras_transformer.search.scoring import (
    score_translations,
    token_log_probabilities,
)
from tests.toy_models import VARIANTS, small_transformer

SOURCE = tf.constant([[2, 5, 7, 9, 3], [2, 8, 3, 0, 0]])
IDS = tf.constant([[4, 6, 8, END_ID], [9, END_ID, 0, 0]])


def test_token_log_probabilities_are_those_of_the_labels():
    logits = tf.random.stateless_normal([2, 3, 7], [1, 2])
    labels = tf.constant([[4, 6, END_ID], [5, END_ID, PAD_ID]])
    found = token_log_probabilities(logits, labels).numpy()
    expected = tf.nn.log_softmax(logits).numpy()
    for row, column in [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]:
        np.testing.assert_allclose(
            found[row, column],
            expected[row, column, labels[row, column]],
            atol=1e-6,
        )
    assert found[1, 2] == 0.0


@pytest.mark.parametrize("variant", VARIANTS)
def test_scores_are_those_of_the_model(variant):
    model = small_transformer(variant)
    found = score_translations(IncrementalTransformer(model), SOURCE, IDS)
    inputs = tf.constant([[START_ID, 4, 6, 8], [START_ID, 9, END_ID, 0]])
    logits = model({"source_ids": SOURCE, "target_ids": inputs})
    every = tf.nn.log_softmax(logits).numpy()
    expected = np.take_along_axis(every, IDS.numpy()[..., None], 2)[..., 0]
    expected[1, 2:] = 0.0
    np.testing.assert_allclose(
        found.token_log_probabilities, expected, atol=1e-4
    )
    np.testing.assert_allclose(
        found.log_probabilities, expected.sum(axis=1), atol=1e-4
    )
    np.testing.assert_array_equal(found.lengths, [4, 2])
    assert found.attention is None


def test_padding_and_neighbours_change_no_score():
    model = IncrementalTransformer(small_transformer())
    together = score_translations(model, SOURCE, IDS)
    alone = score_translations(model, SOURCE[1:, :3], IDS[1:, :2])
    np.testing.assert_allclose(
        alone.token_log_probabilities,
        together.token_log_probabilities[1:, :2],
        atol=1e-5,
    )


def test_attention_is_aligned_with_the_tokens():
    model = IncrementalTransformer(small_transformer(), align=True)
    attention = score_translations(model, SOURCE, IDS).attention
    assert attention.shape == (2, 4, 5)
    np.testing.assert_allclose(tf.reduce_sum(attention, -1), 1.0, rtol=1e-5)
    np.testing.assert_array_equal(attention[1, :, 3:], 0.0)


def test_no_sentence():
    model = IncrementalTransformer(small_transformer())
    found = score_translations(
        model, tf.zeros([0, 4], tf.int32), tf.zeros([0, 3], tf.int32)
    )
    assert found.token_log_probabilities.shape == (0, 3)
    assert found.log_probabilities.shape == (0,)
