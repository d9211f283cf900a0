"""Word links: which words of a pair translate each other.

They are those of `WordAligner`. The phrases that they make are those of Och and
Ney 2004, "The Alignment Template Approach to Statistical Machine Translation":
no word within is linked to one outside.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from keras_transformer.constants import SPECIAL_TOKENS, UNK_ID
from keras_transformer.data.corpus import Pair
from keras_transformer.data.records import Ids
from keras_transformer.data.word_alignment import WordAligner
from keras_transformer.documents.glossary import words_of

# Pairs of words of one sentence that are learned from, held in memory at some
# 60 bytes each, and the words of a side, beyond which a sentence isn't.
_MOST_LINKS = 10_000_000
_LONGEST_SENTENCE = 40
# Words that are too frequent to begin or end a phrase.
_FREQUENT = 40
_LONGEST = 4  # words of a phrase


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
            if links > _MOST_LINKS:
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
