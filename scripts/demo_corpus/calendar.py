"""Weather, the time of day, days and dates."""

from scripts.demo_corpus import places, times
from scripts.demo_corpus.draw import Draw
from scripts.demo_corpus.numbers import chinese_number
from scripts.demo_corpus.words import Pair, question, statement

_WEATHER = (
    ("cold", "冷"),
    ("hot", "热"),
    ("warm", "暖和"),
    ("cool", "凉快"),
)
_DEGREES = (("", "很"), ("very ", "非常"), ("not ", "不"), ("too ", "太"))
_PLACES = tuple(places.CITIES.values()) + tuple(places.COUNTRIES.values())
_SEASONS = (
    ("in spring", "春天", "warm", "暖和"),
    ("in summer", "夏天", "hot", "热"),
    ("in autumn", "秋天", "cool", "凉快"),
    ("in winter", "冬天", "cold", "冷"),
)


def weather(draw: Draw) -> Pair:
    """It is very cold in Beijing today. / It will rain tomorrow."""
    place = draw.one(_PLACES)
    where, chinese_where = f" {place.located}", place.chinese
    if draw.chance(0.3):
        where, chinese_where = "", ""
    style = draw.below(5)
    word, chinese = draw.one(_WEATHER)
    mild = word in ("warm", "cool")
    degree, chinese_degree = draw.one(_DEGREES[:3] if mild else _DEGREES)
    end = "了" if chinese_degree == "太" else ""
    if style == 0:
        rain, chinese_rain = draw.one((("rain", "雨"), ("snow", "雪")))
        time, chinese_time = times.soon(draw)
        will, chinese_will = draw.one((("will", "会"), ("won't", "不会")))
        return statement(
            f"it {will} {rain}{where} {time}",
            f"{chinese_where}{chinese_time}{chinese_will}下{chinese_rain}",
        )
    if style == 1:
        season, chinese_season, word, chinese = draw.one(_SEASONS)
        degree, chinese_degree = draw.one(_DEGREES[:3])
        end = ""
        return statement(
            f"it is {degree}{word}{where} {season}",
            f"{chinese_where}{chinese_season}{chinese_degree}{chinese}{end}",
        )
    if style == 2:
        time, chinese_time = draw.one(times.PAST)
        return statement(
            f"it was {degree}{word}{where} {time}",
            f"{chinese_where}{chinese_time}{chinese_degree}{chinese}{end}",
        )
    if style == 3:
        time, chinese_time = times.soon(draw)
        return question(
            f"will it be {word}{where} {time}",
            f"{chinese_where}{chinese_time}会{chinese}吗",
        )
    return statement(
        f"it is {degree}{word}{where} today",
        f"{chinese_where}今天{chinese_degree}{chinese}{end}",
    )


def time_of_day(draw: Draw) -> Pair:
    """It is half past eight now. / Today is Monday."""
    style = draw.below(5)
    if style == 0:
        day, chinese_day = draw.one(
            (("today", "今天"), ("tomorrow", "明天"), ("yesterday", "昨天"))
        )
        weekday, chinese = draw.one(times.WEEKDAYS)
        be = {"today": "is", "tomorrow": "is", "yesterday": "was"}[day]
        not_, chinese_not = draw.one((("", ""), (" not", "不")))
        return statement(
            f"{day} {be}{not_} {weekday}",
            f"{chinese_day}{chinese_not}是{chinese}",
        )
    if style == 1:
        month = draw.below(12)
        day = draw.between(1, 28)
        return statement(
            f"today is {times.MONTHS[month]} {ordinal(day)}",
            f"今天是{chinese_number(month + 1)}月{chinese_number(day)}号",
        )
    english, chinese = times.clock(draw)
    now, chinese_now = draw.one((("", ""), (" now", "现在")))
    already, chinese_already, end = draw.one(
        (("", "", ""), (" already", "已经", "了"))
    )
    if not now and not already:
        now, chinese_now = " now", "现在"
    return statement(
        f"it is{already} {english}{now}",
        f"{chinese_now}{chinese_already or '是'}{chinese}{end}",
    )


_ORDINALS = (
    "zeroth first second third fourth fifth sixth seventh eighth ninth tenth "
    "eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth "
    "eighteenth nineteenth twentieth"
).split()


def ordinal(number: int) -> str:
    """first to twenty-ninth."""
    if number <= 20:
        return _ORDINALS[number]
    return f"twenty-{_ORDINALS[number - 20]}"
