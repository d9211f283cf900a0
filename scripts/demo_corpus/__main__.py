"""Writes the corpus that `keras-transformer demo` trains on.

    python -m scripts.demo_corpus [--out FILE]

Called in the root of the checkout. Each line is one pair: English, Chinese,
and how many random numbers the grammar drew for the pair, from which the
package knows the state of the generator after any number of pairs.
"""

import argparse
import gzip
import pathlib

from keras_transformer.data.demo import CORPUS_FILE, SEED, SIZE
from scripts.demo_corpus.corpus import draw_pairs
from scripts.demo_corpus.draw import Draw


def main(arguments=None) -> None:
    """Parses the options and writes the file."""
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        prog="python -m scripts.demo_corpus",
    )
    parser.add_argument(
        "--out",
        type=pathlib.Path,
        default=CORPUS_FILE,
        metavar="FILE",
        help="default: %(default)s",
    )
    out = parser.parse_args(arguments).out
    # Neither name nor time of the file, so that the same corpus is the same
    # bytes.
    with (
        out.open("wb") as file,
        gzip.GzipFile("", "wb", 9, file, mtime=0) as compressed,
    ):
        compressed.write(corpus_lines(SIZE).encode("utf-8"))


def corpus_lines(size: int) -> str:
    """The first `size` pairs as lines "English TAB Chinese TAB draws"."""
    draw = Draw(SEED)
    lines = []
    before = 0
    for _, (english, chinese) in draw_pairs(draw, size):
        lines.append(f"{english}\t{chinese}\t{draw.draws - before}\n")
        before = draw.draws
    return "".join(lines)


if __name__ == "__main__":
    main()
