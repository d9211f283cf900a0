"""What length ratios are usual in a corpus, and which are too far from it.

The ratio of a pair is the logarithm of target tokens over source tokens. Its
centre is the corpus's median, its spread the median absolute deviation times
1.4826, which estimates the standard deviation of a normal distribution, both
hardly moved by the bad pairs that are to be found.

Reference: Rousseeuw and Croux 1993, Alternatives to the Median Absolute
Deviation.
"""

import collections
import dataclasses
import math

import numpy as np

_DEVIATIONS_PER_MAD = 1.4826


@dataclasses.dataclass(frozen=True)
class UsualRatios:
    """The target tokens for one source token that aren't outliers."""

    median: float
    lowest: float
    highest: float

    def outliers(
        self, source_lengths: np.ndarray, target_lengths: np.ndarray
    ) -> np.ndarray:
        """Which pairs lie outside: bool [N], of int [N] lengths above 0."""
        ratios = target_lengths / source_lengths
        return (ratios < self.lowest) | (ratios > self.highest)


class RatioMeter:
    """Counts pairs by their two lengths.

    That takes memory for each different pair of lengths, of which there are
    no more than the square of the maximum length, whatever the corpus.
    """

    def __init__(self):
        self._pairs = collections.Counter()

    def add(self, source_lengths: np.ndarray, target_lengths: np.ndarray):
        """Adds pairs of int [N] lengths above 0."""
        lengths = (source_lengths.tolist(), target_lengths.tolist())
        self._pairs.update(zip(*lengths, strict=True))

    def usual(self, deviations: float) -> UsualRatios | None:
        """The ratios within so many robust standard deviations of the median.

        Returns:
            None where no ratio can be told from others: without pairs, or
            if more than half of them have the same ratio.
        """
        if not self._pairs:
            return None
        lengths = np.array([*self._pairs], np.int64)
        counts = np.array([*self._pairs.values()], np.int64)
        logarithms = np.log(lengths[:, 1]) - np.log(lengths[:, 0])
        median = _median(logarithms, counts)
        spread = _median(np.abs(logarithms - median), counts)
        # Equal ratios may differ in their last digit.
        if spread < 1e-9:
            return None
        # A ratio at the very edge is inside, whatever the rounding.
        reach = deviations * _DEVIATIONS_PER_MAD * spread + 1e-9
        return UsualRatios(
            math.exp(median), math.exp(median - reach), math.exp(median + reach)
        )


def _median(values, counts):
    """The median of values that occur `counts` times; the lower of two."""
    order = np.argsort(values)
    ends = np.cumsum(counts[order])
    return float(values[order][np.searchsorted(ends, (ends[-1] + 1) // 2)])
