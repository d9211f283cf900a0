"""Traditional to simplified Chinese by OpenCC, in plain Python.

`text.normalization.Simplifier` does the same in graph code.
"""

import collections
import functools
import importlib.resources
from collections.abc import Iterable, Iterator

import opencc


def simplify(lines: Iterable[str]) -> Iterator[str]:
    """Converts lines to simplified characters with OpenCC (t2s)."""
    convert, unchanged = _converter().convert, _changing().isdisjoint
    for line in lines:
        # OpenCC is slow, and has nothing to convert in most lines.
        yield line if unchanged(line) else convert(line)


@functools.cache
def simplified(name: str) -> dict[str, str]:
    """The entries of one of OpenCC's dictionaries, as OpenCC converts them.

    The dictionary's second column may have several values, so OpenCC itself is
    asked which one it uses.

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
    """Characters of which each line that OpenCC changes has at least one."""
    characters, phrases = (
        {key for key, value in simplified(name).items() if key != value}
        for name in ("TSCharacters.txt", "TSPhrases.txt")
    )
    # Phrases without any of these add a few others, such as 瞭 and 藉.
    while phrases := set(filter(characters.isdisjoint, phrases)):
        counts = collections.Counter("".join(sorted(phrases)))
        characters.add(counts.most_common(1)[0][0])
    return characters
