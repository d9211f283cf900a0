"""Traditional to simplified Chinese by OpenCC, in plain Python.

`keras_transformer.text.chinese` is the same as graph code.
"""

import functools
import importlib.resources
import re
from collections.abc import Iterable, Iterator

import opencc


def simplify(lines: Iterable[str]) -> Iterator[str]:
    """Each line as OpenCC writes it in simplified characters (t2s)."""
    convert, changing = _converter().convert, _changing().search
    for line in lines:
        # OpenCC takes its time, and most lines have nothing for it.
        yield convert(line) if changing(line) else line


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
    """Matches in every line that OpenCC may change, and in few others."""
    characters, phrases = (
        {key for key, value in simplified(name).items() if key != value}
        for name in ("TSCharacters.txt", "TSPhrases.txt")
    )
    phrases = filter(characters.isdisjoint, phrases)
    alternatives = ["[" + "".join(map(re.escape, characters)) + "]"]
    return re.compile("|".join([*alternatives, *map(re.escape, phrases)]))
