"""Word links: which words of a pair translate each other.

They are learned from pairs by IBM Model 1, from each side to the other, and
count by how far both agree (Liang, Taskar and Klein 2006, "Alignment by
Agreement"). The phrases that they make are those of Och and Ney 2004, "The
Alignment Template Approach to Statistical Machine Translation": no word within
is linked to one outside.
"""

from __future__ import annotations

import collections
import itertools
import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from keras_transformer.data.corpus import Pair
from keras_transformer.data.model_1 import link, model_1
from keras_transformer.documents.glossary import words_of

# Pairs of words of one sentence that are learned from, held in memory at some
# 60 bytes each, and the words of a side, beyond which a sentence isn't.
_MOST_LINKS = 10_000_000
_LONGEST_SENTENCE = 40
# The product of both probabilities, below which words don't agree.
_LEAST = 0.002
# Words that are too frequent to begin or end a phrase.
_FREQUENT = 40
_LONGEST = 4  # words of a phrase
# What the other end of a sentence is less likely by, a logarithm.
_FAR = 4.0


class Phrase(NamedTuple):
    """Parts of both sides of a pair that translate each other, characters."""

    source_start: int
    source_end: int
    target_start: int
    target_end: int


class _Word(NamedTuple):
    """A word in a text: its place, and what number it has among all marks."""

    start: int
    end: int
    number: int
    lower: str


class WordLinks:
    """Links words of pairs.

    Args:
        scores: by a source and a target word in lower case, how well they
            agree.
        frequent: source words that begin and end no phrase.
    """

    def __init__(
        self, scores: dict[tuple[str, str], float], frequent: Iterable[str]
    ) -> None:
        self._scores = scores
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
            if links > _MOST_LINKS:
                break
            for side, words in enumerate(spelled):
                known = numbers[side]
                ids[side].extend(known.setdefault(w, len(known)) for w in words)
                lengths[side].append(len(words))
        sources, targets = map(list, numbers)
        if not sources or not targets:
            return cls({}, ())
        arrays = [
            (np.array(values), np.array(counts))
            for values, counts in zip(ids, lengths, strict=True)
        ]
        counts = collections.Counter(ids[0]).most_common(_FREQUENT)
        return cls(
            {
                (sources[s], targets[t]): score
                for s, t, score in _agreement(*arrays)
            },
            # A character of a script without spaces says too little.
            (sources[s] for s, _ in counts if sources[s] < "\u0e00"),
        )

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

    def _links(self, source, target):
        """Indices of words that are linked: the best of either of them."""
        nothing = 0.0, 0
        rows: dict = collections.defaultdict(lambda: nothing)
        columns: dict = collections.defaultdict(lambda: nothing)
        for i, j in itertools.product(range(len(source)), range(len(target))):
            score = self._scores.get((source[i].lower, target[j].lower))
            if score is not None:
                distance = i / len(source) - j / len(target)
                score *= math.exp(-_FAR * abs(distance))
                rows[i] = max(rows[i], (score, j))
                columns[j] = max(columns[j], (score, i))
        return {(i, j) for i, (_, j) in rows.items()} | {
            (i, j) for j, (_, i) in columns.items()
        }


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


def _agreement(source, target) -> Iterator[tuple[int, int, float]]:
    """Source and target words that agree, and how well.

    Args:
        source: ids of all sentences in a row, and the number of each.
        target: the same of as many targets.
    """
    base = int(target[0].max()) + 1
    sources, targets, forward = _probabilities(source, target)
    codes = sources * base + targets
    targets, sources, backward = _probabilities(target, source)
    codes, here, there = np.intersect1d(
        codes,
        sources * base + targets,
        assume_unique=True,
        return_indices=True,
    )
    scores = forward[here] * backward[there]
    kept = scores >= _LEAST
    codes, scores = codes[kept], scores[kept]
    yield from zip(
        (codes // base).tolist(),
        (codes % base).tolist(),
        scores.tolist(),
        strict=True,
    )


def _probabilities(source, target):
    """Sources, targets, and how probably each becomes its target, `(P,)`."""
    links = link(source, target)
    is_word = links.sources >= 0  # not the empty word
    return (
        links.sources[is_word],
        links.targets[is_word],
        model_1(links)[is_word],
    )
