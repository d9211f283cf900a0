"""Sentences about the past: over, going on then, ever, so far."""

from scripts.demo_corpus import places, times
from scripts.demo_corpus.actions import at_place, trade
from scripts.demo_corpus.activities import (
    ACTIVITIES,
    MEALS,
    PERSON_VERBS,
    VERBS,
)
from scripts.demo_corpus.draw import Draw
from scripts.demo_corpus.numbers import (
    HOUR,
    MINUTE,
    MONTH,
    YEAR,
    counted,
)
from scripts.demo_corpus.people import (
    other_person,
    subject,
    subject_of,
)
from scripts.demo_corpus.words import (
    Activity,
    Pair,
    question,
    statement,
)


def was_doing(draw: Draw) -> Pair:
    """They were having dinner at seven o'clock yesterday evening."""
    person = subject(draw)
    activity = draw.one(ACTIVITIES)
    day, chinese_day, hours = draw.one(
        (
            ("yesterday morning", "昨天早上", range(8, 12)),
            ("yesterday afternoon", "昨天下午", range(1, 6)),
            ("last night", "昨天晚上", range(7, 11)),
        )
    )
    clock, chinese_clock = times.clock(draw, hours)
    return statement(
        f"{person.english} {person.was} {activity.english('gerund')} "
        f"at {clock} {day}",
        f"{person.chinese}{chinese_day}{chinese_clock}正在{activity.chinese}",
    )


def past_activity(draw: Draw) -> Pair:
    """Tom played basketball yesterday. / Did you swim last week?"""
    style = draw.below(4)
    person = subject_of(draw, asked=style == 0)
    activity = draw.one(ACTIVITIES)
    time, chinese_time = times.recent_time(draw)
    base = activity.english("base")
    where, chinese_where = at_place(draw, activity, 0.5)
    if style == 0:
        return question(
            f"did {person.english} {base} {time}",
            f"{person.chinese}{chinese_time}{activity.chinese}了吗",
        )
    if style == 1:
        return statement(
            f"{person.english} didn't {base}{where} {time}",
            f"{person.chinese}{chinese_time}没{chinese_where}{activity.chinese}",
        )
    return statement(
        f"{person.english} {activity.english('past')}{where} {time}",
        f"{person.chinese}{chinese_time}{chinese_where}{activity.chinese}了",
    )


def past_trade(draw: Draw) -> Pair:
    """She bought two red coats last week."""
    person = subject(draw)
    verb, chinese_verb, english, chinese = trade(draw)
    time, chinese_time = times.recent_time(draw)
    return statement(
        f"{person.english} {verb.past} {english} {time}",
        f"{person.chinese}{chinese_time}{chinese_verb}了{chinese}",
    )


def past_person(draw: Draw) -> Pair:
    """He visited his grandmother last month. / I didn't call Tom."""
    person = subject(draw)
    other = other_person(draw, person)
    verb, frame = draw.one(PERSON_VERBS)
    time, chinese_time = times.recent_time(draw)
    if draw.chance(0.35):
        action = frame.format(other.chinese).replace("*", "")
        return statement(
            f"{person.english} didn't {verb.base} {other.object} {time}",
            f"{person.chinese}{chinese_time}没{action}",
        )
    action = frame.format(other.chinese).replace("*", "了")
    return statement(
        f"{person.english} {verb.past} {other.object} {time}",
        f"{person.chinese}{chinese_time}{action}",
    )


_DONE = tuple(
    activity
    for activity in ACTIVITIES
    if activity.chinese in ("做饭", "洗衣服", "做作业", "看报纸")
)


def finished(draw: Draw) -> Pair:
    """He has already had breakfast. / I haven't done homework yet."""
    person = subject(draw)
    activity = draw.one(MEALS + _DONE)
    if draw.chance(0.5):
        return statement(
            f"{person.english} {person.have} already "
            f"{activity.english('participle')}",
            f"{person.chinese}已经{activity.chinese}了",
        )
    return statement(
        f"{person.english} {person.have}n't {activity.english('participle')} "
        "yet",
        f"{person.chinese}还没{activity.chinese}",
    )


def bought_already(draw: Draw) -> Pair:
    """She has already bought two tickets."""
    person = subject(draw)
    verb, chinese_verb, english, chinese = trade(draw)
    return statement(
        f"{person.english} {person.have} already {verb.participle} {english}",
        f"{person.chinese}已经{chinese_verb}了{chinese}",
    )


_RARE = tuple(
    Activity(VERBS[base], tail, chinese, object_, ())
    for base, tail, chinese, object_ in (
        ("ride", "a horse", "骑", "马"),
        ("eat", "Chinese food", "吃", "中国菜"),
        ("eat", "Japanese food", "吃", "日本菜"),
        ("drink", "Chinese tea", "喝", "中国茶"),
        ("watch", "a Chinese movie", "看", "中国电影"),
        ("watch", "a French movie", "看", "法国电影"),
        ("read", "a Chinese novel", "看", "中国小说"),
        ("study", "Chinese", "学", "中文"),
        ("study", "French", "学", "法语"),
        ("play", "the guitar", "弹", "吉他"),
        ("write", "a novel", "写", "小说"),
        ("drive", "a car", "开", "车"),
        ("see", "snow", "见", "雪"),
    )
)


def experience(draw: Draw) -> Pair:
    """I have been to Beijing. / He has never ridden a horse."""
    style = draw.below(3)
    person = subject_of(draw, asked=style == 0)
    if draw.chance(0.5):
        place = draw.one(places.FAR_GOALS)
        action, chinese = f"been {place.destination}", f"去过{place.chinese}"
    else:
        # "Twice" suits a ride or a dish, not what one learns.
        activity = draw.one(_RARE[:6] if style == 2 else _RARE)
        action = activity.english("participle")
        chinese = f"{activity.chinese_verb}过{activity.chinese_object}"
    if style == 0:
        return question(
            f"{person.have} {person.english} ever {action}",
            f"{person.chinese}{chinese}吗",
        )
    if style == 1:
        return statement(
            f"{person.english} {person.have} never {action}",
            f"{person.chinese}从来没{chinese}",
        )
    again, times_chinese = _times(draw)
    return statement(
        f"{person.english} {person.have} {action} {again}",
        f"{person.chinese}{chinese.replace('过', f'过{times_chinese}')}",
    )


def _times(draw: Draw) -> Pair:
    return draw.one(
        (("once", "一次"), ("twice", "两次"), ("three times", "三次"),
         ("many times", "很多次"))
    )  # fmt: skip


_LONG = tuple(a for a in ACTIVITIES if a.chinese != "拍照")


def lasting(draw: Draw) -> Pair:
    """He watched television for two hours last night."""
    person = subject(draw)
    activity = draw.one(_LONG)
    number, unit = draw.one(
        ((draw.between(1, 4), HOUR), (10 * draw.between(1, 5), MINUTE))
    )
    length, chinese_length = counted(number, unit)
    time, chinese_time = times.recent_time(draw)
    where, chinese_where = at_place(draw, activity, 0.3)
    return statement(
        f"{person.english} {activity.english('past')}{where} for {length} "
        f"{time}",
        f"{person.chinese}{chinese_time}{chinese_where}"
        f"{activity.chinese_verb}了{chinese_length}{activity.chinese_object}",
    )


def living_since(draw: Draw) -> Pair:
    """She has lived in Paris for ten years."""
    person = subject(draw)
    number, unit = draw.one(
        ((draw.between(1, 20), YEAR), (draw.between(1, 11), MONTH))
    )
    length, chinese_length = counted(number, unit)
    if draw.chance(0.5):
        place = draw.one(places.FAR_GOALS)
        return statement(
            f"{person.english} {person.have} lived {place.located} for "
            f"{length}",
            f"{person.chinese}在{place.chinese}住了{chinese_length}了",
        )
    tongue, chinese_tongue = draw.one(
        (("Chinese", "中文"), ("English", "英语"), ("French", "法语"),
         ("Japanese", "日语"))
    )  # fmt: skip
    return statement(
        f"{person.english} {person.have} studied {tongue} for {length}",
        f"{person.chinese}学了{chinese_length}{chinese_tongue}了",
    )
