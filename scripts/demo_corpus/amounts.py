"""Questions with how, how many, which; and whether something happened."""

from scripts.demo_corpus import nouns, places, times
from scripts.demo_corpus.activities import (
    ACTIVITIES,
    INTENDED,
    MEALS,
    TRADES,
)
from scripts.demo_corpus.draw import Draw
from scripts.demo_corpus.people import asked_about
from scripts.demo_corpus.words import (
    Pair,
    question,
    statement,
    with_article,
)

_BUSY = ACTIVITIES + MEALS


def how(draw: Draw) -> Pair:
    """How do you go to work? / How did she go to Paris?"""
    person = asked_about(draw)
    style = draw.below(3)
    if style == 0:
        place = draw.one(places.GOALS)
        return question(
            f"how {person.do} {person.english} usually go {place.destination}",
            f"{person.chinese}通常怎么去{place.chinese}",
        )
    if style == 1:
        place = draw.one(places.FAR_GOALS + places.GOALS)
        return question(
            f"how did {person.english} go {place.destination}",
            f"{person.chinese}是怎么去{place.chinese}的",
        )
    place = draw.one(places.FAR_GOALS + places.GOALS)
    return question(
        f"how can {person.english} get {place.destination}",
        f"{person.chinese}怎么去{place.chinese}",
    )


def how_many(draw: Draw) -> Pair:
    """How many children do you have? 几 / How many people are there? 多少"""
    style = draw.below(3)
    if style == 0:
        person = asked_about(draw)
        noun = draw.one(nouns.OWNED + nouns.FAMILY)
        return question(
            f"how many {noun.plural} {person.do} {person.english} have",
            f"{person.chinese}有几{noun.measure}{noun.chinese}",
        )
    if style == 1:
        noun = draw.one(nouns.PEOPLE)
        place = draw.one(places.WORKPLACES[:4] + (places.INSIDE["park"],))
        return question(
            f"how many {noun.plural} are there {place.located}",
            f"{place.chinese}里有多少{noun.measure}{noun.chinese}",
        )
    person = asked_about(draw)
    verb, chinese_verb, things = draw.one(TRADES)
    noun = draw.one(things)
    time, chinese_time = times.recent_time(draw)
    return question(
        f"how many {noun.plural} did {person.english} {verb.base} {time}",
        f"{person.chinese}{chinese_time}{chinese_verb}了几"
        f"{noun.measure}{noun.chinese}",
    )


def which(draw: Draw) -> Pair:
    """Which coat do you like? / Do you want tea or coffee?"""
    person = asked_about(draw)
    style = draw.below(3)
    if style == 0:
        noun = draw.one(nouns.GOODS)
        return question(
            f"which {noun.singular} {person.do} {person.english} like",
            f"{person.chinese}喜欢哪{noun.measure}{noun.chinese}",
        )
    if style == 1:
        verb, chinese_verb, things = draw.one(TRADES[:3])
        noun = draw.one(things)
        return question(
            f"which {noun.singular} {person.do} {person.english} want to "
            f"{verb.base}",
            f"{person.chinese}想{chinese_verb}哪{noun.measure}{noun.chinese}",
        )
    first, second = draw.two(_BUSY)
    return question(
        f"{person.do} {person.english} want to {first.english('base')} or "
        f"{second.english('base')}",
        f"{person.chinese}想{first.chinese}还是{second.chinese}",
    )


def did_trade(draw: Draw) -> Pair:
    """Did you buy a car yesterday? / Tom didn't eat an egg."""
    person = asked_about(draw)
    verb, chinese_verb, things = draw.one(INTENDED)
    noun = draw.one(things)
    time, chinese_time = times.recent_time(draw)
    # A question or a negation needs no number in Chinese: 买车了吗.
    english = f"{verb.base} {with_article(noun.singular)} {time}"
    if draw.chance(0.6):
        return question(
            f"did {person.english} {english}",
            f"{person.chinese}{chinese_time}{chinese_verb}{noun.chinese}了吗",
        )
    return statement(
        f"{person.english} didn't {english}",
        f"{person.chinese}{chinese_time}没{chinese_verb}{noun.chinese}",
    )
