"""Comparisons: 比, 更, 跟…一样, 没有…, 最."""

from scripts.demo_corpus import adjectives, nouns
from scripts.demo_corpus.activities import SKILLS
from scripts.demo_corpus.draw import Draw
from scripts.demo_corpus.numbers import YEAR, counted
from scripts.demo_corpus.people import (
    HE,
    NAMES,
    SHE,
    SIBLINGS,
    YOU,
    I,
    Person,
    known_person,
    other_person,
    third_person,
)
from scripts.demo_corpus.phrases import belonging, fitting
from scripts.demo_corpus.words import (
    Adjective,
    Noun,
    Pair,
    question,
    statement,
)

_TRAITS = tuple(adjectives.OF_PEOPLE.values())
# "Younger" is for ages, and for people who aren't siblings.
_COMPARABLE = tuple(trait for trait in _TRAITS if trait.english != "young")
_PRAISED = tuple(
    trait for trait in _TRAITS if trait.english not in ("strong", "fat", "thin")
)
_PEERS = (I, YOU, HE, SHE, *NAMES)
_COMPARED = tuple(
    noun
    for noun in adjectives.DESCRIBED
    if noun not in nouns.PLANTS + nouns.SKIRT
)


def _peer(draw: Draw) -> Person:
    """Somebody to compare with others: no parents with children."""
    if draw.chance(0.7):
        return draw.one(_PEERS)
    return draw.one(SIBLINGS)


def _people(draw: Draw) -> tuple[str, str, str, str, str]:
    """Two people: English, "is" or "are", Chinese; English, Chinese."""
    person = _peer(draw)
    other = other_person(draw, person, _peer)
    return (
        person.english, person.be, person.chinese, other.object, other.chinese
    )  # fmt: skip


def _things(draw: Draw) -> tuple[Adjective, Noun]:
    """A thing and an adjective to compare it by; never a colour."""
    while True:
        noun = draw.one(_COMPARED)
        adjective = fitting(draw, noun)
        if adjective.comparative:
            return adjective, noun


def _two_things(draw: Draw) -> tuple[Adjective, str, str, str, str]:
    """This book and that book, or this book and Tom's."""
    adjective, noun = _things(draw)
    first, second = draw.one(
        ((("this", "这"), ("that", "那")), (("that", "那"), ("this", "这")))
    )
    one = f"{first[0]} {noun.singular}"
    chinese_one = first[1] + noun.measure + noun.chinese
    other = f"{second[0]} one"
    chinese_other = second[1] + noun.measure
    if noun in nouns.FARM_ANIMALS:
        return adjective, one, chinese_one, other, chinese_other
    if draw.chance(0.5):
        other, chinese_other = belonging(draw, noun)
    elif draw.chance(0.5):
        one, chinese_one = belonging(draw, noun)
    return adjective, one, chinese_one, other, chinese_other


def more_than(draw: Draw) -> Pair:
    """Tom is taller than Mary. / Is this coat cheaper than that one?"""
    if draw.chance(0.5):
        one, be, chinese_one, other, chinese_other = _people(draw)
        adjective = draw.one(_COMPARABLE)
    else:
        adjective, one, chinese_one, other, chinese_other = _two_things(draw)
        be = "is"
    chinese = f"{chinese_one}比{chinese_other}"
    comparative = adjective.comparative
    style = draw.below(6)
    if style == 0:
        return question(
            f"{be} {one} {comparative} than {other}",
            f"{chinese}{adjective.chinese}吗",
        )
    if style == 1:
        return statement(
            f"{one} {be} much {comparative} than {other}",
            f"{chinese}{adjective.chinese}得多",
        )
    if style == 2:
        return statement(
            f"{one} {be} a little {comparative} than {other}",
            f"{chinese}{adjective.chinese}一点儿",
        )
    if style == 3:
        return statement(
            f"{one} {be} even {comparative} than {other}",
            f"{chinese}更{adjective.chinese}",
        )
    return statement(
        f"{one} {be} {comparative} than {other}",
        f"{chinese}{adjective.chinese}",
    )


def years_apart(draw: Draw) -> Pair:
    """Tom is three years older than Mary. 汤姆比玛丽大三岁."""
    person = draw.one(_PEERS)
    second = other_person(draw, person, lambda draw: draw.one(_PEERS))
    one, be, chinese_one = person.english, person.be, person.chinese
    other, chinese_other = second.object, second.chinese
    number = draw.between(1, 12)
    length, chinese_length = counted(number, YEAR)
    length = "one year" if number == 1 else length
    word, chinese_word = draw.one((("older", "大"), ("younger", "小")))
    return statement(
        f"{one} {be} {length} {word} than {other}",
        f"{chinese_one}比{chinese_other}{chinese_word}"
        f"{chinese_length.removesuffix('年')}岁",
    )


def as_much_as(draw: Draw) -> Pair:
    """Tom is as tall as Mary. / This bag isn't as heavy as that one."""
    if draw.chance(0.5):
        one, be, chinese_one, other, chinese_other = _people(draw)
        adjective = draw.one(_COMPARABLE)
    else:
        adjective, one, chinese_one, other, chinese_other = _two_things(draw)
        be = "is"
    if draw.chance(0.4):
        return statement(
            f"{one} {be} not as {adjective.english} as {other}",
            f"{chinese_one}没有{chinese_other}{adjective.chinese}",
        )
    return statement(
        f"{one} {be} as {adjective.english} as {other}",
        f"{chinese_one}跟{chinese_other}一样{adjective.chinese}",
    )


_BOY, _GIRL = ("boy", "男孩"), ("girl", "女孩")
_MAN, _WOMAN = ("man", "男人"), ("woman", "女人")
_GROUPS = (
    ("in the class", "班里", (_BOY, ("student", "学生"), _GIRL)),
    ("in the school", "学校里", (("teacher", "老师"), ("student", "学生"))),
    ("in the hospital", "医院里", (("doctor", "医生"), ("nurse", "护士"))),
    ("in the office", "办公室里", (_MAN, ("lawyer", "律师"), _WOMAN)),
    ("in the village", "村子里", (_MAN, ("farmer", "农民"), _WOMAN)),
)


def superlative(draw: Draw) -> Pair:
    """Mary is the smartest student in the class."""
    person = draw.one((HE, SHE, *NAMES, *SIBLINGS))
    group, chinese_group, members = draw.one(_GROUPS)
    member, chinese_member = draw.one(members)
    if member in ("boy", "man") and person.pronoun == "she":
        member, chinese_member = members[-1]
    if member in ("girl", "woman") and person.pronoun == "he":
        member, chinese_member = members[0]
    adjective = draw.one(_PRAISED)
    return statement(
        f"{person.english} is the {adjective.superlative} {member} {group}",
        f"{person.chinese}是{chinese_group}最{adjective.chinese}的"
        f"{chinese_member}",
    )


_FAVOURITES = (
    (("tea", "茶"), ("coffee", "咖啡"), ("milk", "牛奶"), ("juice", "果汁"),
     ("beer", "啤酒")),
    (("cats", "猫"), ("dogs", "狗"), ("birds", "鸟"), ("horses", "马"),
     ("rabbits", "兔子")),
    (("apples", "苹果"), ("oranges", "橘子"), ("bananas", "香蕉"),
     ("pears", "梨")),
    (("basketball", "篮球"), ("football", "足球")),
    (("English", "英语"), ("Chinese", "中文"), ("math", "数学"),
     ("history", "历史")),
    (("rice", "米饭"), ("noodles", "面条")),
    (("spring", "春天"), ("summer", "夏天"), ("autumn", "秋天"),
     ("winter", "冬天")),
)  # fmt: skip


def preference(draw: Draw) -> Pair:
    """I like tea more than coffee. 比起咖啡，我更喜欢茶."""
    person = known_person(draw)
    first, second = draw.two(draw.one(_FAVOURITES))
    like = "likes" if person.agreement == "he" else "like"
    style = draw.below(5)
    if style == 0:
        return question(
            f"which {person.do} {person.english} like more, {first[0]} or "
            f"{second[0]}",
            f"{person.chinese}更喜欢{first[1]}还是{second[1]}",
        )
    if style == 1:
        return statement(
            f"{person.english} {like} {first[0]} best",
            f"{person.chinese}最喜欢{first[1]}",
        )
    return statement(
        f"{person.english} {like} {first[0]} more than {second[0]}",
        f"比起{second[1]}，{person.chinese}更喜欢{first[1]}",
    )


def better_at(draw: Draw) -> Pair:
    """She sings better than Tom. 她唱歌唱得比汤姆好."""
    person = known_person(draw)
    other = other_person(draw, person, third_person)
    activity = draw.one(SKILLS)
    doing = f"{activity.chinese_object}{activity.chinese_verb}得"
    if len(activity.chinese_object) == 1 and activity.chinese != "开车":
        doing = activity.chinese_verb + doing
    return statement(
        f"{person.english} {activity.english(person.form())} better than "
        f"{other.object}",
        f"{person.chinese}{doing}比{other.chinese}好",
    )
