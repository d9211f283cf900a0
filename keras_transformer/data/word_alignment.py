"""Word alignment: which tokens or words of a pair translate each other.

By IBM Model 1: it gives each target token of a pair to the source tokens of
that pair, in proportion to how probably they become it, and counts again how
probable that is, several times over. A prior may favour those at the same part
of both sentences, as in fast_align. NLTK has the same model in dictionaries;
these are arrays, which take a hundredth of its time.

Of words that are linked, phrases are made: no word within is linked to one
outside.

References: Brown et al. 1993, "The Mathematics of Statistical Machine
Translation", section 4.2; Dyer et al. 2013, "A Simple, Fast, and Effective
Reparameterization of IBM Model 2", section 2 (the prior); Och and Ney 2004,
"The Alignment Template Approach to Statistical Machine Translation" (phrases).

Axes: B pairs, S source, T target positions, P pairs of tokens that are kept, L
links, pairs of tokens of the same sentences.
"""

from __future__ import annotations

import collections
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import tensorflow as tf

from keras_transformer.constants import (
    END_ID,
    PAD_ID,
    SPECIAL_TOKENS,
    START_ID,
    UNK_ID,
)
from keras_transformer.data.corpus import Pair
from keras_transformer.data.records import Ids, parse
from keras_transformer.documents.glossary import words_of

if TYPE_CHECKING:
    from keras_transformer.data.prepared import PreparedData

# Of expectation and maximisation, from equal probabilities.
_ITERATIONS = 5
# What is held of the pairs at once: pairs of a source and a target token of the
# same sentence, 12 bytes each, and 40 while they are counted.
MOST_LINKS = 30_000_000
# Of fast_align: how steeply the prior falls off the diagonal, and the
# probability that a token comes from none.
_TENSION, _P0 = 4.0, 0.08
# The prior of the null word, over the sum of the others.
_NULL_PRIOR = _P0 / (1 - _P0)
_BITS = 32  # of a target token in the code of a link
# Ends sorted codes of links, so that there is one for whatever is looked up.
NO_CODE = np.array([np.iinfo(np.int64).max])
_BATCH = 10_000  # pairs read at a time
# Less probable links are forgotten: they are never the best of a sentence.
_LEAST = 1e-4
# Pairs of words of one sentence that are learned from, held in memory at some
# 60 bytes each, and the words of a side, beyond which a sentence isn't.
_MOST_WORD_LINKS = 10_000_000
_LONGEST_SENTENCE = 40
# Words that are too frequent to begin or end a phrase.
_FREQUENT = 40
_LONGEST = 4  # words of a phrase


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
        near = _diagonal_prior(within, width - 1, index + 1, lengths)
        near[within == 0] = 0
        empty = (np.bincount(positions, near) * _NULL_PRIOR).astype(np.float32)
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


def find_links(
    codes: np.ndarray, sources: np.ndarray | int, targets: np.ndarray
) -> np.ndarray:
    """Where pairs of tokens are among known ones.

    Args:
        codes: int64 `(P,)`, sorted, the last one `NO_CODE`.
        sources, targets: see `link_codes`.

    Returns:
        indices; -1, that of no pair, for those that aren't.
    """
    wanted = link_codes(sources, targets)
    index = np.searchsorted(codes, wanted)
    return np.where(codes[index] == wanted, index, -1)


def _diagonal_prior(i, m, j, n):
    """The prior of a link from source token i of m to target token j of n.

    Tokens are counted from 1. float32, 1 on the diagonal.
    """
    i, m, j, n = (np.asarray(x, np.float32) for x in (i, m, j, n))
    distance = np.abs(i / np.maximum(m, 1) - j / np.maximum(n, 1))
    return np.exp(-np.float32(_TENSION) * distance)


class WordAligner:
    """Aligns tokens of pairs, by what it learned from pairs.

    Each token has at most one link in each direction; the links of both are
    joined by grow-diag (Koehn et al. 2003, "Statistical Phrase-Based
    Translation", section 4.1).

    Args:
        sources: ids of all sentences in a row, and the number of each.
        targets: the same of their translations.
    """

    def __init__(self, sources: Ids, targets: Ids) -> None:
        self._forward = _TranslationTable(sources, targets)
        self._backward = _TranslationTable(targets, sources)

    @classmethod
    def of(cls, prepared: PreparedData) -> WordAligner:
        """What learned from training pairs, the first of very many.

        Their order is random, and the same wherever they are read.
        """
        lengths = prepared.lengths("train").astype(np.int64) + 1  # (N, 2)
        links = np.cumsum(lengths.prod(axis=1))
        count = np.searchsorted(links, MOST_LINKS, side="right")
        records = tf.data.TFRecordDataset(
            [os.fsencode(path) for path in prepared.files("train")]
        )
        sides: tuple[list, list] = [], []
        for batch in records.take(max(1, count)).batch(_BATCH):
            for side, ids in zip(sides, parse(batch), strict=True):
                side.append(Ids.of(ids))
        return cls(*map(Ids.joined, sides))

    def __call__(
        self, source_ids: np.ndarray, target_ids: np.ndarray
    ) -> np.ndarray:
        """The links of some pairs.

        Args:
            source_ids: int32 `(B, S)`, padded, START and END among them or not.
            target_ids: int32 `(B, T)`, the same.

        Returns:
            bool `(B, T, S)`, False at START, END and padding.
        """
        forward = self._forward.links(source_ids, target_ids)  # (B, T, S)
        backward = self._backward.links(target_ids, source_ids)  # (B, S, T)
        return _grow_diag(forward, backward.transpose(0, 2, 1))


class _TranslationTable:
    """The probabilities of links in one direction, from sources to targets."""

    def __init__(self, sources, targets):
        links = link(sources, targets, diagonal=True)
        probabilities = model_1(links)
        kept = probabilities >= _LEAST
        codes = link_codes(links.sources[kept], links.targets[kept])
        self._codes = np.append(codes, NO_CODE)  # (P,), sorted
        self._probabilities = np.append(probabilities[kept], 0)  # (P,)

    def _probability(self, sources, targets):
        return self._probabilities[find_links(self._codes, sources, targets)]

    def links(self, sources, targets):
        """The most probable link of each target: bool `(B, T, S)`."""
        is_text = [
            ~np.isin(ids, (PAD_ID, START_ID, END_ID))
            for ids in (sources, targets)
        ]
        (i, m), (j, n) = (
            (np.cumsum(side, axis=1), side.sum(axis=1)[:, None, None])
            for side in is_text
        )
        near = _diagonal_prior(i[:, None], m, j[..., None], n)  # (B, T, S)
        near = np.where(is_text[0][:, None], near, 0)
        found = self._probability(sources[:, None], targets[..., None])
        scores = found * near  # (B, T, S)
        none = self._probability(-1, targets) * (near.sum(axis=2) * _NULL_PRIOR)
        linked = is_text[1] & (scores.max(axis=2) > none)  # (B, T)
        best = scores.argmax(axis=2)[..., None] == np.arange(scores.shape[2])
        return best & linked[..., None]


def _grow_diag(forward, backward):
    """Joins the links of both directions.

    Starts from those that both have. Adds those of one that touch a link, also
    by a corner, and have a token without a link, until there are no more; all
    of a round at once, where Koehn et al. go one by one.

    Args:
        forward, backward: bool `(B, T, S)`.
    """
    links, either = forward & backward, forward | backward
    rows, columns = links.shape[1:]
    while True:
        padded = np.pad(links, ((0, 0), (1, 1), (1, 1)))
        near = np.logical_or.reduce(
            [
                padded[:, y : y + rows, x : x + columns]
                for y in range(3)
                for x in range(3)
            ]
        )
        free = ~links.any(2, keepdims=True) | ~links.any(1, keepdims=True)
        more = either & near & free & ~links
        if not more.any():
            return links
        links |= more


class Phrase(NamedTuple):
    """Parts of both sides of a pair that translate each other, characters."""

    source_start: int
    source_end: int
    target_start: int
    target_end: int

    def is_apart(self, other: Phrase) -> bool:
        """True if neither side has a character of both."""
        return (
            self.source_end <= other.source_start
            or other.source_end <= self.source_start
        ) and (
            self.target_end <= other.target_start
            or other.target_end <= self.target_start
        )


class _Word(NamedTuple):
    """A word in a text: its place, and what number it has among all marks."""

    start: int
    end: int
    number: int
    lower: str


class WordLinks:
    """Links words of pairs.

    Args:
        aligner: of ids of words; None: no words are linked.
        numbers: the ids of the source's and of the target's words, by their
            lower case.
        frequent: source words that begin and end no phrase.
    """

    def __init__(
        self,
        aligner: WordAligner | None,
        numbers: tuple[Mapping[str, int], Mapping[str, int]] = ({}, {}),
        frequent: Iterable[str] = (),
    ) -> None:
        self._aligner = aligner
        self._numbers = numbers
        self._frequent = frozenset(frequent)

    @classmethod
    def learn(cls, pairs: Iterable[Pair]) -> WordLinks:
        """The links of the words in pairs, of very many in the first ones."""
        numbers: tuple[dict, dict] = ({}, {})
        ids: tuple[list, list] = ([], [])
        lengths: tuple[list, list] = ([], [])
        links = 0
        for pair in pairs:
            spelled = [[word.lower for word in _words(text)] for text in pair]
            source, target = map(len, spelled)
            if max(source, target) > _LONGEST_SENTENCE:
                continue
            links += (source + 1) * (target + 1)
            if links > _MOST_WORD_LINKS:
                break
            for side, words in enumerate(spelled):
                known = numbers[side]
                ids[side].extend(
                    known.setdefault(word, len(SPECIAL_TOKENS) + len(known))
                    for word in words
                )
                lengths[side].append(len(words))
        if not all(numbers):
            return cls(None)
        aligner = WordAligner(
            *(
                Ids(np.array(values), np.array(counts))
                for values, counts in zip(ids, lengths, strict=True)
            )
        )
        words = list(numbers[0])
        counts = collections.Counter(ids[0]).most_common(_FREQUENT)
        frequent = (words[n - len(SPECIAL_TOKENS)] for n, _ in counts)
        # A character of a script without spaces says too little.
        return cls(aligner, numbers, (w for w in frequent if w < "\u0e00"))

    def phrases(self, source: str, target: str) -> list[Phrase]:
        """The phrases of a pair, none with markup or punctuation within."""
        sides = _words(source), _words(target)
        to_targets: dict = collections.defaultdict(list)
        to_sources: dict = collections.defaultdict(list)
        for i, j in self._links(*sides):
            to_targets[i].append(j)
            to_sources[j].append(i)
        found = []
        for first in sorted(to_targets):
            for last in range(first, first + _LONGEST):
                if last not in to_targets or self._is_frequent(
                    sides[0], first, last
                ):
                    continue
                partners = _of_all(to_targets, first, last)
                begin, end = min(partners), max(partners)
                back = _of_all(to_sources, begin, end)
                if (
                    first <= min(back)
                    and max(back) <= last
                    and _are_together(sides[0], first, last)
                    and _are_together(sides[1], begin, end)
                ):
                    found.append(
                        Phrase(
                            sides[0][first].start,
                            sides[0][last].end,
                            sides[1][begin].start,
                            sides[1][end].end,
                        )
                    )
        return found

    def _is_frequent(self, words, *ends):
        return any(words[end].lower in self._frequent for end in ends)

    def _links(self, *sides):
        """Indices of words that are linked, of the source and the target."""
        # Arrays of all pairs of words of a long sentence fill the memory.
        longest = max(map(len, sides))
        if (
            self._aligner is None
            or not all(sides)
            or longest > _LONGEST_SENTENCE
        ):
            return []
        ids = [
            np.array([[known.get(word.lower, UNK_ID) for word in words]])
            for known, words in zip(self._numbers, sides, strict=True)
        ]
        (linked,) = self._aligner(*ids)  # (T, S)
        return np.argwhere(linked.T).tolist()


def _words(text):
    """The words of a text, without punctuation."""
    return [
        _Word(word.start, word.end, number, lower)
        for number, word in enumerate(words_of(text))
        if not word.barrier
        and (lower := text[word.start : word.end].casefold())[0].isalnum()
    ]


def _of_all(links, first, last):
    return [j for i in range(first, last + 1) for j in links.get(i, ())]


def _are_together(words, first, last):
    """True if nothing but white space is between words."""
    return words[last].number - words[first].number == last - first
