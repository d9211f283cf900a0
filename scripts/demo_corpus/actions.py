"""Actions that several constructions place and count."""

from scripts.demo_corpus import places
from scripts.demo_corpus.activities import TRADES
from scripts.demo_corpus.draw import Draw
from scripts.demo_corpus.numbers import counted
from scripts.demo_corpus.phrases import counted_things, some_number
from scripts.demo_corpus.words import Activity, Pair, Verb


def at_place(draw: Draw, activity: Activity, probability: float) -> Pair:
    """The words " at the library" and 在图书馆, with this probability."""
    if not activity.places or not draw.chance(probability):
        return "", ""
    place = places.PLACES[draw.one(activity.places)]
    return f" {place.located}", f"在{place.chinese}"


def trade(draw: Draw, among=TRADES) -> tuple[Verb, str, str, str]:
    """A verb, its Chinese, and counted things that suit it."""
    verb, chinese_verb, things = draw.one(among)
    most = 6 if verb.base in ("buy", "eat", "draw") else 3
    if verb.base == "make":
        # The new table is plain: nobody makes it cheap on purpose.
        noun = draw.one(things)
        return verb, chinese_verb, *counted(some_number(draw, most), noun)
    return verb, chinese_verb, *counted_things(draw, things, most)
