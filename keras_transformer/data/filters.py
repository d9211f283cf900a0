"""Filters: checks of a training pair's text, chosen by `data.filters`.

Each looks at one pair alone, and passes what it can't tell: a text without
letters but those of markup, a language that isn't known, a number that the
other side spells out.
The filter `alignment` has to know the corpus: see `data.alignment`.
"""

import functools
import importlib.util
import re
import unicodedata
from collections.abc import Callable

from keras_transformer.config.data import DataConfig
from keras_transformer.data.corpus import Pair
from keras_transformer.documents.markup import MARKUP
from keras_transformer.errors import InputError, not_installed
from keras_transformer.languages import (
    base_language,
    fraction_in_scripts,
    is_chinese,
    scripts_of_language,
)

# The reason under which a filter drops pairs.
REASONS = {
    "script": "wrong_script",
    "copies": "copied",
    "language": "wrong_language",
    "numbers": "other_numbers",
    "alignment": "unaligned",
}
ALIGNMENT = "alignment"
_PACKAGE = "py3langid"
# By how much another language has to be more probable, natural logarithm: more
# than what is too short to tell reaches.
_MARGIN = 15.0
_LONGEST = 400  # characters that are looked at
_MARKUP = re.compile(MARKUP, re.DOTALL)
_DIGITS = re.compile(r"\d+")
# With what languages put between the digits of a number.
_NUMBER = re.compile(r"\d+(?:[.,:'’·٫٬，．\s]\d+)*")
# Numbers that go on in words: "3万", "1.5 million", "2 Mrd."
_WITH_WORD = re.compile(
    r"(?<![\d.,])\d[\d.,]*\s*(?:[千万萬亿億兆천만억]|mill?i|bill?i|thousand|mio|"
    r"mrd|bn\b|тыс|млн|млрд|lakh|crore)",
    re.IGNORECASE,
)


def check_filters(config: DataConfig) -> None:
    """Refuses filters that can't work here, before they have any work.

    Raises:
        InputError: the filter `language` lacks its package, or knows neither
            language.
    """
    if "language" not in config.filters:
        return
    if importlib.util.find_spec(_PACKAGE) is None:
        raise not_installed(_PACKAGE, "filters", "or other data.filters")
    languages = config.source_language, config.target_language
    if not any(_code(language) in _identifier()[1] for language in languages):
        raise InputError(
            f"the filter language knows neither {languages[0]} nor "
            f"{languages[1]}. Accepted: other data.filters"
        )


def text_filters(config: DataConfig) -> dict[str, Callable[[Pair], bool]]:
    """The filters of a configuration but `alignment`.

    Returns:
        for each reason, in the order of `REASONS`, a function that is True of
        a pair that passes.
    """
    languages = config.source_language, config.target_language
    made: dict[str, Callable[[], Callable[[Pair], bool]]] = {
        "script": lambda: functools.partial(
            _is_in_scripts, tuple(map(scripts_of_language, languages))
        ),
        "copies": lambda: _is_no_copy,
        "language": lambda: _LanguageFilter(languages),
        "numbers": lambda: _has_same_numbers,
    }
    return {
        REASONS[name]: make()
        for name, make in made.items()
        if name in config.filters
    }


def _is_in_scripts(scripts, pair):
    """True if both sides are mostly in the scripts of their languages.

    A side passes if half of its words are (see `fraction_in_scripts`), if it
    has no letters, or if its language has no known script.
    """
    for text, known in zip(map(_plain, pair), scripts, strict=True):
        fraction = fraction_in_scripts(text, known) if known else None
        if fraction is not None and fraction < 0.5:
            return False
    return True


def _is_no_copy(pair):
    """True if the sides differ in more than case, white space and markup.

    Pairs without letters pass: a number is its own translation.
    """
    source, target = ("".join(_plain(text).casefold().split()) for text in pair)
    return source != target or not any(map(str.isalpha, target))


def _plain(text):
    """A text without tags, placeholders and addresses: of no language."""
    return _MARKUP.sub(" ", text)


class _LanguageFilter:
    """True if neither side is plainly in another language than its own.

    References: Lui and Baldwin 2012, "langid.py: An Off-the-shelf Language
    Identification Tool"; py3langid 0.4.
    """

    def __init__(self, languages):
        self._identifier, labels = _identifier()
        codes = [_code(language) for language in languages]
        self._codes = [code if code in labels else None for code in codes]

    def __call__(self, pair):
        return all(map(self._may_be, map(_plain, pair), self._codes))

    def _may_be(self, text, code):
        if code is None:
            return True
        ranked = self._identifier.rank(text[:_LONGEST])
        _, best = ranked[0]
        return best - dict(ranked)[code] < _MARGIN


@functools.cache
def _identifier():
    """The identifier and the languages that it knows.

    Those with codes of two letters: of the others, some are dialects, and
    some hardly written.
    """
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE)
    labels = [label for label in identifier.labels if len(label) == 2]
    identifier.set_languages(labels)
    return identifier, labels


def _code(language):
    """The code by which py3langid would know a language."""
    if is_chinese(language):
        return "zh"
    base = base_language(language)
    return "no" if base == "nb" else base


def _has_same_numbers(pair):
    """True unless each side has a number that the other lacks.

    A side may spell some out. Separators and zeros before don't matter.
    """
    texts = [
        _WITH_WORD.sub(
            " ", text if text.isascii() else _with_ascii_digits(text)
        )
        for text in map(_plain, pair)
    ]
    return any(
        source <= target or target <= source
        for source, target in (map(find, texts) for find in (_parts, _numbers))
    )


def _parts(text):
    return {digits.lstrip("0") for digits in _DIGITS.findall(text)}


def _numbers(text):
    return {re.sub(r"\D", "", found) for found in _NUMBER.findall(text)}


def _with_ascii_digits(text):
    return re.sub(r"\d", lambda match: str(unicodedata.decimal(match[0])), text)
