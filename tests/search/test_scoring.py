import numpy as np
import tensorflow as tf

from keras_transformer.constants import END_ID, START_ID
from keras_transformer.inference.incremental import IncrementalTransformer
from keras_transformer.search.scoring import log_probability, score_translations
from tests.toy_models import shared_transformer

SOURCE = tf.constant([[2, 5, 7, 9, 3], [2, 8, 3, 0, 0]])
IDS = tf.constant([[4, 6, 8, END_ID], [9, END_ID, 0, 0]])


def test_scores_are_those_of_the_model():
    model = shared_transformer("pre")
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


def test_log_probability_is_never_above_0():
    values = log_probability(tf.constant([2.0, 1.0]), tf.constant(1.5))
    np.testing.assert_array_equal(values, [0.0, -0.5])
