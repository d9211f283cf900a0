import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.config import DecodingConfig
from keras_transformer.decoding.hypotheses import length_penalty, output_limits


def test_length_penalty_is_that_of_gnmt():
    np.testing.assert_allclose(
        length_penalty(tf.constant([1, 7, 13]), 0.6),
        [1.0, 2.0**0.6, 3.0**0.6],
        rtol=1e-6,
    )


def test_length_penalty_of_alpha_0_is_1():
    np.testing.assert_array_equal(length_penalty(tf.range(9), 0.0), 1.0)


def test_length_penalty_is_the_same_in_every_place():
    alone = length_penalty(tf.constant([11]), 0.6)[0]
    among = length_penalty(tf.fill([13], 11), 0.6)
    np.testing.assert_array_equal(among, alone)


@pytest.mark.parametrize(
    ("ratio", "offset", "length", "expected"),
    [
        (3.0, 20, 5, 35),
        (1.1, 0, 10, 11),
        (0.5, 0, 3, 1),
        (0.0, 0, 3, 1),
        (3.0, 20, 90, 255),
        (3.0, 20, 0, 0),
    ],
)
def test_output_limit(ratio, offset, length, expected):
    config = DecodingConfig(max_length_ratio=ratio, max_length_offset=offset)
    limits = output_limits(tf.constant([length, 4]), config, 256)
    assert limits.dtype == tf.int32
    assert limits[0] == expected


def test_output_limits_of_no_sentence():
    limits = output_limits(tf.zeros([0], tf.int32), DecodingConfig(), 256)
    assert limits.shape == (0,)
