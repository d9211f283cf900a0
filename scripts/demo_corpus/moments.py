"""Two clauses tied by time: when, before, after, while, as soon as."""

from scripts.demo_corpus import places
from scripts.demo_corpus.activities import (
    ACTIVITIES,
    GET_UP,
    GO_TO_BED,
    GO_TO_WORK,
    MEALS,
)
from scripts.demo_corpus.draw import Draw
from scripts.demo_corpus.people import (
    known_person,
    named_person,
    other_person,
)
from scripts.demo_corpus.words import Pair, statement

_MOODS = (
    ("tired", "累"),
    ("happy", "高兴"),
    ("sad", "难过"),
    ("nervous", "紧张"),
)
_MOODY = tuple(
    a
    for a in ACTIVITIES
    if a.chinese not in ("工作", "做作业", "洗衣服", "吃面条", "学习", "写信")
)


def when_state(draw: Draw) -> Pair:
    """When she is tired, she often listens to music."""
    person = known_person(draw)
    mood, chinese_mood = draw.one(_MOODS)
    activity = draw.one(_MOODY)
    often, chinese_often = draw.one(
        (("often", "经常"), ("always", "总是"), ("never", "从来不"))
    )
    action = activity.english(person.form())
    if draw.chance(0.5):
        english = (
            f"when {person.english} {person.be} {mood}, {person.pronoun} "
            f"{often} {action}"
        )
    else:
        english = (
            f"{person.english} {often} {action} when {person.pronoun} "
            f"{person.be} {mood}"
        )
    return statement(
        english,
        f"{person.chinese}{chinese_mood}的时候{chinese_often}"
        f"{activity.chinese}",
    )


_PLACED = tuple(a for a in ACTIVITIES + MEALS if a.places)


def when_arrived(draw: Draw) -> Pair:
    """When I got home, my mother was cooking."""
    person = known_person(draw)
    other = other_person(draw, person, named_person)
    activity = draw.one(_PLACED)
    place = places.PLACES[draw.one(activity.places)]
    arrival, chinese_arrival = (
        f"got {place.destination}",
        f"到{place.chinese}",
    )
    if place == places.HOME:
        arrival, chinese_arrival = draw.one(
            (("got home", "到家"), ("got up", "起床"))
        )
    clause = f"{person.english} {arrival}"
    main = f"{other.english} {other.was} {activity.english('gerund')}"
    chinese = (
        f"{person.chinese}{chinese_arrival}的时候，"
        f"{other.chinese}正在{activity.chinese}"
    )
    if draw.chance(0.5):
        return statement(f"when {clause}, {main}", chinese)
    return statement(f"{main} when {clause}", chinese)


_LEISURE = tuple(
    a
    for a in ACTIVITIES
    if a.chinese
    not in ("踢足球", "打篮球", "做饭", "工作", "拍照", "画画", "吃面条")
)
_HOMEWORK = tuple(a for a in ACTIVITIES if a.chinese == "做作业")
_BEFORE = MEALS + _HOMEWORK + (GO_TO_BED, GO_TO_WORK)
_AFTER = MEALS + _HOMEWORK + (GET_UP,)


def before_after(draw: Draw) -> Pair:
    """He exercises before he has breakfast. 他吃早饭以前锻炼."""
    person = known_person(draw)
    word, chinese, events = draw.one(
        (("before", "以前", _BEFORE), ("after", "以后", _AFTER))
    )
    first, second = draw.one(_LEISURE), draw.one(events)
    while first == second:
        first = draw.one(_LEISURE)
    often, chinese_often = draw.one(
        (("always", "总是"), ("usually", "通常"), ("often", "经常"))
    )
    form = person.form()
    return statement(
        f"{person.english} {often} {first.english(form)} {word} "
        f"{person.pronoun} {second.english(form)}",
        f"{person.chinese}{second.chinese}{chinese}{chinese_often}"
        f"{first.chinese}",
    )


_WITH_EARS = tuple(
    a
    for a in ACTIVITIES
    if a.chinese in ("听音乐", "唱歌", "聊天", "喝茶", "喝咖啡")
)
_WITH_HANDS = tuple(
    a
    for a in ACTIVITIES + MEALS
    if a.chinese
    in ("做饭", "看报纸", "看书", "做作业", "洗衣服", "画画", "写信", "工作")
    or a in MEALS
)


def while_doing(draw: Draw) -> Pair:
    """She listens to music while she cooks. 她一边做饭，一边听音乐."""
    person = known_person(draw)
    first, second = draw.one(_WITH_EARS), draw.one(_WITH_HANDS)
    if second in MEALS:
        first = _WITH_EARS[0]
    form = person.form()
    often, chinese_often = draw.one(
        (("often ", "经常"), ("sometimes ", "有时候"), ("always ", "总是"))
    )
    return statement(
        f"{person.english} {often}{first.english(form)} while "
        f"{person.pronoun} {second.english(form)}",
        f"{person.chinese}{chinese_often}一边{second.chinese}，"
        f"一边{first.chinese}",
    )


def as_soon_as(draw: Draw) -> Pair:
    """I will call you as soon as I get home. 我一到家就给你打电话."""
    person = known_person(draw)
    other = other_person(draw, person)
    place = draw.one(places.GOALS[:12] + places.FAR_GOALS)
    get = "gets" if person.agreement == "he" else "get"
    target, chinese_place = draw.one(
        (("home", "家"), (place.destination, place.chinese))
    )
    return statement(
        f"{person.english} will call {other.object} as soon as "
        f"{person.pronoun} {get} {target}",
        f"{person.chinese}一到{chinese_place}就会给{other.chinese}打电话",
    )
