import numpy as np
import tensorflow as tf

from keras_transformer.search.scoring import log_normalizer, log_probability


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
