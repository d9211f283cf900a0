"""The pairs of the demo's corpus, drawn from the grammar."""

from collections.abc import Iterable

from keras_transformer.errors import InputError
from scripts.demo_corpus.constructions import CONSTRUCTIONS
from scripts.demo_corpus.draw import Draw
from scripts.demo_corpus.words import Pair

# A construction is used up once this many draws in a row gave nothing new.
_PATIENCE = 60


def draw_pairs(draw: Draw, size: int) -> Iterable[tuple[str, Pair]]:
    """Yields (construction, pair), all different on both sides.

    Raises:
        InputError: the grammar has fewer sentences than that.
    """
    active = list(CONSTRUCTIONS)
    english_drawn: set[str] = set()
    chinese_drawn: set[str] = set()
    made = 0
    while made < size:
        if not active:
            raise InputError(
                f"the demo's corpus was asked for {size} pairs; its grammar "
                f"gave {made} with this seed. Accepted: a smaller size"
            )
        construct = draw.one(active)
        for _ in range(_PATIENCE):
            english, chinese = construct(draw)
            if english not in english_drawn and chinese not in chinese_drawn:
                break
        else:
            active.remove(construct)
            continue
        english_drawn.add(english)
        chinese_drawn.add(chinese)
        made += 1
        yield construct.__name__, (english, chinese)
