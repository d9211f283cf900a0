"""The built-in corpus: drawn from the grammar, split, the same every time."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

from keras_transformer.data.builtin.constructions import CONSTRUCTIONS
from keras_transformer.data.builtin.draw import Draw
from keras_transformer.data.builtin.words import Pair
from keras_transformer.errors import InputError

DEFAULT_SEED = 20_250_101
# A construction is used up once this many draws in a row were seen before.
_PATIENCE = 60
# A held-out sentence has no word that training shows fewer times than this.
_LEAST_SEEN = 5


class BuiltinCorpus(NamedTuple):
    """English-Chinese pairs; no sentence stands in two of the lists."""

    train: list[Pair]
    dev: list[Pair]
    test: list[Pair]


def generate_corpus(
    seed: int = DEFAULT_SEED,
    train_size: int = 22_000,
    dev_size: int = 600,
    test_size: int = 600,
) -> BuiltinCorpus:
    """Draws the corpus from the grammar.

    No English and no Chinese sentence occurs twice, so each English sentence
    has one Chinese, and the three lists share no sentence on either side.
    Every word and every character of `dev` and `test` is common in `train`.

    Args:
        seed: same seed and sizes, same corpus, on every machine and Python.
        train_size: number of training pairs.
        dev_size: number of held-out pairs for development.
        test_size: number of held-out pairs for the final test.

    Raises:
        InputError: the grammar has fewer sentences than were asked for, or
            training is too small to show every word of the held-out pairs.
    """
    draw = Draw(seed)
    total = train_size + dev_size + test_size
    pairs = draw.shuffled([pair for _, pair in draw_pairs(draw, total)])
    held_out = _choose_held_out(pairs, dev_size + test_size)
    train = [pair for i, pair in enumerate(pairs) if i not in held_out]
    kept = [pairs[i] for i in sorted(held_out)]
    return BuiltinCorpus(train, kept[:dev_size], kept[dev_size:])


def draw_pairs(draw: Draw, size: int) -> Iterable[tuple[str, Pair]]:
    """Yields (construction, pair), all different on both sides.

    Raises:
        InputError: the grammar has fewer sentences than that.
    """
    active = list(CONSTRUCTIONS)
    english_seen: set[str] = set()
    chinese_seen: set[str] = set()
    made = 0
    while made < size:
        if not active:
            raise InputError(
                f"the built-in corpus was asked for {size} pairs; its grammar "
                f"gave {made} with this seed. Accepted: a smaller size"
            )
        construct = draw.one(active)
        for _ in range(_PATIENCE):
            english, chinese = construct(draw)
            if english not in english_seen and chinese not in chinese_seen:
                break
        else:
            active.remove(construct)
            continue
        english_seen.add(english)
        chinese_seen.add(chinese)
        made += 1
        yield construct.__name__, (english, chinese)


def units(pair: Pair) -> list[str]:
    """The lower-cased English words and the Chinese characters of a pair."""
    english, chinese = pair
    return [*english[:-1].replace(",", "").lower().split(), *chinese]


def _choose_held_out(pairs: list[Pair], size: int) -> set[int]:
    """Positions whose removal leaves each of their words common enough."""
    left = Counter(unit for pair in pairs for unit in units(pair))
    chosen: set[int] = set()
    for position, pair in enumerate(pairs):
        if len(chosen) == size:
            break
        used = Counter(units(pair))
        if all(left[unit] - n >= _LEAST_SEEN for unit, n in used.items()):
            left.subtract(used)
            chosen.add(position)
    if len(chosen) < size:
        raise InputError(
            f"the built-in corpus found {len(chosen)} held-out pairs without "
            f"rare words, not {size}. Accepted: more training pairs"
        )
    return chosen


Construction = Callable[[Draw], Pair]
