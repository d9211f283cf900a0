"""Batch plan: which pairs share a batch, a function of lengths and a seed.

A pool of pairs is sorted by length and cut into length buckets, each of them
a batch. Shuffling never changes how many that gives, so every epoch has the
same number of steps, known before the first.
"""

import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True)
class BatchSize:
    """How large a batch may be.

    Args:
        tokens: positions of a batch on either side, padding included; a pair
            that is longer than that is a batch alone.
        sentences: if set, the pairs of a batch, and `tokens` is not used.
        multiple: lengths count as if rounded up to a multiple of this. Above
            1 batches have few shapes: they are to be padded to such lengths
            and to `rows`.
        replicas: devices that share a batch, to each of which the same number
            of pairs goes.
    """

    tokens: int
    sentences: int | None = None
    multiple: int = 1
    replicas: int = 1

    def rounded(self, lengths):
        """Lengths, int of any shape, as they count."""
        return -(-lengths // self.multiple) * self.multiple

    def rows(self, longest):
        """The most pairs of a batch whose longer side is `longest`, or 0."""
        return self.sentences or self.tokens // longest


def plan_pool(
    lengths: np.ndarray,
    size: BatchSize,
    random: np.random.Generator | None = None,
) -> list[np.ndarray]:
    """Cuts a pool of pairs into batches of similar length.

    Args:
        lengths: int `(P, 2)`, the positions that each source and target takes
            in a batch.
        size: what a batch may hold.
        random: shuffles the pairs of equal lengths, shifts the boundaries
            between batches and shuffles the batches; None: sorted by length,
            longest last.

    Returns:
        One int64 array of indices into the pool for each batch: always
        `count_batches(lengths, size, shuffled=random is not None)` arrays,
        which together hold every index once.
    """
    lengths = size.rounded(lengths)
    order = _sorted_by_length(lengths, random)
    table = lengths[order]  # (P, 2)
    if random is None:
        return np.split(order, _bucket_starts(table, size))
    count = count_batches(lengths, size)
    fraction = random.uniform(0.1, 1.0)
    starts = _bucket_starts(table, size, first_fraction=fraction)
    batches = np.split(order, starts)
    if len(batches) < count:
        # A shifted start costs one batch more or none; where none, halving
        # a batch keeps the number the same in every epoch.
        largest = max(range(len(batches)), key=lambda i: len(batches[i]))
        batches[largest : largest + 1] = np.array_split(batches[largest], 2)
    return [batches[i] for i in random.permutation(len(batches))]


def count_batches(
    lengths: np.ndarray, size: BatchSize, shuffled: bool = True
) -> int:
    """How many batches `plan_pool` makes of a pool, whatever the shuffling.

    Cutting greedily gives the fewest batches, n. With a first batch of any
    smaller size the rest still takes n at most, hence n or n + 1 in all;
    `plan_pool` makes it n + 1 always (or one for each pair, if that is less).
    """
    if not len(lengths):
        return 0
    lengths = size.rounded(lengths)
    order = _sorted_by_length(lengths, None)
    fewest = len(_bucket_starts(lengths[order], size)) + 1
    return min(fewest + 1, len(lengths)) if shuffled else fewest


def _sorted_by_length(lengths, random):
    """Indices by target length; sources rise and fall in turn.

    The turning keeps sources of like length together where a batch spans two
    target lengths.
    """
    sources, targets = lengths.T  # (P,) each
    turning = np.where(targets % 2, -sources, sources)
    ties = np.arange(len(lengths))
    if random is not None:
        random.shuffle(ties)
    return np.lexsort((ties, turning, targets))


def _bucket_starts(table, size, first_fraction=1.0):
    """Where length buckets after the first start; each fits in a batch.

    Args:
        table: sorted lengths, int `(P, 2)`.
        size: what a batch may hold.
        first_fraction: of the first bucket's capacity that is used.
    """
    starts = []
    start = 0
    fraction = first_fraction
    while True:
        start += _bucket_size(table[start:], size, fraction)
        if start >= len(table):
            return starts
        starts.append(start)
        fraction = 1.0


def _bucket_size(table, size, fraction):
    """How many of the first pairs fill a length bucket; at least 1."""
    if size.sentences is not None:
        return max(1, int(size.sentences * fraction))
    budget = int(size.tokens * fraction)
    # No more pairs than this can fit: the first one has the shortest target.
    window = table[: max(1, budget // table[0, 1])]  # (W, 2)
    longest = np.maximum.accumulate(window, axis=0).max(axis=1)  # (W,)
    positions = longest * np.arange(1, len(window) + 1)
    return max(1, int(np.searchsorted(positions, budget, side="right")))
