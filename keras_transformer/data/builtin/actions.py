"""Actions that several constructions place and count."""

from keras_transformer.data.builtin import places
from keras_transformer.data.builtin.activities import TRADES
from keras_transformer.data.builtin.draw import Draw
from keras_transformer.data.builtin.numbers import counted
from keras_transformer.data.builtin.phrases import counted_things, some_number
from keras_transformer.data.builtin.words import Activity, Pair, Verb


def at_place(draw: Draw, activity: Activity, share: float) -> Pair:
    """The words " at the library" and 在图书馆, in this share of the calls."""
    if not activity.places or not draw.chance(share):
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
