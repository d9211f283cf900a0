"""What a word is: both languages, and the forms that the grammar needs."""

from dataclasses import dataclass

Pair = tuple[str, str]

_VOWELS = "aeiou"
# Spelt with one kind of sound, spoken with the other.
_SILENT_H = ("hour",)
_SPOKEN_YOU = ("university",)


@dataclass(frozen=True, slots=True)
class Noun:
    """A thing that can be counted: 三本书 is number, measure word, noun."""

    singular: str
    plural: str
    chinese: str
    measure: str


@dataclass(frozen=True, slots=True)
class Adjective:
    """An adjective; `attributive` is its form before a noun (新, 漂亮的)."""

    english: str
    comparative: str
    superlative: str
    chinese: str
    attributive: str


@dataclass(frozen=True, slots=True)
class Verb:
    """The five English forms of a verb."""

    base: str
    third: str
    past: str
    participle: str
    gerund: str

    @classmethod
    def from_forms(cls, forms: str) -> "Verb":
        """From `base past participle [gerund [third]]`, the rest by rule."""
        base, past, participle, *rest = forms.split()
        gerund = rest[0] if rest else regular_gerund(base)
        third = rest[1] if len(rest) > 1 else regular_third(base)
        return cls(base, third, past, participle, gerund)


@dataclass(frozen=True, slots=True)
class Activity:
    """A verb with its usual object: "listen to music", 听 + 音乐.

    The Chinese verb and object stay apart because 了, 过 and durations go
    between them (听了两个小时音乐). `places` are keys of `places.PLACES`
    where people do this; empty where it needs no place.
    """

    verb: Verb
    tail: str
    chinese_verb: str
    chinese_object: str
    places: tuple[str, ...]

    @property
    def chinese(self) -> str:
        return self.chinese_verb + self.chinese_object

    def english(self, form: str) -> str:
        """The English words, the verb in the form of that name."""
        return joined(getattr(self.verb, form), self.tail)


def regular_third(base: str) -> str:
    """drink -> drinks, watch -> watches, study -> studies."""
    if base.endswith(("s", "x", "ch", "sh", "o")):
        return base + "es"
    if base.endswith("y") and base[-2] not in _VOWELS:
        return base[:-1] + "ies"
    return base + "s"


def regular_gerund(base: str) -> str:
    """drink -> drinking, write -> writing, see -> seeing."""
    if base.endswith("e") and not base.endswith("ee"):
        return base[:-1] + "ing"
    return base + "ing"


def joined(*parts: str) -> str:
    """The parts that aren't empty, one space between them."""
    return " ".join(part for part in parts if part)


def with_article(words: str) -> str:
    """a book, an apple, an hour, a university."""
    vowel = words[0].lower() in _VOWELS and not words.startswith(_SPOKEN_YOU)
    return ("an " if vowel or words.startswith(_SILENT_H) else "a ") + words


def statement(english: str, chinese: str) -> Pair:
    """A sentence that ends in a full stop."""
    return _sentence(english, "."), chinese + "。"


def question(english: str, chinese: str) -> Pair:
    """A sentence that ends in a question mark."""
    return _sentence(english, "?"), chinese + "？"


def _sentence(english: str, mark: str) -> str:
    return english[0].upper() + english[1:] + mark
