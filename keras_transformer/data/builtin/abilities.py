"""Sentences with modal verbs, and about how well things are done."""

from keras_transformer.data.builtin.actions import at_place, trade
from keras_transformer.data.builtin.activities import (
    ACTIVITIES,
    INTENDED,
    PERSON_VERBS,
    ROUTINES,
    SKILLS,
    VERBS,
)
from keras_transformer.data.builtin.draw import Draw
from keras_transformer.data.builtin.people import (
    HE,
    SHE,
    THEY,
    WE,
    YOU,
    I,
    other_person,
    subject,
)
from keras_transformer.data.builtin.words import Pair, question, statement

_HELPFUL = PERSON_VERBS[:1] + PERSON_VERBS[2:4]


def skill(draw: Draw) -> Pair:
    """She can swim. / Can you speak French? / He can't drive."""
    person = subject(draw)
    activity = draw.one(SKILLS)
    action = activity.english("base")
    style = draw.below(3)
    if style == 0:
        return question(
            f"can {person.english} {action}",
            f"{person.chinese}会{activity.chinese}吗",
        )
    can, chinese_can = (("can", "会"), ("can't", "不会"))[style - 1]
    return statement(
        f"{person.english} {can} {action}",
        f"{person.chinese}{chinese_can}{activity.chinese}",
    )


_WELL = (
    ("well", "很好"),
    ("very well", "非常好"),
    ("badly", "很差"),
)


def manner(draw: Draw) -> Pair:
    """She sings very well. 她歌唱得非常好. / Tom runs fast."""
    person = subject(draw)
    if draw.chance(0.2):
        english, chinese, verb = draw.one(_MOVES)
        how, chinese_how = draw.one(_SPEEDS)
        return statement(
            f"{person.english} {person.present(VERBS[english])} {how}",
            f"{person.chinese}{chinese}{verb}得{chinese_how}",
        )
    activity = draw.one(SKILLS)
    how, chinese_how = draw.one(_WELL)
    chinese_done = (
        f"{activity.chinese_object}{activity.chinese_verb}得{chinese_how}"
    )
    if len(activity.chinese_object) == 1 and activity.chinese != "开车":
        chinese_done = activity.chinese_verb + chinese_done
    if draw.chance(0.3):
        return statement(
            f"{person.english} {person.do}n't {activity.english('base')} well",
            f"{person.chinese}" + chinese_done.replace(chinese_how, "不好"),
        )
    return statement(
        f"{person.english} {activity.english(person.form())} {how}",
        f"{person.chinese}{chinese_done}",
    )


_MOVES = (
    ("run", "", "跑"),
    ("swim", "", "游"),
    ("eat", "", "吃"),
    ("drive", "车", "开"),
)
_SPEEDS = (
    ("fast", "很快"), ("very fast", "非常快"),
    ("slowly", "很慢"), ("very slowly", "非常慢"),
)  # fmt: skip


def wish(draw: Draw) -> Pair:
    """I want to buy a new coat. / He doesn't want to study."""
    person = subject(draw)
    want = "wants" if person.agreement == "he" else "want"
    if draw.chance(0.5):
        verb, chinese_verb, english, chinese = trade(draw, INTENDED, 3)
        return statement(
            f"{person.english} {want} to {verb.base} {english}",
            f"{person.chinese}想{chinese_verb}{chinese}",
        )
    activity = draw.one(ACTIVITIES)
    where, chinese_where = at_place(draw, activity, 0.6)
    action, chinese = activity.english("base"), activity.chinese
    style = draw.below(3)
    if style == 0:
        return question(
            f"{person.do} {person.english} want to {action}{where}",
            f"{person.chinese}想{chinese_where}{chinese}吗",
        )
    if style == 1:
        return statement(
            f"{person.english} {person.do}n't want to {action}{where}",
            f"{person.chinese}不想{chinese_where}{chinese}",
        )
    return statement(
        f"{person.english} {want} to {action}{where}",
        f"{person.chinese}想{chinese_where}{chinese}",
    )


_DUTIES = tuple(
    activity
    for activity in ACTIVITIES
    if activity.chinese
    in ("工作", "学习", "学英语", "学中文", "做作业", "洗衣服", "做饭", "锻炼", "休息")
) + ROUTINES  # fmt: skip


def duty(draw: Draw) -> Pair:
    """He must study English. / You should rest. / Must she work today?"""
    person = subject(draw)
    activity = draw.one(_DUTIES)
    time, chinese_time = draw.one(
        (("today", "今天"), ("tonight", "今天晚上"), ("tomorrow", "明天"),
         ("now", "现在"), ("every day", "每天"), ("", ""))
    )  # fmt: skip
    time = f" {time}" if time else ""
    has = person.have
    modal, chinese_modal = draw.one(
        (
            ("must", "必须"),
            ("should", "应该"),
            (f"{has} to", "得"),
            (f"{person.do}n't have to", "不用"),
            ("shouldn't", "不应该"),
        )
    )
    return statement(
        f"{person.english} {modal} {activity.english('base')}{time}",
        f"{person.chinese}{chinese_time}{chinese_modal}{activity.chinese}",
    )


def permission(draw: Draw) -> Pair:
    """May I use your phone? / May we sit here? / You can't smoke here."""
    person = draw.one((I, WE))
    if draw.chance(0.5):
        verb, chinese_verb, english, chinese = trade(draw, INTENDED[2:6], 2)
        return question(
            f"may {person.english} {verb.base} {english}",
            f"{person.chinese}可以{chinese_verb}{chinese}吗",
        )
    activity = draw.one(ACTIVITIES)
    person = draw.one((I, WE, YOU, HE, SHE, THEY))
    action, chinese = activity.english("base"), activity.chinese
    if draw.chance(0.5) and person in (I, WE):
        return question(
            f"may {person.english} {action} here",
            f"{person.chinese}可以在这里{chinese}吗",
        )
    return statement(
        f"{person.english} can't {action} here",
        f"{person.chinese}不能在这里{chinese}",
    )


def favour(draw: Draw) -> Pair:
    """Can you help me? / She can't call you today."""
    person = subject(draw)
    other = other_person(draw, person)
    verb, frame = draw.one(_HELPFUL)
    time, chinese_time = draw.one(
        (("today", "今天"), ("tonight", "今天晚上"), ("tomorrow", "明天"))
    )
    action = f"{verb.base} {other.object} {time}"
    chinese = frame.format(other.chinese).replace("*", "")
    style = draw.below(3)
    if style == 0:
        return question(
            f"can {person.english} {action}",
            f"{person.chinese}{chinese_time}能{chinese}吗",
        )
    can, chinese_can = (("can", "能"), ("can't", "不能"))[style - 1]
    return statement(
        f"{person.english} {can} {action}",
        f"{person.chinese}{chinese_time}{chinese_can}{chinese}",
    )
