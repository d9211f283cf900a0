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
    """

    def __init__(self, seed: int):
        self._random = random.Random(seed).random

    def below(self, limit: int) -> int:
        """An integer from 0 to `limit - 1`."""
        return int(self._random() * limit)

    def between(self, low: int, high: int) -> int:
        """An integer from `low` to `high`, both included."""
        return low + self.below(high - low + 1)

    def one(self, options: Sequence[Item]) -> Item:
        """One of the options, all equally likely."""
        return options[self.below(len(options))]

    def two(self, options: Sequence[Item]) -> tuple[Item, Item]:
        """Two options from different positions, in random order."""
        first = self.below(len(options))
        second = self.below(len(options) - 1)
        return options[first], options[second + (second >= first)]

    def chance(self, share: float) -> bool:
        """True in this share of the calls."""
        return self._random() < share

    def shuffled(self, items: Sequence[Item]) -> list[Item]:
        """A new list in random order (Fisher and Yates)."""
        result = list(items)
        for last in range(len(result) - 1, 0, -1):
            other = self.below(last + 1)
            result[last], result[other] = result[other], result[last]
        return result
