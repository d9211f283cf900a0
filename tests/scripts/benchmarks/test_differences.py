"""Differences of recipes, by values from tables of statistics."""

import pytest

from scripts.benchmarks.ablations.differences import (
    difference_p_value,
    holm,
    t_p_value,
    t_quantile,
)


@pytest.mark.parametrize(
    ("freedom", "t"), [(1, 12.7062), (2, 4.30265), (4, 2.77645), (30, 2.04227)]
)
def test_students_t_is_that_of_the_tables(freedom, t):
    assert t_quantile(freedom) == pytest.approx(t, rel=1e-4)
    assert t_p_value(t, freedom) == pytest.approx(0.05, rel=1e-4)


def test_welch_by_hand():
    ours, theirs = [8.0, 10.0, 8.0, 10.0], [3.0, 7.0, 3.0, 7.0]
    # Variances 4/3 and 16/3: t = 4 / sqrt(5/3), of (5/3)^2 / (17/27) degrees.
    expected = t_p_value(4 / (5 / 3) ** 0.5, 75 / 17)
    p = difference_p_value(ours, theirs, paired=False)
    assert p == pytest.approx(expected, rel=1e-6)
    assert 0.02 < p < 0.05


def test_holm():
    adjusted = holm({"a": 0.04, "b": 0.01, "c": 0.03, "d": None})
    assert adjusted == pytest.approx(
        {"b": 0.03, "c": 0.06, "a": 0.06, "d": None}
    )
