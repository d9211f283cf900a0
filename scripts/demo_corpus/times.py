"""Time expressions: at the end in English, before the verb in Chinese."""

from scripts.demo_corpus.draw import Draw
from scripts.demo_corpus.numbers import (
    DAY,
    MONTH,
    WEEK,
    YEAR,
    counted,
    english_number,
    measured_number,
)
from scripts.demo_corpus.words import Pair

WEEKDAYS = (
    ("Monday", "星期一"),
    ("Tuesday", "星期二"),
    ("Wednesday", "星期三"),
    ("Thursday", "星期四"),
    ("Friday", "星期五"),
    ("Saturday", "星期六"),
    ("Sunday", "星期天"),
)
MONTHS = (
    "January February March April May June July August September October "
    "November December"
).split()

PAST = (
    ("yesterday", "昨天"),
    ("yesterday morning", "昨天早上"),
    ("yesterday afternoon", "昨天下午"),
    ("last night", "昨天晚上"),
    ("this morning", "今天早上"),
    ("last week", "上个星期"),
    ("last weekend", "上个周末"),
)
FUTURE = (
    ("tomorrow", "明天"),
    ("tomorrow morning", "明天早上"),
    ("tomorrow afternoon", "明天下午"),
    ("tomorrow night", "明天晚上"),
    ("tonight", "今天晚上"),
    ("next weekend", "下个周末"),
)
HABITUAL = (
    ("every day", "每天"),
    ("every morning", "每天早上"),
    ("every afternoon", "每天下午"),
    ("every night", "每天晚上"),
    ("every weekend", "每个周末"),
)
FREQUENCY = (
    ("always", "总是"),
    ("usually", "通常"),
    ("often", "经常"),
    ("sometimes", "有时候"),
)
_DAY_PARTS = (
    ("in the morning", "早上", range(6, 12)),
    ("in the afternoon", "下午", range(1, 7)),
    ("in the evening", "晚上", range(7, 11)),
)


def recent_time(draw: Draw) -> Pair:
    """yesterday, last Monday, three days ago: for everyday actions."""
    if draw.chance(0.25):
        day, chinese = draw.one(WEEKDAYS)
        return f"last {day}", f"上个{chinese}"
    if draw.chance(0.15):
        english, chinese = counted(draw.between(2, 6), DAY)
        return f"{english} ago", f"{chinese}前"
    return draw.one(PAST)


def past_time(draw: Draw) -> Pair:
    """yesterday, two weeks ago, last month: for what is remembered."""
    if draw.chance(0.6):
        return recent_time(draw)
    if draw.chance(0.4):
        return "last month", "上个月"
    unit = draw.one((WEEK, MONTH))
    english, chinese = counted(draw.between(2, 6), unit)
    return f"{english} ago", f"{chinese}前"


def past_year(draw: Draw) -> Pair:
    """A time long enough ago for a journey or a move."""
    if draw.chance(0.4):
        english, chinese = counted(draw.between(2, 9), YEAR)
        return f"{english} ago", f"{chinese}前"
    return draw.one((("last year", "去年"), ("last month", "上个月")))


def soon(draw: Draw) -> Pair:
    """tomorrow, next Monday: for everyday plans."""
    if draw.chance(0.25):
        day, chinese = draw.one(WEEKDAYS)
        return f"next {day}", f"下个{chinese}"
    return draw.one(FUTURE)


def future_time(draw: Draw) -> Pair:
    """tomorrow, next month, in three weeks: for purchases and journeys."""
    if draw.chance(0.5):
        return soon(draw)
    if draw.chance(0.5):
        return draw.one((("next week", "下个星期"), ("next month", "下个月")))
    unit = draw.one((DAY, WEEK, MONTH))
    english, chinese = counted(draw.between(2, 6), unit)
    return f"in {english}", f"{chinese}后"


def habitual_time(draw: Draw) -> Pair:
    """every day, every Monday."""
    if draw.chance(0.3):
        day, chinese = draw.one(WEEKDAYS)
        return f"every {day}", f"每个{chinese}"
    return draw.one(HABITUAL)


def clock(draw: Draw, hours: range = range(1, 13)) -> Pair:
    """eight o'clock 八点, half past two 两点半, a quarter past six."""
    hour = draw.one(hours)
    english, chinese = english_number(hour), measured_number(hour) + "点"
    style = draw.below(5)
    if style == 0:
        return f"half past {english}", f"{chinese}半"
    if style == 1:
        return f"a quarter past {english}", f"{chinese}一刻"
    return f"{english} o'clock", chinese


def clock_of_day(draw: Draw) -> Pair:
    """at eight o'clock in the morning, 早上八点."""
    part, chinese_part, hours = draw.one(_DAY_PARTS)
    english, chinese = clock(draw, hours)
    return f"at {english} {part}", chinese_part + chinese
