"""Demo corpus: English-Chinese pairs that the package ships.

They were drawn from a grammar outside the package (`scripts/demo_corpus`), so
nothing need be downloaded. A corpus of any size is a first part of the file,
shuffled with the generator as the grammar left it after that part.
"""

import gzip
import itertools
import pathlib
import random
from collections import Counter
from typing import NamedTuple

from keras_transformer.data.corpus import Pair
from keras_transformer.errors import InputError

CORPUS_FILE = pathlib.Path(__file__).with_name("demo_corpus.tsv.gz")
SEED = 20_250_101  # of the grammar's draws
SIZE = 23_200  # pairs in the file
# A held-out sentence has no word that training has fewer times than this.
_MIN_COUNT = 5


class DemoCorpus(NamedTuple):
    """English-Chinese pairs; no sentence is in two of the lists."""

    train: list[Pair]
    dev: list[Pair]
    test: list[Pair]


def load_demo_corpus(
    train_size: int = 22_000, dev_size: int = 600, test_size: int = 600
) -> DemoCorpus:
    """Reads the corpus; the same sizes give the same lists everywhere.

    No English and no Chinese sentence occurs twice, so each English sentence
    has one Chinese, and the three lists share no sentence on either side.
    Every word and every character of `dev` and `test` is common in `train`.

    Args:
        train_size: number of training pairs.
        dev_size: number of held-out pairs for development.
        test_size: number of held-out pairs for the final test.

    Raises:
        InputError: the file has fewer pairs than were asked for, or training
            is too small to show every word of the held-out pairs.
    """
    held_out_size = dev_size + test_size
    pairs = _shuffled_pairs(train_size + held_out_size)
    held_out = _choose_held_out(pairs, held_out_size)
    train = [pair for i, pair in enumerate(pairs) if i not in held_out]
    kept = [pairs[i] for i in sorted(held_out)]
    return DemoCorpus(train, kept[:dev_size], kept[dev_size:])


def words_of(pair: Pair) -> list[str]:
    """The lower-cased English words and the Chinese characters of a pair."""
    english, chinese = pair
    return [*english[:-1].replace(",", "").lower().split(), *chinese]


def _shuffled_pairs(size: int) -> list[Pair]:
    if size > SIZE:
        raise InputError(
            f"the built-in corpus was asked for {size} pairs; it has {SIZE}, "
            "with those held out. Accepted: a smaller size"
        )
    generator = random.Random(SEED)
    pairs = []
    with gzip.open(CORPUS_FILE, "rt", encoding="utf-8", newline="\n") as lines:
        for line in itertools.islice(lines, max(0, size)):
            english, chinese, draws = line.rstrip("\n").split("\t")
            pairs.append((english, chinese))
            for _ in range(int(draws)):
                generator.random()
    # Fisher and Yates by `random()`, the one method whose sequence Python
    # promises to keep between versions.
    for last in range(len(pairs) - 1, 0, -1):
        other = int(generator.random() * (last + 1))
        pairs[last], pairs[other] = pairs[other], pairs[last]
    return pairs


def _choose_held_out(pairs: list[Pair], size: int) -> set[int]:
    """Indices whose removal leaves each of their words common enough."""
    left = Counter(word for pair in pairs for word in words_of(pair))
    chosen: set[int] = set()
    for index, pair in enumerate(pairs):
        if len(chosen) == size:
            break
        used = Counter(words_of(pair))
        if all(left[word] - n >= _MIN_COUNT for word, n in used.items()):
            left.subtract(used)
            chosen.add(index)
    if len(chosen) < size:
        raise InputError(
            f"the built-in corpus has {len(chosen)} held-out pairs without "
            f"rare words, not {size}. Accepted: more training pairs"
        )
    return chosen
