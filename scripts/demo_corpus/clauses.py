"""Two clauses tied by a reason or condition: because, if, although, but."""

from scripts.demo_corpus import nouns, places
from scripts.demo_corpus.activities import (
    ACTIVITIES,
    MEALS,
    PERSON_VERBS,
    VERBS,
)
from scripts.demo_corpus.draw import Draw
from scripts.demo_corpus.people import (
    Person,
    known_person,
    other_person,
    subject,
)
from scripts.demo_corpus.words import Pair, statement

# Reasons: states that a person was in, or the weather.
_STATES = (
    ("tired", "很累"),
    ("busy", "很忙"),
    ("sick", "生病了"),
    ("hungry", "饿了"),
    ("sad", "很难过"),
)
_WEATHER_REASONS = (
    ("it was raining", "下雨"),
    ("it was snowing", "下雪"),
    ("it was too cold", "天气太冷"),
    ("it was too hot", "天气太热"),
)
_STAYED = (
    ("stayed at home", "待在家里"),
    ("didn't go out", "没出门"),
    ("came home early", "很早就回家了"),
)


def _outcome(draw: Draw, state: str) -> Pair:
    """What a person did for a reason: "didn't go to school" 没去学校.

    An empty state means that the reason was the weather.
    """
    if state == "hungry":
        noun = draw.one(nouns.FOODS)
        number, chinese_number = draw.one((("two", "两"), ("three", "三")))
        return (
            f"ate {number} {noun.plural}",
            f"吃了{chinese_number}{noun.measure}{noun.chinese}",
        )
    style = draw.below(3)
    if style == 0:
        # Who is busy doesn't come home early.
        return draw.one(_STAYED[:1] if state == "busy" else _STAYED)
    if style == 1:
        place = draw.one(places.GOALS)
        return f"didn't go {place.destination}", f"没去{place.chinese}"
    activity = draw.one(ACTIVITIES if state else _OUT)
    return f"didn't {activity.english('base')}", f"没{activity.chinese}"


def because(draw: Draw) -> Pair:
    """Tom didn't go to school because he was sick."""
    person = known_person(draw)
    reason_first = draw.chance(0.5)
    # The name comes first and the pronoun after it: always so in Chinese,
    # where the reason comes first; in English as the clauses stand.
    named, again = person.english, person.pronoun
    of_reason, of_outcome = (named, again) if reason_first else (again, named)
    if draw.chance(0.6):
        state, chinese_state = draw.one(_STATES)
        outcome, chinese_outcome = _outcome(draw, state)
        reason = f"{of_reason} {person.was} {state}"
        chinese = (
            f"因为{person.chinese}{chinese_state}，"
            f"所以{person.chinese_pronoun}{chinese_outcome}"
        )
    else:
        reason, chinese_reason = draw.one(_WEATHER_REASONS)
        outcome, chinese_outcome = _outcome(draw, "")
        of_outcome = named
        chinese = f"因为{chinese_reason}，所以{person.chinese}{chinese_outcome}"
    if reason_first:
        return statement(f"because {reason}, {of_outcome} {outcome}", chinese)
    return statement(f"{of_outcome} {outcome} because {reason}", chinese)


_CONDITIONS = (
    ("it rains tomorrow", "明天下雨", False),
    ("it snows tomorrow", "明天下雪", False),
    ("it is cold tomorrow", "明天很冷", False),
    ("the weather is good tomorrow", "明天天气好", True),
    ("it is warm tomorrow", "明天很暖和", True),
)


def _plan(draw: Draw, outdoors: bool) -> Pair:
    """What to do: "go to the park" 去公园, "stay at home" 待在家里."""
    if outdoors:
        place = draw.one(
            (places.INSIDE["park"], places.BUILDINGS["zoo"],
             places.BUILDINGS["market"])
        )  # fmt: skip
        return f"go {place.destination}", f"去{place.chinese}"
    if draw.chance(0.4):
        return "stay at home", "待在家里"
    activity = draw.one(_AT_HOME)
    return f"{activity.english('base')} at home", f"在家{activity.chinese}"


_AT_HOME = tuple(a for a in ACTIVITIES + MEALS if "home" in a.places)
_OUT = tuple(a for a in ACTIVITIES if "park" in a.places)


def if_weather(draw: Draw) -> Pair:
    """If it rains tomorrow, we will stay at home."""
    person = subject(draw)
    condition, chinese_condition, outdoors = draw.one(_CONDITIONS)
    plan, chinese_plan = _plan(draw, outdoors)
    will, chinese_will = "will", "就"
    if draw.chance(0.25):
        will, chinese_will = "won't", "就不"
        plan, chinese_plan = _plan(draw, not outdoors)
    chinese = (
        f"如果{chinese_condition}，{person.chinese}{chinese_will}{chinese_plan}"
    )
    if draw.chance(0.5):
        return statement(
            f"if {condition}, {person.english} {will} {plan}", chinese
        )
    return statement(f"{person.english} {will} {plan} if {condition}", chinese)


def if_person(draw: Draw) -> Pair:
    """If you need help, I will help you. / If Tom is busy, I won't call."""
    person = known_person(draw)
    other = other_person(draw, person)
    help_, call, visit = PERSON_VERBS[:3]
    target, chinese_target = _back_to(person)
    condition, chinese_condition, will, chinese_will, verbs = draw.one(
        (
            (f"{person.be} at home", "在家", "will", "会", (call, visit)),
            (f"{person.be} busy", "很忙", "won't", "不会", (call, visit)),
            (f"{person.present(VERBS['need'])} help", "需要帮助", "will", "会",
             (help_,)),
        )
    )  # fmt: skip
    verb, frame = draw.one(verbs)
    helper, chinese_helper = other.english, other.chinese
    if draw.chance(0.3):
        # Who has time helps others himself.
        condition, chinese_condition = f"{person.have} time", "有时间"
        (verb, frame), will, chinese_will = (
            draw.one((help_, visit)),
            "will",
            "会",
        )
        helper, chinese_helper = person.pronoun, person.chinese_pronoun
        target, chinese_target = other.object, other.chinese
    action = frame.format(chinese_target).replace("*", "")
    return statement(
        f"if {person.english} {condition}, {helper} {will} {verb.base} "
        f"{target}",
        f"如果{person.chinese}{chinese_condition}，"
        f"{chinese_helper}就{chinese_will}{action}",
    )


def _back_to(person: Person) -> Pair:
    """The pronoun that takes up the person: him 他."""
    words = {"he": "him", "she": "her", "they": "them"}
    target = words.get(person.pronoun, person.object)
    return target, person.chinese_pronoun


def although(draw: Draw) -> Pair:
    """Although he is very busy, he plays basketball every day."""
    person = known_person(draw)
    state, chinese_state = draw.one(
        (("very busy", "非常忙"), ("very tired", "非常累"),
         ("sick", "生病了"))
    )  # fmt: skip
    activity = draw.one(_EFFORTS)
    wants = "wants" if person.agreement == "he" else "want"
    still, chinese_still = draw.one(
        (
            (f"still {wants} to {activity.english('base')}", "还是想"),
            (f"{activity.english(person.form())} every day", "每天"),
        )
    )
    return statement(
        f"although {person.english} {person.be} {state}, {person.pronoun} "
        f"{still}",
        f"虽然{person.chinese}{chinese_state}，但是{person.chinese_pronoun}"
        f"{chinese_still}{activity.chinese}",
    )


_EFFORTS = tuple(
    a
    for a in ACTIVITIES
    if a.chinese
    not in (
        "聊天",
        "看电视",
        "看报纸",
        "喝茶",
        "喝咖啡",
        "吃面条",
        "听音乐",
        "拍照",
    )
)


def but(draw: Draw) -> Pair:
    """I like coffee, but I don't like tea. / He can swim, but she can't."""
    person = known_person(draw)
    first, second = draw.two(ACTIVITIES)
    like = "likes" if person.agreement == "he" else "like"
    if draw.chance(0.5):
        return statement(
            f"{person.english} {like} {first.english('gerund')}, but "
            f"{person.pronoun} {person.do}n't like {second.english('gerund')}",
            f"{person.chinese}喜欢{first.chinese}，但是"
            f"{person.chinese_pronoun}不喜欢{second.chinese}",
        )
    place = draw.one(places.FAR_GOALS)
    want = "wants" if person.agreement == "he" else "want"
    lack, chinese_lack = draw.one((("time", "时间"), ("money", "钱")))
    return statement(
        f"{person.english} {want} to go {place.destination}, but "
        f"{person.pronoun} {person.do}n't have {lack}",
        f"{person.chinese}想去{place.chinese}，但是"
        f"{person.chinese_pronoun}没有{chinese_lack}",
    )
