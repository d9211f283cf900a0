"""Word alignment: finds tokens or words of a pair that translate each other.

IBM Model 1 distributes each target token of a pair over the pair's source
tokens in proportion to their translation probabilities, and reestimates these
from the resulting counts, several times. A prior may favour tokens at similar
relative positions, as in fast_align. NLTK implements the same model with
dictionaries; the arrays here take a hundredth of the time.

Phrases are extracted from linked words, so that no word within a phrase is
linked to a word outside of it.

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

# Iterations of expectation-maximisation, from equal probabilities.
_ITERATIONS = 5
# Links held in memory, which are pairs of a source and a target token of the
# same sentence: 12 bytes each, and 40 while they are counted.
MOST_LINKS = 30_000_000
# As in fast_align: how steeply the prior falls off the diagonal, and the
# probability that a token has no source token.
_TENSION, _P0 = 4.0, 0.08
# The prior of the null word, divided by the sum of the others.
_NULL_PRIOR = _P0 / (1 - _P0)
_BITS = 32  # of a target token in the code of a link
# Added after sorted codes of links, so that every search ends at a valid index.
NO_CODE = np.array([np.iinfo(np.int64).max])
_BATCH = 10_000  # pairs read at a time
# Less probable links are dropped: they are never the best of a sentence.
_LEAST = 1e-4
# Maximum number of word links to learn from, at about 60 bytes of memory each;
# and maximum number of words of a side, above which a pair is ignored.
_MOST_WORD_LINKS = 10_000_000
_LONGEST_SENTENCE = 40
# Words that are too frequent to begin or end a phrase.
_FREQUENT = 40
_LONGEST = 4  # words of a phrase


class Cooccurrences(NamedTuple):
    """Co-occurrences of a source and a target token in a sentence pair.

    Attributes:
        types: int32 `(L,)`, the pair of tokens, an index into `sources` and
            `targets`.
        positions: int32 `(L,)`, the index of the target token among the target
            tokens of all sentences.
        sources: int64 `(P,)`, ids; -1: the null word, for targets without a
            source token.
        targets: int64 `(P,)`, ids.
        prior: float32 `(L,)`, the link's probability by position, up to a
            factor for each of `positions`; None: uniform.
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
        source: concatenated ids of all sentences, and their lengths.
        target: the same for the targets.
        diagonal: whether links have a prior.

    Returns:
        `Cooccurrences`; if there are more than `MOST_LINKS`, those of an evenly
        spaced sample of sentences.
    """
    # int32 saves memory for so many links.
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
    """The probability that a source token is translated to a target token.

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
        # A row of only tiny numbers may sum to 0.
        probabilities = counts / np.maximum(totals, tiny)[rows]
    return probabilities


def link_codes(sources: np.ndarray | int, targets: np.ndarray) -> np.ndarray:
    """Encodes each pair of a source and a target token as a number.

    Args:
        sources: int ids, or -1, the null word.
        targets: int ids, broadcast against them.

    Returns:
        int64, which sorts by source, then by target.
    """
    return (np.asarray(sources, np.int64) + 1 << _BITS) | targets


def find_links(
    codes: np.ndarray, sources: np.ndarray | int, targets: np.ndarray
) -> np.ndarray:
    """The indices of pairs of tokens among known pairs.

    Args:
        codes: int64 `(P,)`, sorted, the last one `NO_CODE`.
        sources, targets: see `link_codes`.

    Returns:
        indices; -1, the index of `NO_CODE`, for unknown pairs.
    """
    wanted = link_codes(sources, targets)
    index = np.searchsorted(codes, wanted)
    return np.where(codes[index] == wanted, index, -1)


def _diagonal_prior(i, m, j, n):
    """The prior of a link from source token i of m to target token j of n.

    Tokens are numbered from 1. The result is float32, and 1 on the diagonal.
    """
    i, m, j, n = (np.asarray(x, np.float32) for x in (i, m, j, n))
    distance = np.abs(i / np.maximum(m, 1) - j / np.maximum(n, 1))
    return np.exp(-np.float32(_TENSION) * distance)


class WordAligner:
    """Aligns tokens of pairs by probabilities learned from training pairs.

    In each direction a token has at most one link; the links of both directions
    are combined by grow-diag (Koehn et al. 2003, "Statistical Phrase-Based
    Translation", section 4.1).

    Args:
        sources: ids of the training sources.
        targets: ids of their translations.
    """

    def __init__(self, sources: Ids, targets: Ids) -> None:
        self._forward = _TranslationTable(sources, targets)
        self._backward = _TranslationTable(targets, sources)

    @classmethod
    def of(cls, prepared: PreparedData) -> WordAligner:
        """Learns from training pairs, up to the first `MOST_LINKS` links.

        Their order is random, and the same in every process.
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
        """Finds the links of some pairs.

        Args:
            source_ids: int32 `(B, S)`, padded, with or without START and END.
            target_ids: int32 `(B, T)`, the same.

        Returns:
            bool `(B, T, S)`, False at START, END and padding.
        """
        forward = self._forward.links(source_ids, target_ids)  # (B, T, S)
        backward = self._backward.links(target_ids, source_ids)  # (B, S, T)
        return _grow_diag(forward, backward.transpose(0, 2, 1))


class _TranslationTable:
    """Translation probabilities in one direction, from sources to targets."""

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
        """The most probable link of each target token: bool `(B, T, S)`."""
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
    """Combines the links of both directions.

    Starts from the intersection. Then adds links of either direction that are
    adjacent to a link, also diagonally, and have an unlinked token, until there
    are no more; all of a round at once, unlike Koehn et al., who add them one
    by one.

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
    """Character ranges on both sides of a pair that translate each other."""

    source_start: int
    source_end: int
    target_start: int
    target_end: int

    def is_apart(self, other: Phrase) -> bool:
        """True if two phrases don't overlap on either side."""
        return (
            self.source_end <= other.source_start
            or other.source_end <= self.source_start
        ) and (
            self.target_end <= other.target_start
            or other.target_end <= self.target_start
        )


class _Word(NamedTuple):
    """A word in a text: its range, and its number in `words_of` the text."""

    start: int
    end: int
    number: int
    lower: str


class WordLinks:
    """Links words of pairs, and extracts phrases.

    Args:
        aligner: for ids of words; None: no words are linked.
        numbers: the ids of source words and of target words, by the words in
            lower case.
        frequent: source words that may not begin or end a phrase.
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
        """Learns from the words of pairs, up to `_MOST_WORD_LINKS` links."""
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
        # Not for scripts without spaces, where a word here is a character.
        return cls(aligner, numbers, (w for w in frequent if w < "\u0e00"))

    def phrases(self, source: str, target: str) -> list[Phrase]:
        """The phrases of a pair, without any markup or punctuation inside."""
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
        """Index pairs of linked words, of the source and the target."""
        # Arrays of all word pairs of a long sentence would fill the memory.
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
    """The words of a text, without markup and punctuation."""
    return [
        _Word(word.start, word.end, number, lower)
        for number, word in enumerate(words_of(text))
        if not word.barrier
        and (lower := text[word.start : word.end].casefold())[0].isalnum()
    ]


def _of_all(links, first, last):
    return [j for i in range(first, last + 1) for j in links.get(i, ())]


def _are_together(words, first, last):
    """True if only words and white space are between two words."""
    return words[last].number - words[first].number == last - first
