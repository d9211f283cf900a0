#!/usr/bin/env python3
"""Compares the graph's sentences with those of sentencex.

    pip install sentencex==1.0.32
    .venv/bin/python scripts/tools/split_agreement.py --language de texts.txt

Texts, a line each, agree if both split them at the same places; tags of markup,
which sentencex takes for words, are removed. The places of a random choice of
the others are written for a reader to judge: `T` is one of sentencex alone,
`O` one of ours.
"""

import argparse
import pathlib
import random
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

import tensorflow as tf

from keras_transformer.text.sentences import SentenceSplitter

_AROUND = 28  # characters shown on both sides of a place


def main(arguments: list[str] | None = None) -> None:
    """Runs the command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("texts", type=pathlib.Path)
    parser.add_argument("--language", required=True)
    parser.add_argument("--differences", type=int, default=50)
    options = parser.parse_args(arguments)
    import sentencex

    lines = options.texts.read_text(encoding="utf-8").split("\n")
    lines = [re.sub("<[^<>]*>", "", line).strip() for line in lines]
    texts = list(dict.fromkeys(filter(None, lines)))
    ours = our_places(texts, options.language)
    theirs = [
        places(sentencex.segment(options.language, text)) for text in texts
    ]
    different = [
        shown(text, mine, other)
        for text, mine, other in zip(texts, ours, theirs, strict=True)
        if mine != other
    ]
    share = 1 - len(different) / len(texts)
    several = sum(map(bool, theirs))
    print(f"{len(texts)} texts, {several} of several sentences: {share:.2%}")
    chosen = min(options.differences, len(different))
    print(*random.Random(1).sample(different, chosen), sep="\n")


def our_places(texts, language):
    """The places where the graph splits texts, a set for each."""
    sentences = SentenceSplitter(language).split(tf.constant(texts))
    parts = [[] for _ in texts]
    rows, gaps, pieces = (
        tensor.numpy()
        for tensor in (sentences.rows, sentences.gaps, sentences.texts)
    )
    for row, gap, piece in zip(rows, gaps, pieces, strict=True):
        parts[row].append((gap + piece).decode())
    return [places(one) for one in parts]


def places(parts):
    """Ends of parts but the last, in characters that aren't white space."""
    ends, end = set(), 0
    for part in parts:
        end += len("".join(part.split()))
        ends.add(end)
    return ends - {0, end}


def shown(text, ours, theirs):
    """The places of one splitter alone, with what is around them."""
    at = [i for i, character in enumerate(text) if not character.isspace()]
    return " ; ".join(
        f"{'O' if place in ours else 'T'}: "
        f"{text[max(0, at[place] - _AROUND) : at[place]]}|"
        f"{text[at[place] : at[place] + _AROUND]}"
        for place in sorted(ours ^ theirs)
    )


if __name__ == "__main__":
    main()
