"""Sentences about what will be done (会) and is planned (要)."""

from scripts.demo_corpus import times
from scripts.demo_corpus.actions import at_place, trade
from scripts.demo_corpus.activities import (
    ACTIVITIES,
    INTENDED,
    PERSON_VERBS,
)
from scripts.demo_corpus.draw import Draw
from scripts.demo_corpus.people import (
    other_person,
    subject,
    subject_of,
)
from scripts.demo_corpus.words import Pair, question, statement


def future_activity(draw: Draw) -> Pair:
    """We will study at the library tomorrow. / He won't work tonight."""
    person = subject(draw)
    activity = draw.one(ACTIVITIES)
    where, chinese_where = at_place(draw, activity, 0.5)
    time, chinese_time = times.soon(draw)
    will, chinese_will = draw.one(
        (("will", "会"), ("will", "会"), ("won't", "不会"))
    )
    return statement(
        f"{person.english} {will} {activity.english('base')}{where} {time}",
        f"{person.chinese}{chinese_time}{chinese_will}{chinese_where}"
        f"{activity.chinese}",
    )


def future_person(draw: Draw) -> Pair:
    """I will call you tomorrow. / Will Tom help us?"""
    asked = draw.chance(0.2)
    person = subject_of(draw, asked)
    other = other_person(draw, person)
    verb, frame = draw.one(PERSON_VERBS)
    time, chinese_time = times.future_time(draw)
    action = frame.format(other.chinese).replace("*", "")
    chinese = f"{person.chinese}{chinese_time}会{action}"
    if asked:
        return question(
            f"will {person.english} {verb.base} {other.object} {time}",
            chinese + "吗",
        )
    return statement(
        f"{person.english} will {verb.base} {other.object} {time}", chinese
    )


def going_to(draw: Draw) -> Pair:
    """I am going to buy a car next month. / Are you going to work?"""
    asked = draw.chance(0.2)
    person = subject_of(draw, asked)
    time, chinese_time = times.soon(draw)
    if draw.chance(0.6):
        verb, chinese_verb, english, chinese = trade(draw, INTENDED)
        action, chinese_action = (
            f"{verb.base} {english}",
            chinese_verb + chinese,
        )
    else:
        activity = draw.one(ACTIVITIES)
        action, chinese_action = activity.english("base"), activity.chinese
    if asked:
        return question(
            f"{person.be} {person.english} going to {action} {time}",
            f"{person.chinese}{chinese_time}要{chinese_action}吗",
        )
    return statement(
        f"{person.english} {person.be} going to {action} {time}",
        f"{person.chinese}{chinese_time}要{chinese_action}",
    )
