import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.config import DecodingConfig
from keras_transformer.search.constraints import output_limits, output_minimums
from keras_transformer.search.scoring import (
    Normalization,
    coverage_penalty,
    length_penalty,
    normalized_score,
)


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
    found = normalized_score(
        tf.constant([-3.0]),
        tf.constant([7]),
        Normalization("gnmt", 2.0, 0.5),
        tf.constant([[0.5, 0.25, 1.0]]),
    )
    np.testing.assert_allclose(found, [-0.75 - 0.5 * np.log(8.0)], rtol=1e-6)
    found = normalized_score(
        tf.constant([-3.0]), tf.constant([7]), Normalization("average", 1.0)
    )
    np.testing.assert_allclose(found, [-3.0 / 7.0], rtol=1e-6)


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


@pytest.mark.parametrize(("maximum", "expected"), [(9, 9), (500, 255), (1, 1)])
def test_a_maximum_bounds_every_limit(maximum, expected):
    config = DecodingConfig(max_length=maximum, max_length_offset=400)
    assert output_limits(tf.constant([5]), config, 256).numpy() == expected


@pytest.mark.parametrize(
    "options", [{"max_length_ratio": 1e12}, {"max_length_offset": 3 * 10**9}]
)
def test_a_limit_beyond_integers_is_the_models(options):
    limits = output_limits(tf.constant([5, 0]), DecodingConfig(**options), 256)
    np.testing.assert_array_equal(limits, [255, 0])


def test_no_minimum_is_nothing():
    assert output_minimums(tf.constant([3]), DecodingConfig()) == ()


@pytest.mark.parametrize(
    ("minimum", "ratio", "expected"),
    [(4, 0.0, [4, 4, 4]), (0, 0.5, [0, 1, 5]), (2, 0.5, [2, 2, 5])],
)
def test_output_minimum_is_the_larger_of_both(minimum, ratio, expected):
    config = DecodingConfig(min_length=minimum, min_length_ratio=ratio)
    found = output_minimums(tf.constant([0, 3, 10]), config)
    assert found.dtype == tf.int32
    np.testing.assert_array_equal(found, expected)
