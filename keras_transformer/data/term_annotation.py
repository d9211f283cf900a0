"""Term annotation: sources whose terms have their translations beside them.

A model learns from them to take the translations that a glossary says (Dinu et
al. 2019, "Training Neural Machine Translation to Apply Terminology
Constraints"). Terms are those of a list, and phrases of the corpus itself, so
that a model learns to take whatever is annotated.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from keras_transformer.data.corpus import Pair
from keras_transformer.data.word_alignment import Phrase, WordLinks
from keras_transformer.documents.glossary import (
    Found,
    Glossary,
    annotated,
    forms_of,
)
from keras_transformer.documents.markup import Masked
from keras_transformer.symbols import CLOSING, OPENING, SINGLE

# Phrases of a pair that are annotated, at most.
_MOST = 4


class _Term(NamedTuple):
    """A term in both sides of a pair, and the translation that is wanted."""

    place: Phrase
    wanted: str


class TermAnnotator:
    """Annotates terms in the sources of a share of pairs.

    Terms have symbols around them on both sides, as when translating
    (`documents.markup.mask_text`). The same pair has the same terms, wherever
    it is in a corpus.

    Args:
        share: of the pairs, 0 to 1.
        seed: chooses pairs and terms.
        links: of words, from which phrases are drawn.
        glossary: whose terms are annotated where a pair has both sides, as
            `forms_of` says.
    """

    def __init__(
        self,
        share: float,
        seed: int,
        links: WordLinks,
        glossary: Glossary | None = None,
    ) -> None:
        self._share = share
        self._seed = seed
        self._links = links
        self._glossary = glossary

    def __call__(self, pair: Pair) -> tuple[Pair, Mapping[str, int]]:
        """A pair, annotated or not.

        Returns:
            the pair, and counts: `pairs` that are annotated, `listed` terms of
            the glossary, `drawn` phrases of the corpus.
        """
        source, target = pair
        generator = random.Random(f"{self._seed}\t{source}\t{target}")
        if generator.random() >= self._share:
            return pair, {}
        terms = self._listed(source, target)
        listed = len(terms)
        phrases = self._links.phrases(source, target)
        generator.shuffle(phrases)
        most = generator.randint(1, _MOST)
        for phrase in phrases:
            if len(terms) < most and _is_apart(phrase, terms):
                wanted = target[phrase.target_start : phrase.target_end]
                terms.append(_Term(phrase, wanted))
        if not terms:
            return pair, {}
        drawn = len(terms) - listed
        return (
            _annotated(source, target, sorted(terms)),
            {"pairs": 1, "listed": listed, "drawn": drawn},
        )

    def _listed(self, source, target):
        """The glossary's terms that both sides have, each at its own place."""
        terms: list[_Term] = []
        found = self._glossary.find(source) if self._glossary else ()
        for each in found:
            wanted = each.target or source[each.start : each.end]
            for form in forms_of(target, wanted):
                place = Phrase(each.start, each.end, *form)
                if _is_apart(place, terms):
                    terms.append(_Term(place, wanted))
                    break
        return terms


def _is_apart(place, terms):
    return all(place.is_apart(term.place) for term in terms)


def _annotated(source: str, target: str, terms: Sequence[_Term]) -> Pair:
    """A pair with its terms annotated, and symbols around them on both sides.

    Symbols are numbered in the order of the source, as in texts that are
    translated. Past the last number, and where those of the markup would be
    crossed, terms are annotated only.

    Args:
        source, target: with symbols for markup, or without any.
        terms: in the order of the source.
    """
    free = (
        (opening, closing)
        for opening, closing, single in zip(
            OPENING, CLOSING, SINGLE, strict=True
        )
        if opening not in source and single not in source
    )
    sources, targets = [], []
    symbols = itertools.chain(free, itertools.repeat(("", "")))
    for (place, wanted), around in zip(terms, symbols, strict=False):
        start, end, *form = place
        noted = annotated(source[start:end], [Found(0, end - start, wanted)])
        sources.append((start, end, noted.join(around)))
        targets.append((*form, target[slice(*form)].join(around)))
    both = _replaced(source, sources), _replaced(target, sorted(targets))
    if not Masked(both[0], {}).has_structure_of(both[1]):
        found = [Found(*place[:2], wanted) for place, wanted in terms]
        return annotated(source, found), target
    numbers = dict.fromkeys(re.findall(r"⟨(\d+)/?⟩", both[0]))
    order = {number: n for n, number in enumerate(numbers, start=1)}
    source, target = (
        re.sub(
            r"(?<=[⟨/])\d+(?=/?⟩)", lambda number: str(order[number[0]]), side
        )
        for side in both
    )
    return source, target


def _replaced(text, parts):
    """A text with others in place of some of its parts, in order."""
    pieces, place = [], 0
    for start, end, other in parts:
        pieces += [text[place:start], other]
        place = end
    return "".join([*pieces, text[place:]])
