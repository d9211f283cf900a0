"""What came before in a corpus, remembered in a few bytes each.

Texts are held as 64 bits of their BLAKE2 digest, in sorted arrays that double
in size (merging them takes as much again for a moment). Two different texts
among n are taken for one with a probability of about n^2 / 2^65: one in 3,700
for a hundred million.
"""

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np

Pair = tuple[str, str]


class SeenPairs:
    """Remembers pairs in 8 bytes each, to find exact duplicates."""

    def __init__(self):
        self._runs = []

    def first_seen(self, pairs: Sequence[Pair]) -> np.ndarray:
        """Which pairs are new, in order; all are remembered.

        Returns:
            bool [len(pairs)]; of equal pairs, only the first is True.
        """
        hashes = hash_strings(f"{source}\t{target}" for source, target in pairs)
        unique, first = np.unique(hashes, return_index=True)
        known = np.zeros(len(unique), bool)
        for run in self._runs:
            known |= contains(run, unique)
        new = np.zeros(len(hashes), bool)
        new[first[~known]] = True
        self._remember(unique[~known])
        return new

    def _remember(self, run):
        while self._runs and len(self._runs[-1]) <= 2 * len(run):
            # Timsort merges two sorted runs in one sweep.
            run = np.concatenate([self._runs.pop(), run])
            run.sort(kind="stable")
        self._runs.append(run)


class SeenCounts:
    """How often each text was counted, in 12 bytes a different text."""

    def __init__(self):
        self._runs = []  # (hashes uint64, sorted; counts uint32)

    def counts(self, hashes: np.ndarray) -> np.ndarray:
        """How often each was added so far: int64, as uint64 `hashes`."""
        total = np.zeros(len(hashes), np.int64)
        for values, counts in self._runs:
            places = np.searchsorted(values, hashes)
            places[places == len(values)] = 0
            total += np.where(values[places] == hashes, counts[places], 0)
        return total

    def add(self, hashes: np.ndarray):
        """Counts each of uint64 `hashes` once more, equal ones together."""
        if not len(hashes):
            return
        values, counts = np.unique(hashes, return_counts=True)
        counts = counts.astype(np.uint32)
        while self._runs and len(self._runs[-1][0]) <= 2 * len(values):
            more_values, more_counts = self._runs.pop()
            values = np.concatenate([more_values, values])
            order = np.argsort(values, kind="stable")
            counts = np.concatenate([more_counts, counts])[order]
            values, starts = np.unique(values[order], return_index=True)
            counts = np.add.reduceat(counts, starts, dtype=np.uint32)
        self._runs.append((values, counts))


def hash_strings(strings: Iterable[str]) -> np.ndarray:
    """64 bits of each string's BLAKE2 digest, the same in each process.

    Returns:
        uint64 [number of strings].
    """
    digests = b"".join(
        hashlib.blake2b(string.encode(), digest_size=8).digest()
        for string in strings
    )
    return np.frombuffer(digests, "<u8")


def contains(sorted_values: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Which of `values` stand in `sorted_values`: bool, as `values`."""
    if not len(sorted_values):
        return np.zeros(values.shape, bool)
    places = np.searchsorted(sorted_values, values)
    places[places == len(sorted_values)] = 0
    return sorted_values[places] == values
