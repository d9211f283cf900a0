"""Sentences about what somebody is: profession, feeling, age."""

from scripts.demo_corpus import adjectives
from scripts.demo_corpus.adjectives import graded
from scripts.demo_corpus.draw import Draw
from scripts.demo_corpus.numbers import (
    chinese_number,
    english_number,
)
from scripts.demo_corpus.people import (
    KIN,
    NAMES,
    PROFESSIONS,
    PRONOUNS,
    as_profession,
    subject_of,
    third_person,
)
from scripts.demo_corpus.words import Pair, question, statement

_FEELINGS = tuple(adjectives.FEELINGS.values())
_TRAITS = tuple(adjectives.OF_PEOPLE.values())[:-1]
_GROWN = tuple(
    person
    for person in KIN
    if not person.english.endswith(("parents", "grandmother", "grandfather"))
)
# Grown up, so that they may have a profession.
_WORKING = PRONOUNS + NAMES + _GROWN
# Doubtful compliments and plain faults take "too" and "a little".
_FAULTS = ("tired", "busy", "hungry", "thirsty", "angry", "sad", "worried")


def identity(draw: Draw) -> Pair:
    """She is a doctor. / They aren't lawyers. / Is Tom a driver?"""
    style = draw.below(5)
    person = draw.one(_WORKING)
    while style == 0 and person.english.startswith(("I", "we", "my ")):
        person = draw.one(_WORKING)
    english, chinese = as_profession(person, draw.one(PROFESSIONS))
    if style == 0:
        return question(
            f"{person.be} {person.english} {english}",
            f"{person.chinese}是{chinese}吗",
        )
    if style == 1:
        return statement(
            f"{person.english} {person.be} not {english}",
            f"{person.chinese}不是{chinese}",
        )
    also, chinese_also = draw.one((("", ""), ("", ""), (" also", "也")))
    return statement(
        f"{person.english} {person.be}{also} {english}",
        f"{person.chinese}{chinese_also}是{chinese}",
    )


def feeling(draw: Draw) -> Pair:
    """I am very tired. / Are you hungry? / She isn't angry today."""
    asked = draw.chance(0.15)
    person = subject_of(draw, asked)
    adjective = draw.one(_FEELINGS if draw.chance(0.6) else _TRAITS)
    english, chinese = adjective.english, adjective.chinese
    if asked:
        return question(
            f"{person.be} {person.english} {english}",
            f"{person.chinese}{chinese}吗",
        )
    degrees = ["", "very ", "not "]
    if english in _FAULTS:
        degrees += ["too ", "a little "]
    degree = draw.one(degrees)
    time, chinese_time = "", ""
    if adjective in _FEELINGS and draw.chance(0.5):
        time, chinese_time = " today", "今天"
    return statement(
        f"{person.english} {person.be} {degree}{english}{time}",
        f"{person.chinese}{chinese_time}{graded(degree, adjective)}",
    )


def age(draw: Draw) -> Pair:
    """My grandfather is seventy years old. / How old is your son?"""
    person = third_person(draw)
    if draw.chance(0.1):
        return question(
            f"how old {person.be} {person.english}", f"{person.chinese}多大"
        )
    elder = person.english.endswith(("grandmother", "grandfather"))
    low, high = (60, 80) if elder else (20, 60)
    if person.english.endswith(("son", "daughter", "younger brother")):
        low, high = 3, 19
    number = draw.between(low, high)
    unit = "years old"
    return statement(
        f"{person.english} {person.be} {english_number(number)} {unit}",
        f"{person.chinese}{chinese_number(number)}岁",
    )
