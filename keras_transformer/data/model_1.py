"""IBM Model 1: how probably a token of one side becomes one of the other.

It gives each target token of a pair to the source tokens of that pair, in
proportion to how probably they become it, and counts again how probable that
is, several times over. A prior may favour those at the same part of both
sentences. NLTK has the same model in dictionaries; these are arrays, which take
a hundredth of its time.

References: Brown et al. 1993, "The Mathematics of Statistical Machine
Translation", section 4.2; Dyer et al. 2013, "A Simple, Fast, and Effective
Reparameterization of IBM Model 2", section 2 (the prior).
"""

from typing import NamedTuple

import numpy as np

# Of expectation and maximisation, from equal probabilities.
_ITERATIONS = 5
# What is held of the pairs at once: pairs of a source and a target token of the
# same sentence, 12 bytes each, and 40 while they are counted.
MOST_LINKS = 30_000_000
# Of fast_align: how steeply the prior falls off the diagonal, and the
# probability that a token comes from none.
_TENSION, _P0 = 4.0, 0.08
_BITS = 32  # of a target token in the code of a link


class Cooccurrences(NamedTuple):
    """Co-occurrences: a source and a target token in the same sentence pair.

    Attributes:
        types: int32 `(L,)`, the pair of tokens, an index into `sources` and
            `targets`.
        positions: int32 `(L,)`, numbers the target tokens of all sentences.
        sources: int64 `(P,)`, ids; -1: the null word, of targets that come from
            no source token.
        targets: int64 `(P,)`, ids.
        prior: float32 `(L,)`, how probable the link is by its place, up to a
            factor for each of `positions`; None: all the same.
    """

    types: np.ndarray
    positions: np.ndarray
    sources: np.ndarray
    targets: np.ndarray
    prior: np.ndarray | None = None


def link(
    source: tuple[np.ndarray, np.ndarray],
    target: tuple[np.ndarray, np.ndarray],
    diagonal: bool = False,
) -> Cooccurrences:
    """Links every target token with the source tokens of its sentence.

    Args:
        source: ids of all sentences in a row, and the number of each.
        target: the same of as many targets.
        diagonal: whether links have a prior.

    Returns:
        `Cooccurrences`; of very many, those of some sentences, evenly spread.
    """
    # Of int32, as there are so many.
    (source_ids, source_lengths), (target_ids, target_lengths) = (
        (ids, lengths.astype(np.int32)) for ids, lengths in (source, target)
    )
    counts = (source_lengths + 1).astype(np.int64) * target_lengths
    stride = max(1, -(-int(counts.sum()) // MOST_LINKS))
    kept = np.arange(len(counts)) % stride == 0
    counts = np.where(kept, counts, 0)
    begins = (np.cumsum(counts) - counts).astype(np.int32)
    sentence = np.repeat(np.arange(len(counts), dtype=np.int32), counts)  # (L,)
    offset = np.arange(len(sentence), dtype=np.int32) - begins[sentence]
    width = (source_lengths + 1)[sentence]
    starts = [
        np.cumsum(n, dtype=np.int32) - n
        for n in (source_lengths, target_lengths)
    ]
    # Index 0 of a sentence is the null word, before its tokens.
    index, within = np.divmod(offset, width)
    positions = starts[1][sentence] + index
    padded = np.append(source_ids, 0)
    sources = padded[starts[0][sentence] + within - (within > 0)]
    sources = np.where(within > 0, sources, -1)
    prior = None
    if diagonal:
        lengths = target_lengths[sentence]
        near = diagonal_prior(within, width - 1, index + 1, lengths)
        near[within == 0] = 0
        empty = null_prior(np.bincount(positions, near)).astype(np.float32)
        prior = np.where(within > 0, near, empty[positions])
        del lengths, near
    del sentence, offset, width, index, within
    codes, types = np.unique(
        link_codes(sources, target_ids[positions]), return_inverse=True
    )
    mask = (1 << _BITS) - 1
    sources, targets = (codes >> _BITS) - 1, codes & mask
    return Cooccurrences(
        types.astype(np.int32), positions, sources, targets, prior
    )


def model_1(links: Cooccurrences) -> np.ndarray:
    """The probability that a source token becomes a target token.

    Args:
        links: of all sentences.

    Returns:
        float64 `(P,)`, for each of `links.sources` and `links.targets`.
    """
    rows = links.sources + 1
    tiny = np.finfo(float).tiny
    probabilities = np.ones(len(rows))
    for _ in range(_ITERATIONS):
        share = probabilities[links.types]  # (L,)
        if links.prior is not None:
            share *= links.prior
        sums = np.bincount(links.positions, share)
        share /= np.maximum(sums, tiny)[links.positions]
        counts = np.bincount(links.types, share, len(rows))  # (P,)
        totals = np.bincount(rows, counts)
        # A row of nothing but the smallest numbers may sum to 0.
        probabilities = counts / np.maximum(totals, tiny)[rows]
    return probabilities


def link_codes(sources: np.ndarray | int, targets: np.ndarray) -> np.ndarray:
    """A number for each pair of a source and a target token.

    Args:
        sources: int ids, or -1, the null word.
        targets: int ids, broadcast against them.

    Returns:
        int64, in the order of sources, then targets.
    """
    return (np.asarray(sources, np.int64) + 1 << _BITS) | targets


def diagonal_prior(
    i: np.ndarray, m: np.ndarray, j: np.ndarray, n: np.ndarray
) -> np.ndarray:
    """The prior of a link from source token i of m to target token j of n.

    Args:
        i, j: int, counted from 1.
        m, n: int, lengths.

    Returns:
        float32, 1 on the diagonal.
    """
    i, m, j, n = (np.asarray(x, np.float32) for x in (i, m, j, n))
    distance = np.abs(i / np.maximum(m, 1) - j / np.maximum(n, 1))
    return np.exp(-np.float32(_TENSION) * distance)


def null_prior(near: np.ndarray) -> np.ndarray:
    """The prior of the null word, so that it has `_P0` of the sum.

    Args:
        near: the sum of the others.
    """
    return near * (_P0 / (1 - _P0))
