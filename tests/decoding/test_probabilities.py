import numpy as np
import tensorflow as tf

from keras_transformer.constants import END_ID, PAD_ID, START_ID, UNK_ID
from keras_transformer.decoding.probabilities import (
    log_normalizer,
    log_probability,
    without_banned,
)


def test_logit_minus_normalizer_is_log_softmax():
    logits = 50 * tf.random.stateless_normal([3, 2, 11], [1, 2])
    np.testing.assert_allclose(
        logits - log_normalizer(logits)[..., tf.newaxis],
        tf.nn.log_softmax(logits),
        atol=2e-5,
    )


def test_normalizer_of_half_precision_is_float32():
    assert log_normalizer(tf.zeros([2, 5], tf.float16)).dtype == tf.float32


def test_pad_and_start_are_banned_and_the_unknown_token_is_not():
    allowed = without_banned(tf.ones([2, 6])).numpy()
    assert np.isneginf(allowed[:, [PAD_ID, START_ID]]).all()
    np.testing.assert_array_equal(allowed[:, [UNK_ID, END_ID, 4, 5]], 1.0)


def test_log_probability_is_never_above_0():
    values = log_probability(tf.constant([2.0, 1.0]), tf.constant(1.5))
    np.testing.assert_array_equal(values, [0.0, -0.5])
