"""Sentences about habits, likes, and what goes on now."""

from scripts.demo_corpus import adjectives, nouns, times
from scripts.demo_corpus.actions import at_place
from scripts.demo_corpus.activities import (
    ACTIVITIES,
    FEELING_VERBS,
    LIKED,
    MEALS,
    ROUTINES,
)
from scripts.demo_corpus.draw import Draw
from scripts.demo_corpus.numbers import counted
from scripts.demo_corpus.people import (
    known_person,
    other_person,
    subject,
    subject_of,
)
from scripts.demo_corpus.phrases import with_adjective
from scripts.demo_corpus.words import (
    Pair,
    joined,
    question,
    statement,
)

_BUSY = ACTIVITIES + MEALS


def habit(draw: Draw) -> Pair:
    """She often reads books at home. / Tom swims every morning."""
    person = subject(draw)
    activity = draw.one(_BUSY)
    # Everybody has dinner; where is worth saying.
    share = 1 if activity in MEALS else 0.4
    where, chinese_where = at_place(draw, activity, share)
    action = activity.english(person.form())
    if draw.chance(0.5):
        often, chinese_often = draw.one(times.FREQUENCY)
        return statement(
            f"{person.english} {often} {action}{where}",
            f"{person.chinese}{chinese_often}{chinese_where}{activity.chinese}",
        )
    time, chinese_time = times.habitual_time(draw)
    if activity in MEALS:
        time, chinese_time = "every day", "每天"
    return statement(
        f"{person.english} {action}{where} {time}",
        f"{person.chinese}{chinese_time}{chinese_where}{activity.chinese}",
    )


_ROUTINE_HOURS = {
    "get up": ("in the morning", "早上", range(5, 9)),
    "go to bed": ("in the evening", "晚上", range(9, 12)),
    "go to work": ("in the morning", "早上", range(7, 10)),
    "go home": ("in the afternoon", "下午", range(4, 7)),
    "have breakfast": ("in the morning", "早上", range(6, 10)),
    "have lunch": ("", "中午", range(11, 13)),
    "have dinner": ("in the evening", "晚上", range(6, 9)),
}


def routine(draw: Draw) -> Pair:
    """He gets up at half past six every day."""
    person = subject(draw)
    activity = draw.one(ROUTINES)
    part, chinese_part, hours = _ROUTINE_HOURS[activity.english("base")]
    clock, chinese_clock = times.clock(draw, hours)
    if draw.chance(0.5):
        chinese = f"{person.chinese}每天{chinese_part}{chinese_clock}"
        part = part.replace("in the", "every") or "every day"
    else:
        chinese = f"{person.chinese}{chinese_part}{chinese_clock}"
    return statement(
        joined(
            person.english, activity.english(person.form()), "at", clock, part
        ),
        chinese + activity.chinese,
    )


def not_habit(draw: Draw) -> Pair:
    """He doesn't drink coffee. / Do you play football? / He never cooks."""
    style = draw.below(3)
    person = subject_of(draw, asked=style == 2)
    activity = draw.one(ACTIVITIES)
    action = activity.english("base")
    if style == 0:
        return statement(
            f"{person.english} never {activity.english(person.form())}",
            f"{person.chinese}从来不{activity.chinese}",
        )
    where, chinese_where = at_place(draw, activity, 0.5)
    if style == 1:
        return statement(
            f"{person.english} {person.do}n't {action}{where}",
            f"{person.chinese}不{chinese_where}{activity.chinese}",
        )
    often, chinese_often = draw.one((("", ""), ("often ", "经常")))
    return question(
        f"{person.do} {person.english} {often}{action}{where}",
        f"{person.chinese}{chinese_often}{chinese_where}{activity.chinese}吗",
    )


def progressive(draw: Draw) -> Pair:
    """She is reading books at the library. / Is he sleeping?"""
    asked = draw.chance(0.2)
    person = subject_of(draw, asked)
    activity = draw.one(_BUSY)
    where, chinese_where = at_place(draw, activity, 0.6)
    action = activity.english("gerund")
    doing = f"在{chinese_where[1:]}" if chinese_where else "在"
    if asked:
        return question(
            f"{person.be} {person.english} {action}{where}",
            f"{person.chinese}{doing}{activity.chinese}吗",
        )
    return statement(
        f"{person.english} {person.be} {action}{where}",
        f"{person.chinese}正{doing}{activity.chinese}",
    )


def liking(draw: Draw) -> Pair:
    """She likes cats. / Do you like swimming? / He loves his daughter."""
    style = draw.below(4)
    person = subject_of(draw, asked=style == 0)
    kind = draw.below(3)
    if kind == 0:
        other = other_person(draw, person)
        verb, chinese_verb = draw.one(FEELING_VERBS)
        english, chinese = other.object, other.chinese
    elif kind == 1:
        verb, chinese_verb = FEELING_VERBS[0]
        english, chinese = draw.one(LIKED)
    else:
        verb, chinese_verb = FEELING_VERBS[0]
        activity = draw.one(ACTIVITIES)
        english, chinese = activity.english("gerund"), activity.chinese
    if style == 0:
        return question(
            f"{person.do} {person.english} {verb.base} {english}",
            f"{person.chinese}{chinese_verb}{chinese}吗",
        )
    if style == 1:
        return statement(
            f"{person.english} {person.do}n't {verb.base} {english}",
            f"{person.chinese}不{chinese_verb}{chinese}",
        )
    return statement(
        f"{person.english} {person.present(verb)} {english}",
        f"{person.chinese}{chinese_verb}{chinese}",
    )


_WORN_LOOKS = (*adjectives.COLOURS.values(),) * 2 + tuple(
    adjectives.OF_THINGS[word] for word in ("new", "old", "beautiful")
)


def wearing(draw: Draw) -> Pair:
    """She is wearing a red skirt. 她穿着一条红色的裙子."""
    person = known_person(draw)
    while person.plural:
        person = known_person(draw)
    skirts = nouns.SKIRT if person.pronoun == "she" else ()
    noun = draw.one(nouns.CLOTHES + nouns.PAIRS + skirts)
    worn = "戴" if noun.chinese in ("帽子", "眼镜") else "穿"
    adjective = draw.one(_WORN_LOOKS)
    english, chinese = counted(1, with_adjective(noun, adjective))
    return statement(
        f"{person.english} {person.be} wearing {english}",
        f"{person.chinese}{worn}着{chinese}",
    )
