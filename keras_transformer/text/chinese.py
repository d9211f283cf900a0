"""Traditional to simplified Chinese by OpenCC, in plain Python.

`text.normalization.Simplifier` is the same as graph code.
"""

import collections
import functools
import importlib.resources
from collections.abc import Iterable, Iterator

import opencc


def simplify(lines: Iterable[str]) -> Iterator[str]:
    """Each line as OpenCC writes it in simplified characters (t2s)."""
    convert, unchanged = _converter().convert, _changing().isdisjoint
    for line in lines:
        # OpenCC takes its time, and most lines have nothing for it.
        yield line if unchanged(line) else convert(line)


@functools.cache
def simplified(name: str) -> dict[str, str]:
    """The entries of one of OpenCC's dictionaries, with what it makes of them.

    Asking OpenCC instead of reading its second column settles which of
    several values it takes.

    Args:
        name: "TSPhrases.txt" or "TSCharacters.txt".
    """
    path = importlib.resources.files("opencc") / "dictionary" / name
    lines = path.read_text(encoding="utf-8").splitlines()
    keys = [line.split("\t")[0] for line in lines if line]
    return {key: _converter().convert(key) for key in keys}


@functools.cache
def _converter():
    return opencc.OpenCC("t2s")


@functools.cache
def _changing():
    """Characters of which every line has one that OpenCC changes."""
    characters, phrases = (
        {key for key, value in simplified(name).items() if key != value}
        for name in ("TSCharacters.txt", "TSPhrases.txt")
    )
    # Phrases of none of these have a few others, such as 瞭 and 藉.
    while phrases := set(filter(characters.isdisjoint, phrases)):
        counts = collections.Counter("".join(sorted(phrases)))
        characters.add(counts.most_common(1)[0][0])
    return characters
