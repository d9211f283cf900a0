"""How often pairs stand in distilled data."""

import numpy as np

from keras_transformer.data.distilled import repetitions

KEYS = np.sort(
    np.random.default_rng(1).integers(0, 2**63, 4000, dtype=np.int64)
)


def test_a_sample_follows_from_the_keys_and_is_no_run_of_them():
    times = repetitions(KEYS, 0.3)
    assert set(times) == {0, 1}
    assert abs(times.mean() - 0.3) < 0.02
    more = repetitions(KEYS, 2.3)
    np.testing.assert_array_equal(more, times + 2)
    reverse = repetitions(KEYS[::-1], 0.3)
    np.testing.assert_array_equal(times, reverse[::-1])
    for tenth in np.split(times, 10):
        assert abs(tenth.mean() - 0.3) < 0.08
    larger = repetitions(KEYS, 0.5)
    assert (larger >= times).all()
