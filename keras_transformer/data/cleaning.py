"""Cleaning: which pairs are kept, and a count for each reason they aren't.

The checks, in their order; a pair is counted under the first that it fails:

1. `empty`: a side has no text, or no token.
2. `duplicate`: the same cleaned pair came before (option).
3. `over_long`: a side has more than `max_length` tokens.
4. `length_ratio`: the longer side has more than `max_length_ratio` times the
   tokens of the shorter (option).

The first two need text alone and run before the tokenizers exist; the last
two count tokens and run after.
"""

import collections
import hashlib
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from keras_transformer.config import DataConfig

REASONS = ("empty", "duplicate", "over_long", "length_ratio")

Pair = tuple[str, str]


class CleaningReport:
    """Counts of the pairs read, kept and dropped, by reason."""

    def __init__(self):
        self.read = 0
        self.dropped = collections.Counter({reason: 0 for reason in REASONS})

    @property
    def kept(self) -> int:
        return self.read - self.dropped.total()

    def drop(self, reason: str, count: int = 1):
        self.dropped[reason] += count

    def to_dict(self) -> dict:
        """`read`, `kept` and one count per reason, in the checks' order."""
        counts = {reason: self.dropped[reason] for reason in REASONS}
        return {"read": self.read, "kept": self.kept, **counts}

    def __str__(self):
        return ", ".join(f"{k} {v}" for k, v in self.to_dict().items())


class SeenPairs:
    """Remembers pairs in 8 bytes each, to find exact duplicates.

    A pair is held as 64 bits of its BLAKE2 digest, in sorted arrays that
    double in size (merging them takes up to 16 bytes a pair for a moment).
    Two different pairs among n are taken for one with a probability of about
    n^2 / 2^65: one in 3,700 for a hundred million pairs.
    """

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


def clean_pairs(
    pairs: Sequence[Pair],
    clean_source: Callable[[list[str]], list[str]],
    clean_target: Callable[[list[str]], list[str]],
    report: CleaningReport,
    seen: SeenPairs | None = None,
) -> list[Pair]:
    """Cleans the text of some pairs; drops empty ones and duplicates.

    Args:
        pairs: raw (source, target) pairs.
        clean_source: maps stripped source lines to the lines to be kept.
        clean_target: the same for the target.
        report: counts are added here.
        seen: what came before; None keeps duplicates.
    """
    report.read += len(pairs)
    sources = clean_source([_plain(source) for source, _ in pairs])
    targets = clean_target([_plain(target) for _, target in pairs])
    cleaned = [pair for pair in zip(sources, targets, strict=True) if all(pair)]
    report.drop("empty", len(pairs) - len(cleaned))
    if seen is None:
        return cleaned
    new = seen.first_seen(cleaned)
    report.drop("duplicate", len(cleaned) - int(new.sum()))
    return [pair for pair, keep in zip(cleaned, new, strict=True) if keep]


def keep_by_length(
    source_lengths: np.ndarray,
    target_lengths: np.ndarray,
    config: DataConfig,
    report: CleaningReport,
    check_ratio: bool = True,
) -> np.ndarray:
    """Which pairs pass the checks that count tokens.

    Args:
        source_lengths: int [N], tokens of each source.
        target_lengths: int [N], tokens of each target.
        config: gives `max_length` and `max_length_ratio`.
        report: counts are added here.
        check_ratio: False leaves the length ratio out.

    Returns:
        bool [N].
    """
    shorter = np.minimum(source_lengths, target_lengths)
    longer = np.maximum(source_lengths, target_lengths)
    empty = shorter == 0
    over_long = ~empty & (longer > config.max_length)
    uneven = np.zeros_like(empty)
    if check_ratio and config.max_length_ratio:
        uneven = longer > config.max_length_ratio * shorter
        uneven &= ~(empty | over_long)
    report.drop("empty", int(empty.sum()))
    report.drop("over_long", int(over_long.sum()))
    report.drop("length_ratio", int(uneven.sum()))
    return ~(empty | over_long | uneven)


def _plain(text):
    # A tab inside a line of one of two files would be a column in a TSV.
    return text.replace("\t", " ").replace("\r", " ").strip()
