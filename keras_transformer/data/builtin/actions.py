"""Actions that several constructions place and count."""

from keras_transformer.data.builtin import places
from keras_transformer.data.builtin.activities import TRADES
from keras_transformer.data.builtin.draw import Draw
from keras_transformer.data.builtin.phrases import counted_things
from keras_transformer.data.builtin.words import Activity, Pair


def at_place(draw: Draw, activity: Activity, share: float) -> Pair:
    """ " at the library" and 在图书馆, in this share of the calls."""
    if not activity.places or not draw.chance(share):
        return "", ""
    place = places.PLACES[draw.one(activity.places)]
    return f" {place.located}", f"在{place.chinese}"


def trade(draw: Draw, among=TRADES, most: int = 5) -> tuple:
    """A verb, its Chinese, and counted things that suit it."""
    verb, chinese_verb, things = draw.one(among)
    english, chinese = counted_things(draw, things, most)
    return verb, chinese_verb, english, chinese
