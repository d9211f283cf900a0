"""Questions with who, what, where, when and why."""

from scripts.demo_corpus import nouns, places, times
from scripts.demo_corpus.actions import at_place
from scripts.demo_corpus.activities import (
    ACTIVITIES,
    MEALS,
    PERSON_VERBS,
    ROUTINES,
    TRADES,
    VERBS,
)
from scripts.demo_corpus.draw import Draw
from scripts.demo_corpus.people import (
    NAMES,
    PRONOUNS,
    asked_about,
    known_person,
)
from scripts.demo_corpus.phrases import belonging
from scripts.demo_corpus.words import Pair, question

_BUSY = ACTIVITIES + MEALS


def who(draw: Draw) -> Pair:
    """Who is cooking in the kitchen? / Who wants to drink tea?"""
    activity = draw.one(_BUSY)
    where, chinese_where = at_place(draw, activity, 0.6)
    style = draw.below(5)
    if style == 0:
        doing = f"在{chinese_where[1:]}" if chinese_where else "在"
        return question(
            f"who is {activity.english('gerund')}{where}",
            f"谁{doing}{activity.chinese}",
        )
    if style == 1:
        return question(
            f"who wants to {activity.english('base')}{where}",
            f"谁想{chinese_where}{activity.chinese}",
        )
    if style == 2:
        place = draw.one(places.GOALS + places.FAR_GOALS)
        time, chinese_time = times.soon(draw)
        return question(
            f"who will go {place.destination} {time}",
            f"谁{chinese_time}会去{place.chinese}",
        )
    if style == 3:
        person = known_person(draw)
        verb, frame = draw.one(PERSON_VERBS)
        time, chinese_time = times.recent_time(draw)
        return question(
            f"who {verb.past} {person.object} {time}",
            f"谁{chinese_time}{frame.format(person.chinese)}".replace(
                "*", "了"
            ),
        )
    person = asked_about(draw)
    time, chinese_time = times.recent_time(draw)
    return question(
        f"who did {person.english} meet {time}",
        f"{person.chinese}{chinese_time}见了谁",
    )


def what(draw: Draw) -> Pair:
    """What did she buy yesterday? / What are you reading?"""
    person = asked_about(draw)
    verb, chinese_verb = draw.one(_WHAT)
    style = draw.below(4)
    if style == 0 and verb.base not in ("buy", "do"):
        return question(
            f"what {person.be} {person.english} {verb.gerund}",
            f"{person.chinese}在{chinese_verb}什么",
        )
    if style == 1:
        time, chinese_time = times.soon(draw)
        return question(
            f"what will {person.english} {verb.base} {time}",
            f"{person.chinese}{chinese_time}会{chinese_verb}什么",
        )
    if style == 2:
        time, chinese_time = draw.one((("", ""), ("tonight", "今天晚上")))
        return question(
            f"what {person.do} {person.english} want to {verb.base}"
            + (f" {time}" if time else ""),
            f"{person.chinese}{chinese_time}想{chinese_verb}什么",
        )
    time, chinese_time = times.recent_time(draw)
    return question(
        f"what did {person.english} {verb.base} {time}",
        f"{person.chinese}{chinese_time}{chinese_verb}了什么",
    )


_WHAT = tuple(
    (verb, chinese)
    for verb, chinese, _ in TRADES
    if chinese in ("买", "看", "写", "吃", "喝", "画", "做")
    and verb.base not in ("watch", "make")
) + ((VERBS["do"], "做"),)


def where(draw: Draw) -> Pair:
    """Where does your sister live? / Where is my key?"""
    style = draw.below(4)
    if style == 0:
        owners = (PRONOUNS[0], *PRONOUNS[2:4], *NAMES)
        english, chinese = belonging(draw, draw.one(nouns.BELONGINGS), owners)
        return question(f"where is {english}", f"{chinese}在哪里")
    if style == 1:
        activity = draw.one(_PLACED)
        person = asked_about(draw)
        return question(
            f"where {person.do} {person.english} usually "
            f"{activity.english('base')}",
            f"{person.chinese}通常在哪里{activity.chinese}",
        )
    person = asked_about(draw)
    if style == 2:
        activity = draw.one(_PLACED)
        return question(
            f"where {person.be} {person.english} {activity.english('gerund')}",
            f"{person.chinese}在哪里{activity.chinese}",
        )
    time, chinese_time = times.recent_time(draw)
    return question(
        f"where did {person.english} go {time}",
        f"{person.chinese}{chinese_time}去了哪里",
    )


_PLACED = tuple(a for a in _BUSY if len(a.places) > 1)


def when(draw: Draw) -> Pair:
    """When will you go to Beijing? / What time does he get up?"""
    person = asked_about(draw)
    style = draw.below(4)
    if style == 0:
        activity = draw.one(ROUTINES)
        return question(
            f"what time {person.do} {person.english} "
            f"{activity.english('base')}",
            f"{person.chinese}几点{activity.chinese}",
        )
    if style == 1:
        place = draw.one(places.FAR_GOALS)
        return question(
            f"when did {person.english} go {place.destination}",
            f"{person.chinese}是什么时候去{place.chinese}的",
        )
    if style == 2:
        place = draw.one(places.FAR_GOALS + places.GOALS)
        return question(
            f"when will {person.english} go {place.destination}",
            f"{person.chinese}什么时候去{place.chinese}",
        )
    place = draw.one(places.FAR_GOALS)
    return question(
        f"when will {person.english} come back {place.origin}",
        f"{person.chinese}什么时候从{place.chinese}回来",
    )


def why(draw: Draw) -> Pair:
    """Why didn't Tom go to school yesterday? / Why do you study Chinese?"""
    person = asked_about(draw)
    style = draw.below(4)
    if style == 0:
        place = draw.one(places.GOALS)
        time, chinese_time = times.recent_time(draw)
        return question(
            f"why didn't {person.english} go {place.destination} {time}",
            f"{person.chinese}{chinese_time}为什么没去{place.chinese}",
        )
    if style == 1:
        feeling, chinese = draw.one(
            (("angry", "生气"), ("sad", "难过"), ("happy", "高兴"),
             ("tired", "累"), ("busy", "忙"), ("nervous", "紧张"),
             ("worried", "担心"), ("excited", "兴奋"))
        )  # fmt: skip
        return question(
            f"why {person.be} {person.english} so {feeling}",
            f"{person.chinese}为什么这么{chinese}",
        )
    activity = draw.one(_BUSY)
    if style == 2:
        return question(
            f"why {person.do}n't {person.english} want to "
            f"{activity.english('base')}",
            f"{person.chinese}为什么不想{activity.chinese}",
        )
    doing = activity.english("gerund")
    return question(
        f"why {person.do}n't {person.english} like {doing}",
        f"{person.chinese}为什么不喜欢{activity.chinese}",
    )
