"""Clauses inside others: I think that…, the man who…, the book that…."""

from scripts.demo_corpus import adjectives, nouns, places, times
from scripts.demo_corpus.actions import at_place
from scripts.demo_corpus.activities import ACTIVITIES, FEELING_VERBS
from scripts.demo_corpus.adjectives import graded
from scripts.demo_corpus.draw import Draw
from scripts.demo_corpus.people import (
    OTHERS,
    PROFESSIONS,
    Person,
    known_person,
    named_person,
    other_person,
    subject,
    subject_of,
)
from scripts.demo_corpus.phrases import fitting, pointed_at
from scripts.demo_corpus.words import (
    Pair,
    question,
    statement,
    with_article,
)

_TRAITS = tuple(adjectives.OF_PEOPLE.values())
_BELIEFS = (("think", "觉得"), ("know", "知道"), ("say", "说"))


def belief(draw: Draw) -> Pair:
    """I think this book is interesting. / She knows that he is busy."""
    person = subject(draw)
    third = person.agreement in ("he", "they")
    verb, chinese_verb = draw.one(_BELIEFS if third else _BELIEFS[:2])
    ending = "s" if person.agreement == "he" else ""
    if draw.chance(0.5):
        noun = draw.one(adjectives.DESCRIBED)
        adjective = fitting(draw, noun)
        while not adjective.comparative:
            adjective = fitting(draw, noun)
        english, chinese, plural = pointed_at(draw, noun)
        be = "are" if plural else "is"
    else:
        other = other_person(draw, person)
        adjective = draw.one(_TRAITS)
        english, chinese, be = other.english, other.chinese, other.be
    degree = draw.one(("very ", "", "not "))
    return statement(
        f"{person.english} {verb}{ending} that {english} {be} "
        f"{degree}{adjective.english}",
        f"{person.chinese}{chinese_verb}{chinese}{graded(degree, adjective)}",
    )


def hope(draw: Draw) -> Pair:
    """I hope that you will come back tomorrow. / He says he can help."""
    person = subject(draw)
    other = other_person(draw, person)
    ending = "s" if person.agreement == "he" else ""
    time, chinese_time = times.soon(draw)
    style = draw.below(3)
    if style < 2:
        time, chinese_time = times.future_time(draw)
    if style == 0:
        place = draw.one(places.FAR_GOALS)
        action, chinese = f"come back {place.origin}", f"从{place.chinese}回来"
    elif style == 1:
        place = draw.one(places.FAR_GOALS)
        action, chinese = f"go {place.destination}", f"去{place.chinese}"
    else:
        activity = draw.one(ACTIVITIES)
        action, chinese = activity.english("base"), activity.chinese
    verb, chinese_verb, will, chinese_will = draw.one(
        (("hope", "希望", "can", "能"), ("think", "觉得", "will", "会"),
         ("know", "知道", "will", "会"))
    )  # fmt: skip
    return statement(
        f"{person.english} {verb}{ending} that {other.english} {will} "
        f"{action} {time}",
        f"{person.chinese}{chinese_verb}{other.chinese}{chinese_time}"
        f"{chinese_will}{chinese}",
    )


def indirect(draw: Draw) -> Pair:
    """I don't know where he lives. / Do you know who she is?"""
    style = draw.below(3)
    person = subject_of(draw, asked=style == 0)
    other = other_person(draw, person)
    lives = "lives" if other.agreement == "he" else "live"
    works = "works" if other.agreement == "he" else "work"
    wants = "wants" if other.agreement == "he" else "want"
    place = draw.one(places.FAR_GOALS + places.GOALS)
    activity = draw.one(ACTIVITIES)
    gerund = activity.english("gerund")
    english, chinese = draw.one(
        (
            (f"where {other.english} {lives}", f"{other.chinese}住在哪里"),
            (f"where {other.english} {works}", f"{other.chinese}在哪里工作"),
            (f"what {other.english} {wants}", f"{other.chinese}想要什么"),
            (
                f"when {other.english} will go {place.destination}",
                f"{other.chinese}什么时候去{place.chinese}",
            ),
            (
                f"why {other.english} {wants} to go {place.destination}",
                f"{other.chinese}为什么想去{place.chinese}",
            ),
            (
                f"why {other.english} {_likes(other)} {gerund}",
                f"{other.chinese}为什么喜欢{activity.chinese}",
            ),
        )
    )
    if style == 0:
        return question(
            f"{person.do} {person.english} know {english}",
            f"{person.chinese}知道{chinese}吗",
        )
    if style == 1:
        return statement(
            f"{person.english} {person.do}n't know {english}",
            f"{person.chinese}不知道{chinese}",
        )
    ending = "s" if person.agreement == "he" else ""
    return statement(
        f"{person.english} know{ending} {english}",
        f"{person.chinese}知道{chinese}",
    )


def _likes(person: Person) -> str:
    return "likes" if person.agreement == "he" else "like"


_HUMANS = (
    ("man", "男人"),
    ("woman", "女人"),
    ("boy", "男孩"),
    ("girl", "女孩"),
)


def relative_person(draw: Draw) -> Pair:
    """The man who is reading books at the library is my teacher."""
    human, chinese_human = draw.one(_HUMANS)
    activity = draw.one(ACTIVITIES)
    where, chinese_where = at_place(draw, activity, 0.6)
    doing = f"在{chinese_where[1:]}" if chinese_where else "在"
    if human in ("man", "woman") and draw.chance(0.4):
        singular, _, chinese = draw.one(PROFESSIONS)
        predicate, chinese = with_article(singular), f"{chinese}"
    else:
        kin = ("friend", "classmate", "neighbor")
        options = [p for p in OTHERS if p.english.endswith(kin)]
        friend = draw.one(options)
        predicate, chinese = friend.english, friend.chinese
    return statement(
        f"the {human} who is {activity.english('gerund')}{where} is "
        f"{predicate}",
        f"{doing}{activity.chinese}的{chinese_human}是{chinese}",
    )


_MADE = (
    ("bought", "买", nouns.BOOKS + nouns.CLOTHES),
    ("bought", "买", nouns.VEHICLES + nouns.DEVICES),
    ("drew", "画", nouns.PETS),
    ("sold", "卖", nouns.VEHICLES + nouns.DEVICES),
    ("lost", "丢", nouns.BELONGINGS[1:3]),
    ("made", "做", nouns.FURNITURE[:2]),
    ("watched", "看", nouns.MOVIES),
)  # fmt: skip


def relative_thing(draw: Draw) -> Pair:
    """The book that I bought yesterday is very interesting."""
    person = subject(draw)
    verb, chinese_verb, things = draw.one(_MADE)
    noun = draw.one(things)
    adjective = fitting(draw, noun)
    time, chinese_time = times.past_time(draw)
    while adjective.english in ("new", "old", "dirty"):
        adjective = fitting(draw, noun)
    if adjective.comparative:
        degree = draw.one(("very ", "", "not "))
        said = f"{degree}{adjective.english}"
        chinese_said = graded(degree, adjective)
    else:
        said, chinese_said = adjective.english, f"是{adjective.chinese}的"
    return statement(
        f"the {noun.singular} that {person.english} {verb} {time} is {said}",
        f"{person.chinese}{chinese_time}{chinese_verb}的{noun.chinese}"
        f"{chinese_said}",
    )


def relative_object(draw: Draw) -> Pair:
    """I know the woman who works at the bank."""
    person = subject(draw)
    verb, chinese_verb = draw.one(
        (FEELING_VERBS[0], FEELING_VERBS[3], FEELING_VERBS[4])
    )
    human, chinese_human = draw.one(_HUMANS[:2])
    place = draw.one(places.WORKPLACES)
    other = known_person(draw)
    if draw.chance(0.6) or other.pronoun == person.pronoun:
        clause = f"who works {place.located}"
        chinese = f"在{place.chinese}工作的{chinese_human}"
    else:
        other = other_person(draw, person, named_person)
        clause = f"who is waiting for {other.object}"
        chinese = f"在等{other.chinese}的{chinese_human}"
    if draw.chance(0.3):
        return statement(
            f"{person.english} {person.do}n't {verb.base} the {human} {clause}",
            f"{person.chinese}不{chinese_verb}那个{chinese}",
        )
    return statement(
        f"{person.english} {person.present(verb)} the {human} {clause}",
        f"{person.chinese}{chinese_verb}那个{chinese}",
    )
