"""Requests, advice and suggestions: 请…, 别…, 我们…吧."""

from scripts.demo_corpus import nouns, places, times
from scripts.demo_corpus.actions import at_place
from scripts.demo_corpus.activities import (
    ACTIVITIES,
    PERSON_VERBS,
    VERBS,
)
from scripts.demo_corpus.draw import Draw
from scripts.demo_corpus.numbers import counted
from scripts.demo_corpus.people import (
    WE,
    YOU,
    I,
    known_person,
    other_person,
    subject,
)
from scripts.demo_corpus.words import Pair, question, statement


def please(draw: Draw) -> Pair:
    """Please give me a cup of tea. / Please wait for Tom."""
    style = draw.below(3)
    if style == 0:
        receiver = draw.one((I, WE))
        if draw.chance(0.4):
            receiver = other_person(draw, YOU)
        noun = draw.one(nouns.DRINKS + nouns.BELONGINGS[:7] + nouns.FOODS)
        english, chinese = counted(draw.one((1, 1, 2, 3)), noun)
        return statement(
            f"please give {receiver.object} {english}",
            f"请给{receiver.chinese}{chinese}",
        )
    if style == 1:
        other = other_person(draw, YOU)
        verb, frame = draw.one(PERSON_VERBS[:3])
        time, chinese_time = times.soon(draw)
        action = frame.format(other.chinese).replace("*", "")
        return statement(
            f"please {verb.base} {other.object} {time}",
            f"请{chinese_time}{action}",
        )
    place = draw.one(places.GOALS)
    other = other_person(draw, YOU)
    return statement(
        f"please wait for {other.object} {place.located}",
        f"请在{place.chinese}等{other.chinese}",
    )


# Verb, the words after it, Chinese with * where 了 goes when it is over.
_CHORES = (
    ("open", "the door", "打开*门"),
    ("open", "the window", "打开*窗户"),
    ("close", "the door", "关上*门"),
    ("close", "the window", "关上*窗户"),
    ("turn", "on the light", "打开*灯"),
    ("turn", "off the light", "关上*灯"),
    ("turn", "on the television", "打开*电视"),
    ("turn", "off the television", "关上*电视"),
    ("turn", "on the computer", "打开*电脑"),
    ("turn", "off the computer", "关上*电脑"),
    ("clean", "the room", "打扫*房间"),
    ("clean", "the kitchen", "打扫*厨房"),
    ("clean", "the classroom", "打扫*教室"),
    ("wash", "the dishes", "洗*碗"),
)


def chore(draw: Draw) -> Pair:
    """Please open the window. / Tom closed the door. / Could you …?"""
    base, tail, frame = draw.one(_CHORES)
    verb, action, chinese = (
        VERBS[base],
        f"{base} {tail}",
        frame.replace("*", ""),
    )
    style = draw.below(6)
    if style == 0:
        word, start = draw.one((("please", "请"), ("don't", "别")))
        return statement(f"{word} {action}", f"{start}{chinese}")
    if style == 1:
        return question(f"could you {action}", f"你能{chinese}吗")
    person = subject(draw)
    if style == 2:
        return statement(
            f"{person.english} {person.present(VERBS['want'])} to {action}",
            f"{person.chinese}想{chinese}",
        )
    time, chinese_time = times.recent_time(draw)
    if tail.startswith("o") or base in ("open", "close"):
        time, chinese_time = "", ""
    time = time and f" {time}"
    if style == 3:
        return statement(
            f"{person.english} didn't {action}{time}",
            f"{person.chinese}{chinese_time}没{chinese}",
        )
    return statement(
        f"{person.english} {verb.past} {tail}{time}",
        f"{person.chinese}{chinese_time}{frame.replace('*', '了')}",
    )


def dont(draw: Draw) -> Pair:
    """Don't play football in the garden. 别在花园踢足球."""
    activity = draw.one(ACTIVITIES)
    where, chinese_where = at_place(draw, activity, 0.7)
    if draw.chance(0.3):
        where, chinese_where = " here", "在这里"
    return statement(
        f"don't {activity.english('base')}{where}",
        f"别{chinese_where}{activity.chinese}",
    )


def lets(draw: Draw) -> Pair:
    """Let's go to the park tomorrow. 我们明天去公园吧."""
    time, chinese_time = times.soon(draw)
    if draw.chance(0.4):
        place = draw.one(places.GOALS)
        return statement(
            f"let's go {place.destination} {time}",
            f"我们{chinese_time}去{place.chinese}吧",
        )
    activity = draw.one(ACTIVITIES)
    where, chinese_where = at_place(draw, activity, 0.6)
    return statement(
        f"let's {activity.english('base')}{where} {time}",
        f"我们{chinese_time}{chinese_where}{activity.chinese}吧",
    )


_LENT = nouns.BOOKS + nouns.BELONGINGS[:5] + nouns.VEHICLES[:2] + nouns.DEVICES


def could_you(draw: Draw) -> Pair:
    """Could you lend me your pen? / Could you help us tomorrow?"""
    if draw.chance(0.5):
        receiver = draw.one((I, WE))
        noun = draw.one(_LENT)
        return question(
            f"could you lend {receiver.object} your {noun.singular}",
            f"你能把你的{noun.chinese}借给{receiver.chinese}吗",
        )
    other = other_person(draw, YOU, known_person)
    verb, frame = draw.one(PERSON_VERBS[:3])
    time, chinese_time = times.soon(draw)
    action = frame.format(other.chinese).replace("*", "")
    return question(
        f"could you {verb.base} {other.object} {time}",
        f"你{chinese_time}能{action}吗",
    )
