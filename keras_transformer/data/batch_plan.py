"""Batch plan: which pairs share a batch, a function of lengths and a seed.

A pool of pairs is sorted by length and cut into length buckets, each of them
a batch. Shuffling never changes how many that gives, so every epoch has the
same number of steps, known before the first.
"""

import dataclasses

import numpy as np

# Positions that few lengths may take for each that own lengths would.
_ROUNDING = 1.25
_NONE = 2  # positions of a source without tokens: START and END


@dataclasses.dataclass(frozen=True)
class BatchSize:
    """The largest batch.

    Args:
        tokens: positions of a batch on either side, padding included; a pair
            that is longer than that is a batch alone.
        sentences: if set, the pairs of a batch, and `tokens` is not used.
        buckets: rising lengths; if given, both sides of a pair count as if
            its longer one were rounded up to the next of these. Batches have
            a shape for each then: they are to be padded to it and to `rows`.
        padded_lengths: rising lengths to which batches are to be padded
            although they are planned by exact ones, and to few numbers of
            pairs: other shapes, the same pairs.
        replicas: devices that share a batch, to each of which the same number
            of pairs goes.
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
        """Lengths, int `(..., 2)` of sources and targets, as they count."""
        if not self.buckets:
            return lengths
        longer = lengths.max(axis=-1, keepdims=True)  # (..., 1)
        return np.broadcast_to(
            _next_length(longer, self.buckets), lengths.shape
        )

    def rows(self, longest: int) -> int:
        """The most pairs of a batch whose longer side is `longest`, or 0."""
        return self.sentences or self.tokens // longest

    def padded_shape(self, pairs: int, source: int, target: int) -> np.ndarray:
        """The shape to which a batch is padded.

        Args:
            pairs: that it has.
            source: positions of its longest source.
            target: positions of its longest target.

        Returns:
            rows and lengths of source and target, int64 `(3,)`.
        """
        lengths = self.rounded(np.array([source, target]))
        fewest = longest = lengths.max()
        if self.padded_lengths:
            lengths = _next_length(lengths, self.padded_lengths)
            # The shortest that are padded to the same length: as many pairs
            # as are planned with any of them.
            shorter = [n for n in self.padded_lengths if n < longest]
            fewest = max(shorter, default=_NONE) + 1
        rows = pairs
        if self.has_few_shapes:
            rows = max(pairs, self.rows(fewest))
        rows = -(-rows // self.replicas) * self.replicas
        return np.array([rows, *lengths], np.int64)


def few_lengths(lengths: np.ndarray, longest: int = 0) -> tuple[int, ...]:
    """Lengths of batches, as few as this data allows.

    Short sentences need two or three, text with paragraphs up to ten. Of all
    choices of so many lengths it is the one with the least padding, found by
    dynamic programming over the distribution of lengths.

    Args:
        lengths: int `(P, 2)`, the positions that each source and target takes
            in a batch.
        longest: positions that pairs may take after they are changed, up to
            which further lengths are a quarter more each.

    Returns:
        even numbers, which cuDNN's attention wants, but for `longest`, rising;
        with them a pair's longer side takes a quarter more positions than
        rounded to its own even length, at most.
    """
    step = 2
    counts = np.bincount(-(-lengths.max(axis=1) // step))
    own = np.flatnonzero(counts)  # (U,)
    until = np.concatenate([[0], np.cumsum(counts[own])])  # (U + 1,)
    # Positions of pairs i to j where all are padded to the length of the last.
    costs = (until[None, :] - until[:, None]) * np.concatenate([[0], own])
    costs = np.where(costs > 0, costs.astype(float), np.inf)  # (U + 1, U + 1)
    least = costs[0]  # positions of the first j with one length, two, ...
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
    """The next accepted length of each; its own beyond the last."""
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
    """The number of batches of a pool, whatever the shuffling.

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
    # No more pairs than this can fit: the first one has the shortest target.
    window = table[: max(1, budget // table[0, 1])]  # (W, 2)
    longest = np.maximum.accumulate(window, axis=0).max(axis=1)  # (W,)
    positions = longest * np.arange(1, len(window) + 1)
    return max(1, int(np.searchsorted(positions, budget, side="right")))
