"""Sentences with modal verbs, and about how well things are done."""

from scripts.demo_corpus import nouns
from scripts.demo_corpus.actions import at_place, trade
from scripts.demo_corpus.activities import (
    ACTIVITIES,
    GET_UP,
    GO_HOME,
    GO_TO_WORK,
    INTENDED,
    PERSON_VERBS,
    REST,
    SKILLS,
    VERBS,
)
from scripts.demo_corpus.draw import Draw
from scripts.demo_corpus.people import (
    HE,
    SHE,
    THEY,
    WE,
    YOU,
    I,
    known_person,
    other_person,
    owned,
    subject,
    subject_of,
)
from scripts.demo_corpus.phrases import pointed_at
from scripts.demo_corpus.words import Pair, question, statement

_HELPFUL = PERSON_VERBS[:3]


def skill(draw: Draw) -> Pair:
    """She can swim. / Can you speak French? / He can't drive."""
    style = draw.below(3)
    person = subject_of(draw, asked=style == 0)
    activity = draw.one(SKILLS)
    action = activity.english("base")
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
    """She sings very well. 她唱歌唱得非常好. / Tom runs fast."""
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
    style = draw.below(6)
    person = subject_of(draw, asked=style == 0)
    want = "wants" if person.agreement == "he" else "want"
    if style > 2:
        verb, chinese_verb, english, chinese = trade(draw, INTENDED)
        return statement(
            f"{person.english} {want} to {verb.base} {english}",
            f"{person.chinese}想{chinese_verb}{chinese}",
        )
    activity = draw.one(ACTIVITIES)
    where, chinese_where = at_place(draw, activity, 0.6)
    action, chinese = activity.english("base"), activity.chinese
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
    in ("工作", "学习", "学英语", "学中文", "做作业", "洗衣服", "做饭", "锻炼")
) + (REST, GET_UP, GO_TO_WORK, GO_HOME)
_FAULTY = tuple(
    activity
    for activity in ACTIVITIES
    if activity.chinese
    in ("看电视", "玩电脑游戏", "喝咖啡", "聊天", "唱歌", "跳舞", "踢足球")
)


def duty(draw: Draw) -> Pair:
    """He must study English. / She doesn't have to work today."""
    person = subject(draw)
    activity = draw.one(_DUTIES)
    time, chinese_time = draw.one(
        (("", ""), (" today", "今天"), (" now", "现在"), (" tomorrow", "明天"))
    )
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
    if modal == "shouldn't":
        activity = draw.one(_FAULTY)
    return statement(
        f"{person.english} {modal} {activity.english('base')}{time}",
        f"{person.chinese}{chinese_time}{chinese_modal}{activity.chinese}",
    )


_OFFERED = tuple(trade for trade in INTENDED if trade[1] in ("看", "吃", "喝"))


def permission(draw: Draw) -> Pair:
    """May I eat an apple? / May we sing here? / You can't cook here."""
    person = draw.one((I, WE))
    if draw.chance(0.5):
        verb, chinese_verb, english, chinese = trade(draw, _OFFERED)
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
    style = draw.below(3)
    person = subject_of(draw, asked=style == 0)
    other = other_person(draw, person)
    verb, frame = draw.one(_HELPFUL)
    time, chinese_time = draw.one(
        (("today", "今天"), ("tonight", "今天晚上"), ("tomorrow", "明天"))
    )
    action = f"{verb.base} {other.object} {time}"
    chinese = frame.format(other.chinese).replace("*", "")
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


_UNABLE = (
    ("find", "找不到", nouns.BELONGINGS, True),
    ("afford", "买不起", nouns.VEHICLES + nouns.DEVICES + nouns.CLOTHES, False),
    ("understand", "看不懂", nouns.READING + nouns.MOVIES, False),
)


def unable(draw: Draw) -> Pair:
    """I can't find my key. 我找不到我的钥匙. / He can't afford this car."""
    person = known_person(draw)
    verb, chinese_verb, things, own = draw.one(_UNABLE)
    noun = draw.one(things)
    if own:
        english, chinese = owned(person, noun.singular, noun.chinese)
    else:
        english, chinese, _ = pointed_at(draw, noun)
    return statement(
        f"{person.english} can't {verb} {english}",
        f"{person.chinese}{chinese_verb}{chinese}",
    )
