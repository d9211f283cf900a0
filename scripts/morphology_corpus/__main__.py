"""Writes pairs of English and an invented language of rich morphology.

    python -m scripts.morphology_corpus --size 20000 > train.tsv
    python -m scripts.morphology_corpus --size 1000 --part 1 > dev.tsv

Called in the root of the checkout. The same options give the same pairs. Parts
share no sentence of either language with part 0.
"""

import argparse
import zlib

from scripts.demo_corpus.draw import Draw
from scripts.morphology_corpus.grammar import Grammar

_PARTS = 8


def main(arguments: list[str] | None = None) -> None:
    """Parses the options and prints the pairs, tab-separated."""
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        prog="python -m scripts.morphology_corpus",
    )
    parser.add_argument("--size", type=int, default=20_000, metavar="N")
    parser.add_argument(
        "--part",
        type=int,
        default=0,
        choices=range(_PARTS),
        help="another part has other sentences (default: %(default)s)",
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    options = parser.parse_args(arguments)
    for english, other in pairs(options.size, options.part, options.seed):
        print(f"{english}\t{other}")


def pairs(size: int, part: int = 0, seed: int = 1) -> list[tuple[str, str]]:
    """Different pairs of a part, in the order in which they are drawn."""
    draw, grammar = Draw(seed), Grammar(seed)
    found: dict[tuple[str, str], None] = {}
    while len(found) < size:
        english, other = grammar.pair(draw)
        # By the other language's sentence: several English ones may have it.
        if zlib.crc32(other.encode()) % _PARTS == part:
            found[english, other] = None
    return list(found)


if __name__ == "__main__":
    main()
