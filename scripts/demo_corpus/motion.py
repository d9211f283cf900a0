"""Sentences about going, coming and staying: 坐火车去, 从…回来."""

from scripts.demo_corpus import places, times
from scripts.demo_corpus.activities import ACTIVITIES
from scripts.demo_corpus.draw import Draw
from scripts.demo_corpus.people import (
    other_person,
    subject,
    subject_of,
)
from scripts.demo_corpus.words import Pair, question, statement

_CITY_TRANSPORT = (
    ("by bus", "坐公共汽车"),
    ("by subway", "坐地铁"),
    ("by taxi", "坐出租车"),
    ("by bicycle", "骑自行车"),
    ("by car", "开车"),
    ("on foot", "走路"),
)
_LONG_TRANSPORT = (
    ("by train", "坐火车"),
    ("by plane", "坐飞机"),
    ("by ship", "坐船"),
)


_CITIES = tuple(places.CITIES.values())
_PORTS = tuple(
    places.CITIES[name] for name in ("Shanghai", "London", "New York", "Tokyo")
)


def went(draw: Draw) -> Pair:
    """She went to the museum yesterday. / Did Tom go to Paris?"""
    style = draw.below(4)
    person = subject_of(draw, asked=style == 0)
    if draw.chance(0.3):
        place = draw.one(places.FAR_GOALS)
        time, chinese_time = times.past_year(draw)
    else:
        place = draw.one(places.GOALS)
        time, chinese_time = times.recent_time(draw)
    if style == 0:
        return question(
            f"did {person.english} go {place.destination} {time}",
            f"{person.chinese}{chinese_time}去{place.chinese}了吗",
        )
    if style == 1:
        return statement(
            f"{person.english} didn't go {place.destination} {time}",
            f"{person.chinese}{chinese_time}没去{place.chinese}",
        )
    return statement(
        f"{person.english} went {place.destination} {time}",
        f"{person.chinese}{chinese_time}去了{place.chinese}",
    )


def will_go(draw: Draw) -> Pair:
    """We are going to go to the zoo tomorrow. / Will you go to Tokyo?"""
    style = draw.below(4)
    person = subject_of(draw, asked=style == 0)
    if draw.chance(0.6):
        place = draw.one(places.FAR_GOALS)
        time, chinese_time = times.future_time(draw)
    else:
        place = draw.one(places.GOALS)
        time, chinese_time = times.soon(draw)
    target = place.destination
    if style == 0:
        return question(
            f"will {person.english} go {target} {time}",
            f"{person.chinese}{chinese_time}会去{place.chinese}吗",
        )
    if style == 1:
        return statement(
            f"{person.english} won't go {target} {time}",
            f"{person.chinese}{chinese_time}不会去{place.chinese}",
        )
    return statement(
        f"{person.english} {person.be} going to go {target} {time}",
        f"{person.chinese}{chinese_time}要去{place.chinese}",
    )


def by_transport(draw: Draw) -> Pair:
    """He goes to school by bus every day. / She went to Paris by train."""
    person = subject(draw)
    style = draw.below(3)
    if style == 0:
        transport, chinese = draw.one(_LONG_TRANSPORT)
        place = draw.one(_PORTS if transport == "by ship" else _CITIES)
        time, chinese_time = times.past_year(draw)
        verb, chinese_verb = "went", "去了"
    elif style == 1:
        transport, chinese = draw.one(_CITY_TRANSPORT)
        place = draw.one(places.GOALS)
        time, chinese_time = times.habitual_time(draw)
        verb = "goes" if person.agreement == "he" else "go"
        chinese_verb = "去"
    else:
        transport, chinese = draw.one(_CITY_TRANSPORT + _LONG_TRANSPORT[:2])
        far = chinese in ("坐火车", "坐飞机")
        place = draw.one(_CITIES if far else places.GOALS)
        time, chinese_time = times.soon(draw)
        verb, chinese_verb = "will go", "去"
        chinese = f"会{chinese}"
    return statement(
        f"{person.english} {verb} {place.destination} {transport} {time}",
        f"{person.chinese}{chinese_time}{chinese}{chinese_verb}{place.chinese}",
    )


def purpose(draw: Draw) -> Pair:
    """She went to the park to take photos. / I want to go home to rest."""
    person = subject(draw)
    activity = draw.one(_AWAY)
    names = tuple(n for n in activity.places if n in _GOAL_NAMES)
    place = places.PLACES[draw.one(names)]
    target = f"{place.destination} to {activity.english('base')}"
    chinese = f"去{place.chinese}{activity.chinese}"
    style = draw.below(3)
    if style == 0:
        want = "wants" if person.agreement == "he" else "want"
        return statement(
            f"{person.english} {want} to go {target}",
            f"{person.chinese}想{chinese}",
        )
    if style == 1:
        time, chinese_time = times.recent_time(draw)
        return statement(
            f"{person.english} went {target} {time}",
            f"{person.chinese}{chinese_time}{chinese}了",
        )
    often, chinese_often = draw.one(times.FREQUENCY)
    go = "goes" if person.agreement == "he" else "go"
    return statement(
        f"{person.english} {often} {go} {target}",
        f"{person.chinese}{chinese_often}{chinese}",
    )


_GOAL_NAMES = tuple(
    place.english.removeprefix("the ") for place in places.GOALS
)
_AWAY = tuple(
    activity
    for activity in ACTIVITIES
    if any(name in _GOAL_NAMES for name in activity.places)
    and activity.chinese != "工作"
)


def came_back(draw: Draw) -> Pair:
    """My father came back from Shanghai last night."""
    person = subject(draw)
    place = draw.one(places.FAR_GOALS)
    if draw.chance(0.5):
        time, chinese_time = times.past_time(draw)
        return statement(
            f"{person.english} came back {place.origin} {time}",
            f"{person.chinese}{chinese_time}从{place.chinese}回来了",
        )
    time, chinese_time = times.future_time(draw)
    return statement(
        f"{person.english} will come back {place.origin} {time}",
        f"{person.chinese}{chinese_time}会从{place.chinese}回来",
    )


def arrival(draw: Draw) -> Pair:
    """The train leaves at eight o'clock tomorrow morning."""
    what, chinese_what = draw.one(
        (("the train", "火车"), ("the bus", "公共汽车"), ("the plane", "飞机"),
         ("the ship", "船"))
    )  # fmt: skip
    day, chinese_day, hours = draw.one(
        (
            ("tomorrow morning", "明天早上", range(6, 12)),
            ("tomorrow afternoon", "明天下午", range(1, 7)),
            ("tomorrow night", "明天晚上", range(7, 12)),
        )
    )
    clock, chinese_clock = times.clock(draw, hours)
    verb, chinese_verb = draw.one((("leave", "出发"), ("arrive", "到")))
    if what != "the bus" and draw.chance(0.3):
        place = draw.one(_PORTS if what == "the ship" else _CITIES)
        return statement(
            f"{what} to {place.english} leaves at {clock} {day}",
            f"去{place.chinese}的{chinese_what}{chinese_day}{chinese_clock}出发",
        )
    return statement(
        f"{what} will {verb} at {clock} {day}",
        f"{chinese_what}{chinese_day}{chinese_clock}{chinese_verb}",
    )


def together(draw: Draw) -> Pair:
    """She wants to go to the cinema with Tom. / I study with my friends."""
    person = subject(draw)
    other = other_person(draw, person)
    style = draw.below(3)
    if style == 0:
        place = draw.one(places.GOALS)
        time, chinese_time = times.recent_time(draw)
        return statement(
            f"{person.english} went {place.destination} with {other.object} "
            f"{time}",
            f"{person.chinese}{chinese_time}跟{other.chinese}一起去了"
            f"{place.chinese}",
        )
    activity = draw.one(ACTIVITIES)
    if style == 1:
        want = "wants" if person.agreement == "he" else "want"
        return statement(
            f"{person.english} {want} to {activity.english('base')} "
            f"with {other.object}",
            f"{person.chinese}想跟{other.chinese}一起{activity.chinese}",
        )
    often, chinese_often = draw.one(times.FREQUENCY)
    return statement(
        f"{person.english} {often} {activity.english(person.form())} "
        f"with {other.object}",
        f"{person.chinese}{chinese_often}跟{other.chinese}一起"
        f"{activity.chinese}",
    )


_ORIGINS = places.FAR_GOALS


def origin(draw: Draw) -> Pair:
    """She is from China. 她来自中国. / Where are you from? 你来自哪里?"""
    asked = draw.chance(0.15)
    person = subject_of(draw, asked)
    if asked:
        return question(
            f"where {person.be} {person.english} from",
            f"{person.chinese}来自哪里",
        )
    place = draw.one(_ORIGINS)
    no, chinese_no = draw.one((("", ""), (" not", "不是"), (" also", "也")))
    return statement(
        f"{person.english} {person.be}{no} {place.origin}",
        f"{person.chinese}{chinese_no}来自{place.chinese}",
    )
