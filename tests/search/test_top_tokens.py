import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.search.beam_hypotheses import top_tokens


@pytest.mark.parametrize("size", [640, 2910, 1009], ids=str)
@pytest.mark.parametrize("width", [2, 8])
def test_equals_top_k(size, width):
    # Rounded, for many equals; some tokens are forbidden.
    logits = np.random.default_rng(size).normal(size=(3, 2, size)).round(1)
    logits[:, :, ::7] = -np.inf
    logits[0, 0, 5:] = -np.inf
    logits = tf.constant(logits, tf.float32)
    for found, expected in zip(
        top_tokens(logits, width), tf.math.top_k(logits, width), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


def test_no_sentence_has_no_tokens():
    values, ids = top_tokens(tf.zeros([0, 2, 640]), 4)
    assert values.shape == ids.shape == (0, 2, 4)
