"""Held-out sentences in the training data: counted, or removed from it.

Two sentences are the same if their keys are (see `splitting.sentence_keys`):
case, width, punctuation and the variety of Chinese don't matter.
"""

from collections.abc import Sequence

import numpy as np

from keras_transformer.data.seen import Pair, contains
from keras_transformer.data.splitting import pair_keys


class LeakGuard:
    """Drops training pairs that a held-out file has too.

    Holds 16 bytes a held-out pair.

    Args:
        match: `"pair"`: both sides, in the same held-out pair; `"source"`:
            the source, whatever its translation; `"side"`: the source or the
            target, as dev pairs taken from the corpus are kept apart.
    """

    def __init__(self, match: str):
        self._match = match
        self._chunks = []
        self._held_out = np.empty(0, np.uint64)

    def hold_out(self, pairs: Sequence[Pair]):
        """Adds held-out pairs, before the first training pair comes."""
        self._chunks.append(self._values(pair_keys(pairs)).ravel())

    def __call__(self, pairs: Sequence[Pair]) -> np.ndarray:
        """Which training pairs may stay: bool [len(pairs)]."""
        if self._chunks:
            self._held_out = np.unique(np.concatenate(self._chunks))
            self._chunks.clear()
        values = self._values(pair_keys(pairs))
        return ~contains(self._held_out, values).any(axis=1)

    def _values(self, keys):
        """What is compared, uint64 [N, 1 or 2], of keys [N, 2]."""
        if self._match == "source":
            return keys[:, :1]
        if self._match == "side":
            return keys
        # Both are digests: a sum of unlike multiples, modulo 2^64, is as good
        # as a digest of the two.
        return keys[:, :1] + np.uint64(3) * keys[:, 1:]


class Overlap:
    """Counts the dev pairs of which training holds a side.

    Args:
        dev_keys: uint64 [N, 2], the keys of the dev pairs.
    """

    def __init__(self, dev_keys: np.ndarray):
        self._dev_keys = dev_keys
        self._sorted = np.unique(dev_keys)
        self._met = np.zeros(len(self._sorted), bool)

    def add(self, training_keys: np.ndarray):
        """Notes some training pairs: uint64 [M, 2]."""
        keys = np.unique(training_keys)
        self._met |= contains(keys, self._sorted)

    @property
    def count(self) -> int:
        """Dev pairs whose source or target was met so far."""
        met_keys = self._sorted[self._met]
        return int(contains(met_keys, self._dev_keys).any(axis=1).sum())
