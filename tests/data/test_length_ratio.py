import numpy as np
import pytest

from keras_transformer.data.length_ratio import RatioMeter, UsualRatios


def measured(pairs, chunk=7):
    meter = RatioMeter()
    for start in range(0, len(pairs), chunk):
        meter.add(*np.array(pairs[start : start + chunk]).T)
    return meter


@pytest.fixture
def lengths():
    """Pairs whose log ratio is near 0.5, give or take 0.2, and a few bad."""
    random = np.random.default_rng(1)
    sources = random.integers(20, 60, 2000)
    noise = random.normal(0.5, 0.2, 2000)
    targets = np.maximum(1, np.round(sources * np.exp(noise)).astype(int))
    targets[:100] = 600
    return np.stack([sources, targets], axis=1)


def test_limits_are_those_of_the_plain_definition(lengths):
    ratios = np.log(lengths[:, 1] / lengths[:, 0])
    ratios = np.append(ratios, 0.0)  # an odd number has one middle
    lengths = [*lengths.tolist(), [10, 10]]
    median = np.median(ratios)
    spread = 1.4826 * np.median(np.abs(ratios - median))
    usual = measured(lengths).usual(3.0)
    assert np.log(usual.median) == pytest.approx(median)
    assert np.log(usual.lowest) == pytest.approx(median - 3 * spread)
    assert np.log(usual.highest) == pytest.approx(median + 3 * spread)


def test_bad_pairs_are_found_and_do_not_widen_the_limits(lengths):
    usual = measured(lengths).usual(4.0)
    outliers = usual.outliers(*lengths.T)
    assert outliers[:100].all()
    assert outliers[100:].mean() < 0.005
    # The plain standard deviation would have let the bad ones through.
    ratios = np.log(lengths[:, 1] / lengths[:, 0])
    assert (np.abs(ratios - ratios.mean()) < 4 * ratios.std())[:100].any()
    assert np.log(usual.median) == pytest.approx(0.5, abs=0.03)


def test_the_same_whatever_the_chunks(lengths):
    meters = [measured(lengths, chunk) for chunk in (1, 300, 5000)]
    assert len({meter.usual(2.0) for meter in meters}) == 1


def test_memory_is_for_different_lengths_only(lengths):
    meter = measured(np.concatenate([lengths] * 3))
    assert len(meter._pairs) == len({*map(tuple, lengths.tolist())})


def test_equal_ratios_or_no_pair_leave_nothing_to_tell_apart():
    assert RatioMeter().usual(3.0) is None
    same = [(n, 3 * n) for n in range(1, 30)]
    assert measured([*same, (1, 9), (5, 1)]).usual(3.0) is None


def test_a_ratio_on_the_edge_is_usual():
    # Ratios 1, 2 and 4: the median is 2, the spread log 2.
    pairs = [(1, 1), (1, 2), (1, 4)]
    usual = measured(pairs).usual(1 / 1.4826)
    assert usual.outliers(*np.array(pairs).T).tolist() == [False] * 3
    assert usual.outliers(np.array([9]), np.array([37])).all()


def test_outliers_lie_on_either_side():
    usual = UsualRatios(median=1.0, lowest=0.5, highest=2.0)
    found = usual.outliers(np.array([2, 3, 2, 2]), np.array([1, 1, 4, 5]))
    assert found.tolist() == [False, True, False, True]
