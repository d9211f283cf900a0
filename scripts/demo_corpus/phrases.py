"""Noun phrases for things: two red coats 两件红色的大衣, this map 这张地图."""

from collections.abc import Sequence

from scripts.demo_corpus import adjectives
from scripts.demo_corpus.draw import Draw
from scripts.demo_corpus.nouns import VEHICLES
from scripts.demo_corpus.numbers import counted
from scripts.demo_corpus.people import KIN, NAMES, Person
from scripts.demo_corpus.words import Adjective, Noun, Pair

# People deal in one of these at a time.
_LARGE = tuple(noun.singular for noun in VEHICLES)
_COLOURS = tuple(adjectives.COLOURS.values())


def with_adjective(noun: Noun, adjective: Adjective) -> Noun:
    """The noun with the adjective before it, still to be counted."""
    word = adjective.english
    return Noun(
        _described(word, noun.singular),
        _described(word, noun.plural),
        adjective.attributive + noun.chinese,
        noun.measure,
    )


def _described(word: str, english: str) -> str:
    """A red coat, a pair of red shoes."""
    pair, of, things = english.partition(" of ")
    return f"{pair} of {word} {things}" if of else f"{word} {english}"


def fitting(draw: Draw, noun: Noun) -> Adjective | None:
    """An adjective or colour that suits the noun; None if none is listed."""
    options = adjectives.FITTING.get(noun)
    if noun in adjectives.COLOURED and (not options or draw.chance(0.5)):
        return draw.one(_COLOURS)
    return draw.one(options) if options else None


def maybe_described(draw: Draw, noun: Noun, probability: float = 0.35) -> Noun:
    """The noun; an adjective joins it with this probability."""
    if not draw.chance(probability):
        return noun
    adjective = fitting(draw, noun)
    return noun if adjective is None else with_adjective(noun, adjective)


def some_number(draw: Draw, most: int = 6) -> int:
    """One in half of the calls, else two to `most`."""
    return 1 if draw.chance(0.5) else draw.between(2, most)


def counted_things(draw: Draw, things: Sequence[Noun], most: int = 6) -> Pair:
    """A book, three old chairs."""
    noun = maybe_described(draw, draw.one(things))
    # What is bought, given or wanted is seldom old or dirty.
    while noun.singular.startswith(("old ", "dirty ")):
        noun = maybe_described(draw, draw.one(things))
    if noun.singular.endswith(_LARGE):
        return counted(1, noun)
    return counted(some_number(draw, most), noun)


def pointed_at(draw: Draw, noun: Noun) -> tuple[str, str, bool]:
    """This, that, these or those; the last item says whether plural."""
    word, chinese, plural = draw.one(
        (
            ("this", "这", False),
            ("that", "那", False),
            ("these", "这些", True),
            ("those", "那些", True),
        )
    )
    if plural:
        # "These shoes", not "these pairs of shoes".
        things = noun.plural.rpartition(" of ")[2]
        return f"{word} {things}", chinese + noun.chinese, True
    english = f"{word} {noun.singular}"
    return english, chinese + noun.measure + noun.chinese, False


def belonging(draw: Draw, noun: Noun, owners: Sequence[Person] = ()) -> Pair:
    """My coat, Tom's computer, his mother's bag."""
    owner = draw.one(owners or (NAMES + KIN))
    return f"{owner.of} {noun.singular}", f"{owner.chinese}的{noun.chinese}"
