"""Numbers in words: eleven and 十一, two books and 两本书."""

from scripts.demo_corpus.words import Noun, Pair, with_article

_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve "
    "thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
).split()
_TENS = "zero ten twenty thirty forty fifty sixty seventy eighty ninety".split()
_DIGITS = "零一二三四五六七八九"


def english_number(number: int) -> str:
    """1 to 999 in English words."""
    if number < 20:
        return _SMALL[number]
    if number < 100:
        tens, ones = divmod(number, 10)
        return _TENS[tens] + (f"-{_SMALL[ones]}" if ones else "")
    hundreds, rest = divmod(number, 100)
    words = f"{_SMALL[hundreds]} hundred"
    return f"{words} and {english_number(rest)}" if rest else words


def chinese_number(number: int) -> str:
    """1 to 999 in Chinese numerals, as counted: 二, 十二, 二十, 两百."""
    if number < 10:
        return _DIGITS[number]
    if number < 100:
        tens, ones = divmod(number, 10)
        lead = "" if tens == 1 else _DIGITS[tens]
        return lead + "十" + (_DIGITS[ones] if ones else "")
    hundreds, rest = divmod(number, 100)
    lead = measured_number(hundreds) + "百"
    if not rest:
        return lead
    if rest < 10:
        return lead + "零" + _DIGITS[rest]
    return lead + ("一" if rest < 20 else "") + chinese_number(rest)


def measured_number(number: int) -> str:
    """The numeral before a measure word: 两, never 二, for two."""
    return "两" if number == 2 else chinese_number(number)


def counted(number: int, noun: Noun) -> Pair:
    """The number with the noun: "a book" 一本书, "two books" 两本书."""
    chinese = measured_number(number) + noun.measure + noun.chinese
    if number == 1:
        return with_article(noun.singular), chinese
    return f"{english_number(number)} {noun.plural}", chinese


def duration(number: int, unit: Noun) -> Pair:
    """A stretch of time: "an hour" 一个小时, "two years" 两年."""
    return counted(number, unit)


MINUTE = Noun("minute", "minutes", "分钟", "")
HOUR = Noun("hour", "hours", "小时", "个")
DAY = Noun("day", "days", "天", "")
WEEK = Noun("week", "weeks", "星期", "个")
MONTH = Noun("month", "months", "月", "个")
YEAR = Noun("year", "years", "年", "")
