"""Random choices that come out the same on every machine."""

import random
from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")


class Draw:
    """Choices from a seed.

    Only `random.Random.random` is used: it is the one method whose sequence
    Python promises to keep between versions.

    Args:
        seed: an integer; the same seed gives the same choices.

    Attributes:
        draws: how many random numbers have been drawn so far.
    """

    def __init__(self, seed: int):
        self._random = random.Random(seed)
        self.draws = 0

    def _next(self) -> float:
        self.draws += 1
        return self._random.random()

    def below(self, limit: int) -> int:
        """An integer from 0 to `limit - 1`."""
        return int(self._next() * limit)

    def between(self, low: int, high: int) -> int:
        """An integer from `low` to `high`, both included."""
        return low + self.below(high - low + 1)

    def one(self, options: Sequence[Item]) -> Item:
        """One of the options, all equally likely."""
        return options[self.below(len(options))]

    def two(self, options: Sequence[Item]) -> tuple[Item, Item]:
        """Two different options, in random order."""
        first = self.below(len(options))
        second = self.below(len(options) - 1)
        return options[first], options[second + (second >= first)]

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self._next() < probability
