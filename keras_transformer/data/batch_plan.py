"""Batch plan: groups pairs into batches, by their lengths and a seed.

A pool of pairs is sorted by length and cut into length buckets, each of which
is a batch. Shuffling never changes their number, so every epoch has the same
number of steps, known before the first.
"""

import dataclasses

import numpy as np

# Maximum ratio of padded positions with few lengths to those with exact ones.
_ROUNDING = 1.25
_NONE = 2  # positions of a source without tokens: START and END


@dataclasses.dataclass(frozen=True)
class BatchSize:
    """The maximum size of batches, and the shapes that they are padded to.

    Args:
        tokens: positions of a batch on either side, padding included; a longer
            pair forms a batch by itself.
        sentences: if set, the number of pairs of a batch, in place of `tokens`.
        buckets: ascending lengths; if given, the lengths of both sides of a
            pair are taken to be the longer one, rounded up to the next bucket.
            Each bucket has one shape then, to whose length and number of
            `rows` batches must be padded.
        padded_lengths: ascending lengths to which batches must be padded,
            although they are planned by exact lengths; their numbers of pairs
            are padded, too. This changes the shapes, but not the pairs.
        replicas: devices that share a batch, each with the same number of
            pairs.
    """

    tokens: int
    sentences: int | None = None
    buckets: tuple[int, ...] = ()
    padded_lengths: tuple[int, ...] = ()
    replicas: int = 1

    @property
    def has_few_shapes(self) -> bool:
        """True if batches are padded to more than their longest pair."""
        return bool(self.buckets or self.padded_lengths)

    def rounded(self, lengths: np.ndarray) -> np.ndarray:
        """Rounds lengths, int `(..., 2)` of sources and targets, to buckets."""
        if not self.buckets:
            return lengths
        longer = lengths.max(axis=-1, keepdims=True)  # (..., 1)
        return np.broadcast_to(
            _next_length(longer, self.buckets), lengths.shape
        )

    def rows(self, longest: int) -> int:
        """The maximum pairs of a batch with this longest side, or 0."""
        return self.sentences or self.tokens // longest

    def padded_shape(self, pairs: int, source: int, target: int) -> np.ndarray:
        """The shape to which a batch is padded.

        Args:
            pairs: number of pairs of the batch.
            source: positions of its longest source.
            target: positions of its longest target.

        Returns:
            number of rows and lengths of source and target, int64 `(3,)`.
        """
        lengths = self.rounded(np.array([source, target]))
        fewest = longest = lengths.max()
        if self.padded_lengths:
            lengths = _next_length(lengths, self.padded_lengths)
            # The shortest length that is padded to this one: a batch of such
            # pairs has the most rows.
            shorter = [n for n in self.padded_lengths if n < longest]
            fewest = max(shorter, default=_NONE) + 1
        rows = pairs
        if self.has_few_shapes:
            rows = max(pairs, self.rows(fewest))
        rows = -(-rows // self.replicas) * self.replicas
        return np.array([rows, *lengths], np.int64)


def few_lengths(lengths: np.ndarray, longest: int = 0) -> tuple[int, ...]:
    """Chooses lengths to which batches are padded, as few as the data allows.

    Short sentences need two or three, text with paragraphs up to ten. Among
    all sets of that size it is the one with the least padding, found by dynamic
    programming over the distribution of lengths.

    Args:
        lengths: int `(P, 2)`, the positions that each source and target takes
            in a batch.
        longest: positions that pairs may take after augmentation. Lengths up to
            this one are added, each a quarter longer than the one before.

    Returns:
        ascending numbers, which are even for cuDNN's attention, except
        `longest`. With them, the longer sides of all pairs take at most a
        quarter more positions than if each were rounded to an even length.
    """
    step = 2
    counts = np.bincount(-(-lengths.max(axis=1) // step))
    own = np.flatnonzero(counts)  # (U,)
    until = np.concatenate([[0], np.cumsum(counts[own])])  # (U + 1,)
    # Positions of pairs i to j if all are padded to the length of the last.
    costs = (until[None, :] - until[:, None]) * np.concatenate([[0], own])
    costs = np.where(costs > 0, costs.astype(float), np.inf)  # (U + 1, U + 1)
    least = costs[0]  # least positions of the first j with 1, 2, ... lengths
    starts: list[np.ndarray] = []
    while least[-1] > _ROUNDING * (counts[own] * own).sum():
        totals = least[:, None] + costs  # (U + 1, U + 1)
        starts.append(totals.argmin(axis=0))
        least = totals.min(axis=0)
    ends = [len(own)]
    for start in reversed(starts):
        ends.append(start[ends[-1]])
    chosen = [int(step * own[end - 1]) for end in reversed(ends)]
    while chosen[-1] < longest:
        more = int(_ROUNDING * chosen[-1]) // step * step + step
        chosen.append(min(more, longest))
    return tuple(chosen)


def _next_length(lengths, accepted):
    """Rounds lengths up to accepted ones; keeps those above the last."""
    accepted = np.array(accepted)
    indices = np.searchsorted(accepted, lengths)
    return np.maximum(lengths, accepted[np.minimum(indices, len(accepted) - 1)])


def plan_pool(
    lengths: np.ndarray,
    size: BatchSize,
    random: np.random.Generator | None = None,
) -> list[np.ndarray]:
    """Cuts a pool of pairs into batches of similar length.

    Args:
        lengths: int `(P, 2)`, the positions that each source and target takes
            in a batch.
        size: the maximum size of a batch.
        random: shuffles the pairs of equal lengths, shifts the boundaries
            between batches and shuffles the batches; None: batches are sorted
            by length, the longest last.

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
        # Shifting the start adds one batch or none. If none, a batch is halved,
        # so that every epoch has the same number.
        largest = max(range(len(batches)), key=lambda i: len(batches[i]))
        batches[largest : largest + 1] = np.array_split(batches[largest], 2)
    return [batches[i] for i in random.permutation(len(batches))]


def count_batches(
    lengths: np.ndarray, size: BatchSize, shuffled: bool = True
) -> int:
    """The number of batches of a pool, for any shuffling.

    Cutting greedily gives the minimum number of batches, n. If the first batch
    is smaller, the rest still needs at most n, so there are n or n + 1 in all;
    `plan_pool` always makes n + 1 (or one for each pair, if that is less).
    """
    if not len(lengths):
        return 0
    lengths = size.rounded(lengths)
    order = _sorted_by_length(lengths, None)
    fewest = len(_bucket_starts(lengths[order], size)) + 1
    return min(fewest + 1, len(lengths)) if shuffled else fewest


def _sorted_by_length(lengths, random):
    """Indices by target length, then source length in alternating order.

    Alternating keeps sources of similar length together in a batch that spans
    two target lengths.
    """
    sources, targets = lengths.T  # (P,) each
    turning = np.where(targets % 2, -sources, sources)
    ties = np.arange(len(lengths))
    if random is not None:
        random.shuffle(ties)
    return np.lexsort((ties, turning, targets))


def _bucket_starts(table, size, first_fraction=1.0):
    """The start indices of all length buckets but the first.

    Args:
        table: sorted lengths, int `(P, 2)`.
        size: the maximum size of a batch, and so of a bucket.
        first_fraction: fraction of the first bucket's capacity that is used.
    """
    starts: list[int] = []
    start = 0
    fraction = first_fraction
    while True:
        start += _bucket_size(table[start:], size, fraction)
        if start >= len(table):
            return starts
        starts.append(start)
        fraction = 1.0


def _bucket_size(table, size, fraction):
    """The number of first pairs that fill a length bucket; at least 1."""
    if size.sentences is not None:
        return max(1, int(size.sentences * fraction))
    budget = int(size.tokens * fraction)
    # No more pairs can fit, as the first one has the shortest target.
    window = table[: max(1, budget // table[0, 1])]  # (W, 2)
    longest = np.maximum.accumulate(window, axis=0).max(axis=1)  # (W,)
    positions = longest * np.arange(1, len(window) + 1)
    return max(1, int(np.searchsorted(positions, budget, side="right")))
