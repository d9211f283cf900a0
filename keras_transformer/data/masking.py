"""Masking: puts symbols in place of markup, and around terms.

From such pairs a model learns where the symbols of a source belong in the
translation. Symbols are also injected into some pairs without markup, at places
found by word alignment, so that the model learns them from plain text, too.

Sources whose terms are annotated with translations teach the model to use the
translations of a glossary. The terms come from a list and from phrases of the
corpus itself, so that the model learns to follow any annotation.

References: Hanneman and Dinu 2020, "How Should Markup Tags Be Translated?";
Dinu et al. 2019, "Training Neural Machine Translation to Apply Terminology
Constraints".
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import itertools
import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from keras_transformer.config.data import DataConfig
from keras_transformer.data.corpus import Pair
from keras_transformer.data.word_alignment import Phrase, WordLinks
from keras_transformer.documents.glossary import (
    Found,
    Glossary,
    annotated,
    forms_of,
)
from keras_transformer.documents.markup import (
    Mark,
    Masked,
    find_marks,
    mark_name,
    strip_marks,
    symbol_of,
)
from keras_transformer.symbols import (
    CLOSING,
    NUMBERS,
    OPENING,
    SINGLE,
    leading_tags,
)

# The fraction of the pairs without markup that get symbols. Of these: the
# maximum number of phrases, the fraction of phrases that a symbol replaces, and
# the fraction of pairs with symbols around the whole text.
_INJECTED = 0.1
_MOST_PHRASES, _ALONE, _AROUND_ALL = 4, 0.25, 0.15
# Maximum number of annotated terms drawn from a pair's phrases.
_MOST_TERMS = 4
# Counts of pairs by outcome; and of pairs with terms, of annotated terms from
# the glossary, and of phrases drawn from the corpus.
COUNTS = ("masked", "different", "too_many", "injected")
TERM_COUNTS = ("pairs", "listed", "drawn")

# Maps a training pair to the pair that is trained on, and counts; picklable.
Rewrite = Callable[[Pair], tuple[Pair, Mapping[str, int]]]


class _Unit(NamedTuple):
    """A pair of tags, or a single mark.

    Attributes:
        first: index of its first mark.
        texts: the texts of its one or two marks.
        name: the tags' name; None: a placeholder or an address.
    """

    first: int
    texts: tuple[str, ...]
    name: str | None


def mask_pair(
    pair: Pair, placeholders: tuple[str, ...] = ()
) -> tuple[Pair, str | None]:
    """Replaces marks by symbols on both sides if both have the same marks.

    Marks are the same if their texts are equal; tags also if only their
    attributes differ, which may have been translated. If the sides' marks
    differ, or there are more than `NUMBERS`, all marks are removed.

    Args:
        pair: with markup.
        placeholders: regular expressions of further marks.

    Returns:
        the pair, and the name of its count, one of `COUNTS`; None: it has no
        markup.
    """
    marks = [find_marks(text, placeholders) for text in pair]
    if not any(marks):
        return pair, None
    units = [_units(*side) for side in zip(pair, marks, strict=True)]
    # Counted first, as matching takes quadratic time.
    as_many = len(units[0]) == len(units[1])
    few = len(units[0]) <= NUMBERS
    numbers = _numbers(*units) if as_many and few else None
    if numbers is not None:
        source, target = map(_masked, pair, marks, numbers)
        return (source, target), "masked"
    source, target = (
        strip_marks(*side).text for side in zip(pair, marks, strict=True)
    )
    return (source, target), "different" if few or not as_many else "too_many"


def mask_pairs(
    pairs: Iterable[Pair], placeholders: tuple[str, ...] = ()
) -> list[Pair]:
    """Replaces marks by symbols in several pairs; see `mask_pair`."""
    return [mask_pair(pair, placeholders)[0] for pair in pairs]


def _units(text: str, marks: Sequence[Mark]) -> list[_Unit]:
    units = []
    for index, mark in enumerate(marks):
        if mark.partner >= index:
            both = (mark, marks[mark.partner])[: 1 + (mark.partner > index)]
            texts = tuple(text[each.start : each.end] for each in both)
            units.append(_Unit(index, texts, mark_name(texts[0])))
    return units


def _numbers(source, target):
    """Numbers the units of both sides, by first mark; None if they differ."""
    numbers = {unit.first: number for number, unit in enumerate(source)}
    found: dict[int, int] = {}
    left = list(source)
    for same in (_are_equal, _have_one_name):
        for unit in target:
            if unit.first not in found:
                partner = next((u for u in left if same(u, unit)), None)
                if partner is not None:
                    left.remove(partner)
                    found[unit.first] = numbers[partner.first]
    return None if left else (numbers, found)


def _are_equal(unit, other):
    return unit.texts == other.texts


def _have_one_name(unit, other):
    alike = unit.name is not None and unit.name == other.name
    return alike and len(unit.texts) == len(other.texts)


def _masked(text, marks, numbers):
    """A text with symbols for its marks, which `numbers` has by unit."""
    parts, end = [], 0
    for index, mark in enumerate(marks):
        number = numbers[min(index, mark.partner)]
        parts += [text[end : mark.start], symbol_of(index, mark, number)]
        end = mark.end
    return "".join([*parts, text[end:]])


@dataclasses.dataclass(frozen=True)
class Masker:
    """Masks pairs, and injects symbols into a share of those without markup.

    Args:
        placeholders: see `mask_pair`.
        seed: chooses pairs and phrases.
        links: word links, from which phrases are drawn.
    """

    placeholders: tuple[str, ...]
    seed: int
    links: WordLinks

    def __call__(self, pair: Pair) -> tuple[Pair, Mapping[str, int]]:
        """Returns the pair with symbols, and its counts, see `COUNTS`."""
        pair, outcome = mask_pair(pair, self.placeholders)
        if outcome is None:
            generator = _generator(self.seed, pair)
            if generator.random() < _INJECTED:
                pair, outcome = self._injected(pair, generator)
        return pair, {} if outcome is None else {outcome: 1}

    def _injected(self, pair, generator):
        phrases = self.links.phrases(*pair)
        generator.shuffle(phrases)
        if generator.random() < _AROUND_ALL:
            phrases.insert(0, Phrase(0, len(pair[0]), 0, len(pair[1])))
        most = generator.randint(1, _MOST_PHRASES)
        chosen: list[Phrase] = []
        for phrase in phrases:
            fits = all(_nest(phrase, other) for other in chosen)
            if fits and len(chosen) < most:
                chosen.append(phrase)
        if not chosen:
            return pair, None
        chosen.sort(key=lambda p: (p.source_start, -p.source_end))
        alone = [
            not any(p is not other and _holds(p, other) for other in chosen)
            and p.source_end - p.source_start < len(pair[0])
            and generator.random() < _ALONE
            for p in chosen
        ]
        source = [(p.source_start, p.source_end) for p in chosen]
        target = [(p.target_start, p.target_end) for p in chosen]
        return (
            _with_symbols(pair[0], source, alone),
            _with_symbols(pair[1], target, alone),
        ), "injected"


def _holds(phrase, other):
    """True if a phrase contains another one, on both sides."""
    return (
        phrase.source_start <= other.source_start
        and other.source_end <= phrase.source_end
        and phrase.target_start <= other.target_start
        and other.target_end <= phrase.target_end
    )


def _nest(phrase, other):
    """True if one of two phrases contains the other, or they are disjoint."""
    return (
        phrase.is_apart(other) or _holds(phrase, other) or _holds(other, phrase)
    )


def _with_symbols(text, spans, alone):
    """A text with symbols around spans, or in place of them.

    Args:
        text: without symbols.
        spans: `(start, end)` of each, in the order of the source.
        alone: for each span, whether a single symbol replaces it.
    """
    events = []
    for number, (start, end) in enumerate(spans):
        # Sorted so that outer spans begin before inner ones and end after them.
        if alone[number]:
            events.append((start, 1, -end, number, SINGLE[number], end))
        else:
            events.append((start, 1, -end, number, OPENING[number], start))
            events.append((end, 0, -start, -number, CLOSING[number], end))
    parts, place = [], 0
    for position, *_, symbol, following in sorted(events):
        parts += [text[place:position], symbol]
        place = following
    return "".join([*parts, text[place:]])


class _Term(NamedTuple):
    """The places of a term in a pair, and its requested translation."""

    place: Phrase
    wanted: str


@dataclasses.dataclass(frozen=True)
class TermAnnotator:
    """Annotates terms in the sources of a share of pairs.

    Terms have symbols around them on both sides, as in translation
    (`documents.markup.mask_text`).

    Args:
        share: fraction of the pairs, 0 to 1.
        seed: chooses pairs and terms.
        links: word links, from which phrases are drawn.
        glossary: its terms are annotated in pairs that have the term and, in
            any form that `forms_of` finds, its translation.
    """

    share: float
    seed: int
    links: WordLinks
    glossary: Glossary | None = None

    def __call__(self, pair: Pair) -> tuple[Pair, Mapping[str, int]]:
        """Returns the pair, annotated or not, and counts, see `TERM_COUNTS`."""
        source, target = pair
        generator = _generator(self.seed, pair)
        if generator.random() >= self.share:
            return pair, {}
        terms = self._listed(source, target)
        listed = len(terms)
        phrases = self.links.phrases(source, target)
        generator.shuffle(phrases)
        most = generator.randint(1, _MOST_TERMS)
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
        """The glossary's terms that both sides have, without overlaps."""
        terms: list[_Term] = []
        found = self.glossary.find(source) if self.glossary else ()
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

    Symbols are numbered in the order of the source, as in translation. When the
    numbers run out, or if the symbols would cross those of markup, terms are
    annotated without symbols around them.

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
    """Replaces parts of a text, given in order as `(start, end, other)`."""
    pieces, place = [], 0
    for start, end, other in parts:
        pieces += [text[place:start], other]
        place = end
    return "".join([*pieces, text[place:]])


def symbol_writer(
    config: DataConfig, links: WordLinks, glossary: Glossary | None = None
) -> Rewrite:
    """Creates a function that masks markup and annotates terms in pairs.

    Args:
        config: of the data.
        links: word links, from which phrases are drawn.
        glossary: terms that are annotated in addition to phrases of the corpus.

    Returns:
        the function, whose counts are those of `COUNTS` and `TERM_COUNTS`.
    """
    seed = config.seed
    steps: list[Rewrite] = [Masker(config.placeholders, seed, links)]
    if config.term_share:
        steps.append(TermAnnotator(config.term_share, seed, links, glossary))
    tags = leading_tags(config.source_tags)
    return functools.partial(_in_turn, steps, tags)


def _generator(seed, pair):
    """A random generator seeded by the pair, wherever it is in a corpus."""
    return random.Random("\t".join((str(seed), *pair)))


def _in_turn(steps: Sequence[Rewrite], tags: tuple[str, ...], pair: Pair):
    """Applies several steps to a pair, one after the other; sums their counts.

    Args:
        steps: called without the tags before the source.
        tags: the regular expression for these tags, or empty.
        pair: source and target.
    """
    counts: collections.Counter = collections.Counter()
    source, target = pair
    found = re.match(tags[0], source) if tags else None
    head = found[0] if found else ""
    pair = source[len(head) :], target
    for step in steps:
        pair, done = step(pair)
        counts.update(done)
    return (head + pair[0], pair[1]), counts
