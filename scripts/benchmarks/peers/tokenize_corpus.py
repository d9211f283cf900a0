"""Tokens of a corpus for the peers, as the notebooks cut them.

Runs in OpenNMT-tf's environment: tokenize_corpus.py FOLDER. Writes
`train.en`, `train.zh`, `dev.en` and `dev.zh` into the working folder.
"""

import pathlib
import sys

from nltk.tokenize import NLTKWordTokenizer
from opencc import OpenCC


def main(folder):
    """English as lower-cased words, Chinese as simplified characters."""
    words, simplify = NLTKWordTokenizer(), OpenCC("t2s")
    for name in ("train", "dev"):
        with (
            (folder / f"{name}.tsv").open(encoding="utf-8") as lines,
            pathlib.Path(f"{name}.en").open("w", encoding="utf-8") as english,
            pathlib.Path(f"{name}.zh").open("w", encoding="utf-8") as chinese,
        ):
            for line in lines:
                source, target = line.rstrip("\n").split("\t")[:2]
                tokens = words.tokenize(source.lower())
                english.write(" ".join(tokens) + "\n")
                characters = filter(str.strip, simplify.convert(target))
                chinese.write(" ".join(characters) + "\n")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
