"""A corpus of any size, made of the built-in one: the same for the same size.

A pair is a sentence of the built-in corpus with a year, or two of them. One of
forty pairs stands in the corpus already, and as many do so but for case and the
last mark.
"""

import pathlib

import numpy as np

_BLOCK = 100_000  # pairs drawn together
# Half of them draw themselves, as earlier pairs are looked for in the block.
_REPEATED, _NEARLY_REPEATED = 0.05, 0.05
_JOINED = 0.4


def write_corpus(path: pathlib.Path, pairs: int, seed: int = 1):
    """Writes so many pairs, English to Chinese, as a TSV file."""
    from keras_transformer.data.demo import load_demo_corpus

    sentences = [pair for part in load_demo_corpus() for pair in part]
    random = np.random.default_rng(seed)
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for start in range(0, pairs, _BLOCK):
            count = min(_BLOCK, pairs - start)
            file.writelines(_lines(sentences, random, count))


def _lines(sentences, random, count):
    first, second = random.integers(len(sentences), size=(2, count)).tolist()
    years = random.integers(1, 100_000, size=count).tolist()
    joined, changed = random.random((2, count)).tolist()
    earlier = random.integers(count, size=count).tolist()
    made = []
    for i in range(count):
        chosen = changed[i] < _REPEATED + _NEARLY_REPEATED
        k = min(earlier[i], i) if chosen else i
        english, chinese = sentences[first[k]]
        if joined[k] < _JOINED:
            other = sentences[second[k]]
            english, chinese = f"{english} {other[0]}", f"{chinese}{other[1]}"
        else:
            english = f"In {years[k]}, {english[0].lower()}{english[1:]}"
            chinese = f"{years[k]}年，{chinese}"
        if _REPEATED < changed[i] < _REPEATED + _NEARLY_REPEATED:
            english, chinese = english.upper()[:-1] + "!", f"{chinese[:-1]}！"
        made.append(f"{english}\t{chinese}\n")
    return made
