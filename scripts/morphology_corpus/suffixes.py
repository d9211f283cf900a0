"""Suffixes of the invented language: vowel harmony and sounds that change.

A suffix is written with `A` for a vowel that is *a* after a back vowel and *e*
after a front one, `I` for one of *ı i u ü*, which is rounded after a rounded
vowel, too, `D` for *d* that is *t* after a voiceless consonant, and in brackets
what stands only after a vowel, `(y)` or `(n)`, or, `(I)`, after a consonant.
"""

BACK, FRONT = "aıou", "eiöü"
VOWELS = BACK + FRONT
_ROUNDED = "ouöü"
_VOICELESS = "çfhkpsşt"
# What a voiceless stop at the end of a stem becomes before a vowel.
_VOICED = {"p": "b", "t": "d", "k": "g", "ç": "c"}


def inflect(stem: str, *suffixes: str) -> str:
    """A stem with suffixes, one after the other.

    Args:
        stem: a word with at least one vowel.
        suffixes: as the module says; empty ones are left out.
    """
    word = stem
    for suffix in filter(None, suffixes):
        word = _with(word, suffix)
    return word


def _with(word, suffix):
    before = word[-1]
    if suffix.startswith("("):
        optional, rest = suffix[1], suffix[3:]
        wanted = (before in VOWELS) != (optional in "IA")
        suffix = optional + rest if wanted else rest
    for letter in suffix:
        if letter in "AI":
            letter = _vowel(word, letter)
        elif letter == "D":
            letter = "t" if word[-1] in _VOICELESS else "d"
        if letter in VOWELS and word[-1] in _VOICED and word[-1] == before:
            word = word[:-1] + _VOICED[before]
        before = ""  # Only the sound before the suffix changes.
        word += letter
    return word


def _vowel(word, kind):
    last = next(letter for letter in reversed(word) if letter in VOWELS)
    back, rounded = last in BACK, last in _ROUNDED
    if kind == "A":
        return "a" if back else "e"
    return ("u" if rounded else "ı") if back else ("ü" if rounded else "i")
