"""Sentences about things: what they are like, whose, where, how much."""

from scripts.demo_corpus import adjectives, nouns, places
from scripts.demo_corpus.adjectives import graded
from scripts.demo_corpus.draw import Draw
from scripts.demo_corpus.numbers import (
    chinese_number,
    counted,
    english_number,
)
from scripts.demo_corpus.people import (
    KIN,
    NAMES,
    PRONOUNS,
    asked_about,
    known_person,
    subject,
    subject_of,
)
from scripts.demo_corpus.phrases import (
    belonging,
    counted_things,
    fitting,
    maybe_described,
    pointed_at,
    some_number,
)
from scripts.demo_corpus.words import Pair, question, statement

_THING_FAULTS = (
    "expensive", "big", "small", "old", "boring", "difficult", "heavy",
    "dirty", "long", "thick",
)  # fmt: skip


_NOT_OWNED = nouns.PAIRS + nouns.SKIRT + nouns.FARM_ANIMALS


def quality(draw: Draw) -> Pair:
    """This book is very interesting. / Are those shoes expensive?"""
    noun = draw.one(adjectives.DESCRIBED)
    if draw.chance(0.4) and noun not in _NOT_OWNED:
        english, chinese = belonging(draw, noun)
        plural = False
    else:
        english, chinese, plural = pointed_at(draw, noun)
    be = "are" if plural else "is"
    adjective = fitting(draw, noun)
    word = adjective.english
    if word in adjectives.COLOURS:
        return statement(
            f"{english} {be} {word}", f"{chinese}是{adjective.chinese}的"
        )
    style = draw.below(6)
    if style == 0:
        return question(
            f"{be} {english} {word}", f"{chinese}{adjective.chinese}吗"
        )
    degrees = ["", "very ", "not "]
    if word in _THING_FAULTS:
        degrees += ["too "]
    degree = draw.one(degrees)
    return statement(
        f"{english} {be} {degree}{word}",
        chinese + graded(degree, adjective),
    )


def possession(draw: Draw) -> Pair:
    """She has two cats. / He doesn't have a car. / Do you have a pen?"""
    style = draw.below(5)
    person = asked_about(draw) if style == 0 else known_person(draw)
    noun = draw.one(nouns.OWNED + nouns.FAMILY)
    while person in KIN and noun in nouns.FAMILY:
        noun = draw.one(nouns.OWNED)
    english, chinese = counted(1, noun)
    if style == 0:
        return question(
            f"{person.do} {person.english} have {english}",
            f"{person.chinese}有{noun.chinese}吗",
        )
    if style == 1:
        return statement(
            f"{person.english} {person.do}n't have {english}",
            f"{person.chinese}没有{noun.chinese}",
        )
    if noun not in nouns.FAMILY:
        noun = maybe_described(draw, noun)
    most = 4 if noun in nouns.FAMILY + nouns.VEHICLES else 6
    english, chinese = counted(some_number(draw, most), noun)
    return statement(
        f"{person.english} {person.have} {english}",
        f"{person.chinese}有{chinese}",
    )


_MINE = (
    ("mine", "我"),
    ("yours", "你"),
    ("his", "他"),
    ("hers", "她"),
    ("ours", "我们"),
    ("theirs", "他们"),
)


def belongs(draw: Draw) -> Pair:
    """This coat is mine. / That is Tom's bicycle. / Whose pen is this?"""
    noun = draw.one(
        nouns.BOOKS + nouns.CLOTHES + nouns.VEHICLES + nouns.BELONGINGS
    )
    style = draw.below(4)
    word, chinese_word = draw.one((("this", "这"), ("that", "那")))
    if style == 0:
        return question(
            f"whose {noun.singular} is {word}",
            f"{chinese_word}是谁的{noun.chinese}",
        )
    if style == 1:
        english, chinese = belonging(draw, noun)
        return statement(f"{word} is {english}", f"{chinese_word}是{chinese}")
    english, chinese, plural = pointed_at(draw, noun)
    mine, chinese_mine = draw.one(_MINE)
    if style == 2 and draw.chance(0.6):
        owner = draw.one(NAMES + KIN)
        mine, chinese_mine = owner.of, owner.chinese
    be = "are" if plural else "is"
    return statement(f"{english} {be} {mine}", f"{chinese}是{chinese_mine}的")


_SMALL = nouns.BELONGINGS + nouns.BOOKS + nouns.FRUIT + nouns.CLOTHES
_CROWDS = (
    (places.INSIDE["park"], nouns.PEOPLE[:6]),
    (places.INSIDE["classroom"], nouns.PEOPLE[:2] + nouns.PEOPLE[4:7]),
    (places.BUILDINGS["school"], nouns.PEOPLE[:1] + nouns.PEOPLE[6:7]),
    (places.BUILDINGS["hospital"], nouns.PEOPLE[7:]),
    (places.BUILDINGS["library"], nouns.PEOPLE[:6]),
)


def existence(draw: Draw) -> Pair:
    """There are three books on the table. / Is there a cat under it?"""
    spot, chinese_spot = draw.one(places.SPOTS)
    things = _SMALL + nouns.PETS[:2] if "der" in spot else _SMALL
    if draw.chance(0.15):
        noun = draw.one(things)
        english, _ = counted(1, noun)
        return question(
            f"is there {english} {spot}", f"{chinese_spot}有{noun.chinese}吗"
        )
    if draw.chance(0.3):
        place, people = draw.one(_CROWDS)
        noun = draw.one(people)
        number = draw.between(2, 40)
        english, chinese = counted(number, noun)
        return statement(
            f"there are {english} {place.located}",
            f"{place.chinese}里有{chinese}",
        )
    number = some_number(draw, 9)
    english, chinese = counted(number, maybe_described(draw, draw.one(things)))
    be = "is" if number == 1 else "are"
    return statement(
        f"there {be} {english} {spot}", f"{chinese_spot}有{chinese}"
    )


_LANDMARKS = tuple(
    place for place in places.GOALS if place.english.startswith("the ")
)


def location(draw: Draw) -> Pair:
    """My key is in the bag. / The bank is next to the hospital."""
    if draw.chance(0.4):
        first, second = draw.two(_LANDMARKS)
        side, chinese_side = draw.one(places.SIDES)
        return statement(
            f"{first.english} is {side} {second.english}",
            f"{first.chinese}在{second.chinese}{chinese_side}",
        )
    if draw.chance(0.4):
        person = subject(draw)
        place = draw.one(places.GOALS + (places.HOME, *places.FAR_GOALS))
        no, chinese_no = draw.one((("", ""), ("", ""), (" not", "不")))
        return statement(
            f"{person.english} {person.be}{no} {place.located}",
            f"{person.chinese}{chinese_no}在{place.chinese}",
        )
    noun = draw.one(_SMALL)
    owners = PRONOUNS[:4] + NAMES
    english, chinese = belonging(draw, noun, owners)
    spot, chinese_spot = draw.one(places.SPOTS)
    return statement(f"{english} is {spot}", f"{chinese}在{chinese_spot}")


_PRICED = tuple(
    (noun, unit)
    for things, units in (
        (nouns.BOOKS, (10,)),
        (nouns.CLOTHES + nouns.PAIRS, (10, 100)),
        (nouns.BELONGINGS[1:2] + nouns.BELONGINGS[4:6], (10,)),
        (nouns.BELONGINGS[7:9] + nouns.BELONGINGS[10:], (10, 100)),
        (nouns.DEVICES + nouns.FURNITURE + nouns.VEHICLES[1:2], (100,)),
    )
    for noun in things
    for unit in units
)


def price(draw: Draw) -> Pair:
    """This shirt costs fifty yuan. / How much is that camera?"""
    noun, tens = draw.one(_PRICED)
    english, chinese, plural = pointed_at(draw, noun)
    while plural:
        english, chinese, plural = pointed_at(draw, noun)
    if draw.chance(0.25):
        return question(f"how much is {english}", f"{chinese}多少钱")
    number = tens * draw.between(1, 9)
    number += draw.one((0, 0, 5)) if number < 100 else 0
    return statement(
        f"{english} costs {english_number(number)} yuan",
        f"{chinese}{chinese_number(number)}块钱",
    )


def placed_things(draw: Draw) -> Pair:
    """Where things are kept or stand: 墙上挂着一张地图."""
    spot, chinese_spot, verb, chinese_verb, things = draw.one(_KEPT)
    number = some_number(draw, 4)
    english, chinese = counted(number, maybe_described(draw, draw.one(things)))
    be = "is" if number == 1 else "are"
    return statement(
        f"there {be} {english} {verb} {spot}",
        f"{chinese_spot}{chinese_verb}着{chinese}",
    )


_KEPT = (
    ("on the wall", "墙上", "hanging", "挂", nouns.BELONGINGS[4:5]),
    ("on the wall", "墙上", "hanging", "挂", nouns.CLOTHES[-1:]),
    ("behind the door", "门后面", "hanging", "挂", nouns.CLOTHES),
    ("on the sofa", "沙发上", "lying", "躺", nouns.PETS[:2]),
    ("on the bed", "床上", "lying", "躺", nouns.PETS[:2]),
    ("in the park", "公园里", "standing", "站", nouns.PEOPLE[:6]),
    ("at the door", "门口", "standing", "站", nouns.PEOPLE),
    ("on the sofa", "沙发上", "sitting", "坐", nouns.PEOPLE),
    ("in the classroom", "教室里", "sitting", "坐", nouns.PEOPLE[:2]),
)  # fmt: skip


def want_thing(draw: Draw) -> Pair:
    """She needs a new computer. / Do you want a cup of tea?"""
    asked = draw.chance(0.25)
    person = subject_of(draw, asked)
    verb, chinese_verb, things = draw.one(
        (
            ("want", "想要", nouns.DRINKS + nouns.PETS),
            ("want", "想要", nouns.GOODS),
            ("need", "需要", nouns.GOODS),
        )
    )
    english, chinese = counted_things(draw, things, 3)
    if asked:
        return question(
            f"{person.do} {person.english} {verb} {english}",
            f"{person.chinese}{chinese_verb}{chinese}吗",
        )
    ending = "s" if person.agreement == "he" else ""
    return statement(
        f"{person.english} {verb}{ending} {english}",
        f"{person.chinese}{chinese_verb}{chinese}",
    )
