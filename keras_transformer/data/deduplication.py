"""Deduplication: repeated pairs and sides, found by fingerprints of text.

A fingerprint is 64 bits of a text's BLAKE2 digest. They are kept in sorted
arrays that double in size (merging them takes as much again for a moment). Two
different texts among n are taken for one with a probability of about
n^2 / 2^65: one in 3,700 for a hundred million.
"""

import collections
import hashlib
from collections.abc import Iterable, Sequence

import numpy as np

from keras_transformer.data.corpus import Pair


def fingerprints(texts: Iterable[str]) -> np.ndarray:
    """64 bits of each text's BLAKE2 digest, the same in each process.

    Returns:
        uint64 `(N,)`, N the number of texts.
    """
    digests = b"".join(
        hashlib.blake2b(text.encode(), digest_size=8).digest() for text in texts
    )
    return np.frombuffer(digests, "<u8")


def contains(sorted_values: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Which of `values` stand in `sorted_values`: bool, shaped as `values`."""
    if not len(sorted_values):
        return np.zeros(values.shape, bool)
    indices = np.searchsorted(sorted_values, values)
    indices[indices == len(sorted_values)] = 0
    return sorted_values[indices] == values


class PairFingerprints:
    """The fingerprints of all pairs so far, 8 bytes each."""

    def __init__(self):
        self._runs = []  # sorted arrays of uint64, each twice the next or more

    def first_occurrences(self, pairs: Sequence[Pair]) -> np.ndarray:
        """Which pairs are new, in order; all are remembered.

        Returns:
            bool `(N,)`; of equal pairs, only the first is True.
        """
        hashes = fingerprints(f"{source}\t{target}" for source, target in pairs)
        unique, first = np.unique(hashes, return_index=True)
        known = np.zeros(len(unique), bool)
        for run in self._runs:
            known |= contains(run, unique)
        new = np.zeros(len(hashes), bool)
        new[first[~known]] = True
        self._add(unique[~known])
        return new

    def _add(self, run):
        while self._runs and len(self._runs[-1]) <= 2 * len(run):
            # Timsort merges two sorted runs in one sweep.
            run = np.concatenate([self._runs.pop(), run])
            run.sort(kind="stable")
        self._runs.append(run)


class FingerprintCounts:
    """How often each fingerprint was added, 12 bytes a different one."""

    def __init__(self):
        self._runs = []  # (fingerprints uint64, sorted; counts uint32)

    def counts(self, hashes: np.ndarray) -> np.ndarray:
        """How often each was added so far: int64, shaped as uint64 `hashes`."""
        total = np.zeros(len(hashes), np.int64)
        for values, counts in self._runs:
            indices = np.searchsorted(values, hashes)
            indices[indices == len(values)] = 0
            total += np.where(values[indices] == hashes, counts[indices], 0)
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


class SideLimits:
    """Keeps the first so many pairs of each source and of each target.

    Against one short answer that stands for hundreds of sources. Takes 12
    bytes a different text on each limited side.

    Args:
        max_targets_per_source: pairs with the same source; None: any number.
        max_sources_per_target: the same of targets.
    """

    def __init__(
        self,
        max_targets_per_source: int | None,
        max_sources_per_target: int | None,
    ):
        limits = max_targets_per_source, max_sources_per_target
        self._limits = [
            (side, limit, FingerprintCounts())
            for side, limit in enumerate(limits)
            if limit is not None
        ]

    def __call__(self, pairs: Sequence[Pair]) -> np.ndarray:
        """Which pairs may stay: bool `(N,)`; these are counted."""
        sides = []
        for side, limit, counts in self._limits:
            hashes = fingerprints(pair[side] for pair in pairs)
            sides.append((hashes, (limit - counts.counts(hashes)).tolist()))
        kept = self._within_chunk(
            len(pairs), [(hashes.tolist(), left) for hashes, left in sides]
        )
        for (_, _, counts), (hashes, _) in zip(
            self._limits, sides, strict=True
        ):
            counts.add(hashes[kept])
        return kept

    def _within_chunk(self, count, sides):
        """Which pairs exceed no side's limit, given what came before."""
        kept = np.ones(count, bool)
        new = [collections.Counter() for _ in sides]
        for i in range(count):
            kept[i] = all(
                added[hashes[i]] < left[i]
                for added, (hashes, left) in zip(new, sides, strict=True)
            )
            # A pair that one limit drops doesn't count towards the other.
            if kept[i]:
                for added, (hashes, _) in zip(new, sides, strict=True):
                    added[hashes[i]] += 1
        return kept
