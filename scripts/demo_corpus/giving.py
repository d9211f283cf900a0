"""Sentences in which things go from one person to another, or are put."""

from scripts.demo_corpus import nouns, places, times
from scripts.demo_corpus.activities import VERBS
from scripts.demo_corpus.draw import Draw
from scripts.demo_corpus.people import (
    PRONOUNS,
    couple,
    known_person,
    named_person,
    other_person,
    owned,
    subject,
)
from scripts.demo_corpus.phrases import counted_things
from scripts.demo_corpus.words import Pair, question, statement

_HANDED = nouns.BOOKS + nouns.BELONGINGS + nouns.GIFTS + nouns.CLOTHES[:3]
_LENT = nouns.BOOKS + nouns.BELONGINGS[:6] + nouns.VEHICLES[:2]
# Verb, Chinese with {} for the receiver, things.
_GIVING = (
    (VERBS["give"], "给了{}", _HANDED),
    (VERBS["lend"], "借给了{}", _LENT),
    (VERBS["send"], "给{}寄了", nouns.READING[-1:] + nouns.GIFTS[:1]),
    (VERBS["buy"], "给{}买了", nouns.GOODS + nouns.GIFTS),
    (VERBS["make"], "给{}做了", nouns.FOODS[5:7] + nouns.FURNITURE[:1]),
    (VERBS["write"], "给{}写了", nouns.WRITING[:1] + nouns.SONGS),
)


def gave(draw: Draw) -> Pair:
    """He gave me two books. / She sent her mother a letter last week."""
    person = subject(draw)
    other = other_person(draw, person)
    verb, frame, things = draw.one(_GIVING)
    english, chinese = counted_things(draw, things, 3)
    time, chinese_time = "", ""
    if draw.chance(0.5):
        time, chinese_time = times.past_time(draw)
        time = f" {time}"
    return statement(
        f"{person.english} {verb.past} {other.object} {english}{time}",
        f"{person.chinese}{chinese_time}{frame.format(other.chinese)}{chinese}",
    )


def will_give(draw: Draw) -> Pair:
    """I want to give her a watch. / She is going to buy me a coat."""
    person = subject(draw)
    other = other_person(draw, person)
    verb, frame, things = draw.one(_GIVING)
    english, chinese = counted_things(draw, things, 3)
    chinese = frame.replace("了", "").format(other.chinese) + chinese
    action = f"{verb.base} {other.object} {english}"
    if draw.chance(0.5):
        want = "wants" if person.agreement == "he" else "want"
        return statement(
            f"{person.english} {want} to {action}",
            f"{person.chinese}想{chinese}",
        )
    time, chinese_time = times.future_time(draw)
    return statement(
        f"{person.english} {person.be} going to {action} {time}",
        f"{person.chinese}{chinese_time}要{chinese}",
    )


def received(draw: Draw) -> Pair:
    """I borrowed a book from Tom. / She received a letter yesterday."""
    person = subject(draw)
    other = other_person(draw, person)
    time, chinese_time = times.past_time(draw)
    if draw.chance(0.6):
        english, chinese = counted_things(draw, _LENT, 3)
        return statement(
            f"{person.english} borrowed {english} from {other.object} {time}",
            f"{person.chinese}{chinese_time}跟{other.chinese}借了{chinese}",
        )
    things = nouns.READING[-1:] + nouns.GIFTS[:1] + nouns.BELONGINGS[6:7]
    english, chinese = counted_things(draw, things, 5)
    return statement(
        f"{person.english} received {english} {time}",
        f"{person.chinese}{chinese_time}收到了{chinese}",
    )


_SUBJECTS = (
    ("English", "英语"),
    ("Chinese", "中文"),
    ("math", "数学"),
    ("history", "历史"),
    ("music", "音乐"),
)


def taught(draw: Draw) -> Pair:
    """She teaches us English. / He asked the teacher three questions."""
    person = subject(draw)
    other = other_person(draw, person)
    style = draw.below(4)
    if style == 0:
        time, chinese_time = times.past_time(draw)
        english, chinese = counted_things(draw, _QUESTIONS, 5)
        return statement(
            f"{person.english} asked {other.object} {english} {time}",
            f"{person.chinese}{chinese_time}问了{other.chinese}{chinese}",
        )
    if style == 1:
        time, chinese_time = times.past_time(draw)
        english, chinese = counted_things(draw, _STORIES, 3)
        return statement(
            f"{person.english} told {other.object} {english} {time}",
            f"{person.chinese}{chinese_time}给{other.chinese}讲了{chinese}",
        )
    english, chinese = draw.one(_SUBJECTS)
    if style == 2:
        return statement(
            f"{person.english} {person.present(VERBS['teach'])} "
            f"{other.object} {english}",
            f"{person.chinese}教{other.chinese}{chinese}",
        )
    return question(
        f"can {person.english} teach {other.object} {english}",
        f"{person.chinese}能教{other.chinese}{chinese}吗",
    )


_QUESTIONS = (nouns.Noun("question", "questions", "问题", "个"),)
_STORIES = (nouns.Noun("story", "stories", "故事", "个"),)


_PUT_SPOTS = tuple(spot for spot in places.SPOTS if "under" not in spot[0])


def put_away(draw: Draw) -> Pair:
    """He put his key on the table. 他把他的钥匙放在桌子上了."""
    person = known_person(draw)
    noun = draw.one(nouns.BELONGINGS + nouns.BOOKS)
    if draw.chance(0.5):
        english, chinese = owned(person, noun.singular, noun.chinese)
    else:
        english, chinese = f"the {noun.singular}", noun.chinese
    spot, chinese_spot = draw.one(_PUT_SPOTS)
    style = draw.below(4)
    if style == 0:
        return statement(
            f"please put the {noun.singular} {spot}",
            f"请把{noun.chinese}放在{chinese_spot}",
        )
    if style == 1:
        time, chinese_time = times.past_time(draw)
        place = draw.one(places.GOALS)
        return statement(
            f"{person.english} left {english} {place.located} {time}",
            f"{person.chinese}{chinese_time}把{chinese}忘在{place.chinese}了",
        )
    return statement(
        f"{person.english} put {english} {spot}",
        f"{person.chinese}把{chinese}放在{chinese_spot}了",
    )


def passive(draw: Draw) -> Pair:
    """My bicycle was stolen yesterday. / The cup was broken by Tom."""
    verb, chinese_verb, things = draw.one(
        (
            ("stolen", "偷走", nouns.BELONGINGS[7:] + nouns.VEHICLES[:2]),
            ("sold", "卖掉", nouns.VEHICLES + nouns.FURNITURE),
            ("broken", "弄坏", nouns.DEVICES + nouns.FURNITURE[:2]),
            ("borrowed", "借走", nouns.BOOKS + nouns.VEHICLES[:2]),
        )
    )
    noun = draw.one(things)
    owner = draw.one(PRONOUNS) if draw.chance(0.6) else named_person(draw)
    english = f"{owner.of} {noun.singular}"
    chinese = f"{owner.chinese}的{noun.chinese}"
    time, chinese_time = times.past_time(draw)
    if verb == "stolen" or draw.chance(0.4):
        return statement(
            f"{english} was {verb} {time}",
            f"{chinese}{chinese_time}被{chinese_verb}了",
        )
    agent = couple(draw) if draw.chance(0.1) else named_person(draw)
    if agent.english == owner.english:
        return statement(
            f"{english} was {verb} {time}",
            f"{chinese}{chinese_time}被{chinese_verb}了",
        )
    return statement(
        f"{english} was {verb} by {agent.object} {time}",
        f"{chinese}{chinese_time}被{agent.chinese}{chinese_verb}了",
    )
