"""IBM Model 1: how probably a token of one side becomes one of the other.

It gives each target token of a pair to the source tokens of that pair, in
proportion to how probably they become it, and counts again how probable that
is, several times over. NLTK has the same model in dictionaries; these are
arrays, which take a hundredth of its time.

Reference: Brown et al. 1993, "The Mathematics of Statistical Machine
Translation", section 4.2.
"""

from typing import NamedTuple

import numpy as np

_ITERATIONS = 5
# What is held of the pairs at once: pairs of a source and a target token of the
# same sentence, 24 bytes each.
_MOST_LINKS = 30_000_000


class Links(NamedTuple):
    """Each pair of a source and a target token in the same sentence pair.

    Attributes:
        kinds: int64 `(L,)`, index of such a pair in `sources` and `targets`.
        positions: int64 `(L,)`, numbers the target tokens of all sentences.
        sources: int64 `(P,)`, ids; -1: no source token, what Brown et al. call
            the empty word.
        targets: int64 `(P,)`, ids.
    """

    kinds: np.ndarray
    positions: np.ndarray
    sources: np.ndarray
    targets: np.ndarray


def link(
    source: tuple[np.ndarray, np.ndarray], target: tuple[np.ndarray, np.ndarray]
) -> Links:
    """Links every target token with the source tokens of its sentence.

    Args:
        source: ids of all sentences in a row, and the number of each.
        target: the same of as many targets.

    Returns:
        `Links`; of very many, those of some sentences, evenly spread.
    """
    (source_ids, source_lengths), (target_ids, target_lengths) = source, target
    counts = (source_lengths + 1) * target_lengths
    stride = max(1, -(-int(counts.sum()) // _MOST_LINKS))
    kept = np.arange(len(counts)) % stride == 0
    counts = np.where(kept, counts, 0)
    sentence = np.repeat(np.arange(len(counts)), counts)  # (L,)
    offset = np.arange(len(sentence)) - (np.cumsum(counts) - counts)[sentence]
    width = (source_lengths + 1)[sentence]
    starts = [np.cumsum(n) - n for n in (source_lengths, target_lengths)]
    positions = starts[1][sentence] + offset // width
    # Index 0 of a sentence is the empty word, before its tokens.
    within = offset % width
    padded = np.append(source_ids, 0)
    sources = padded[starts[0][sentence] + within - (within > 0)]
    sources = np.where(within > 0, sources, -1)
    base = int(target_ids.max()) + 1
    codes = (sources.astype(np.int64) + 1) * base + target_ids[positions]
    codes, kinds = np.unique(codes, return_inverse=True)
    return Links(kinds, positions, codes // base - 1, codes % base)


def model_1(links: Links, iterations: int = _ITERATIONS) -> np.ndarray:
    """The probability that a source token becomes a target token.

    Args:
        links: of all sentences.
        iterations: of expectation and maximisation, from equal probabilities.

    Returns:
        float64 `(P,)`, for each of `links.sources` and `links.targets`.
    """
    rows = links.sources + 1
    probabilities = np.ones(len(rows))
    for _ in range(iterations):
        share = probabilities[links.kinds]  # (L,)
        share /= np.bincount(links.positions, share)[links.positions]
        counts = np.bincount(links.kinds, share, len(rows))  # (P,)
        totals = np.bincount(rows, counts)
        # A row of nothing but the smallest numbers may sum to 0.
        probabilities = counts / np.maximum(totals, np.finfo(float).tiny)[rows]
    return probabilities
