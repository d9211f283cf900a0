import numpy as np
import tensorflow as tf

from keras_transformer.constants import END_ID, PAD_ID
from keras_transformer.decoding.beam import beam_search
from keras_transformer.decoding.scoring import (
    step_log_probabilities,
    token_log_probabilities,
)
from tests.decoding.fake_models import RecurrentModel, forced, random_sources


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


def test_step_log_probabilities_are_those_of_the_model():
    model = RecurrentModel(1)
    source_ids, _ = random_sources(1, rows=2)
    rows = [[[4, 5, END_ID], [5, END_ID, 0]], [[6, 6, 6], [END_ID, 0, 0]]]
    found = step_log_probabilities(
        model.start, model.step, source_ids, tf.constant(rows)
    )
    assert found.shape == (2, 2, 3)
    for sentence in range(2):
        for row in range(2):
            ids = [i for i in rows[sentence][row] if i != PAD_ID]
            np.testing.assert_allclose(
                tf.reduce_sum(found[sentence, row]),
                forced(model, source_ids[sentence].numpy(), ids),
                atol=1e-5,
            )
    np.testing.assert_array_equal(found[1, 1, 1:], 0.0)


def test_a_search_result_scores_as_it_says():
    model = RecurrentModel(2, vocabulary_size=12)
    source_ids, lengths = random_sources(2)
    result = beam_search(
        model.start, model.step, source_ids, 2 * lengths + 1, 4, 0.6
    )
    found = step_log_probabilities(
        model.start, model.step, source_ids, result.ids
    )
    np.testing.assert_allclose(
        tf.reduce_sum(found, axis=2), result.log_probabilities, atol=1e-5
    )


def test_no_sentence():
    model = RecurrentModel(1)
    found = step_log_probabilities(
        model.start,
        model.step,
        tf.zeros([0, 4], tf.int32),
        tf.zeros([0, 2, 3], tf.int32),
    )
    assert found.shape == (0, 2, 3)
