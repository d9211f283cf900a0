"""Normalisation of text before it is split: graph code, each step an option.

The same object runs in preparation, training and the exported model, so a
character means the same thing in all three.
"""

import re
from typing import Any

import numpy as np
import tensorflow as tf

from keras_transformer.blank import BLANK, INVISIBLE, WHITE_SPACE
from keras_transformer.constants import SPACE
from keras_transformer.languages import base_language, is_english
from keras_transformer.text.chinese import simplified
from keras_transformer.text.options import require_boolean, require_option

# Noncharacters, which Unicode reserves for internal use. Tokenizers may insert
# them into text as marks, because the normalizer replaces those of the input.
_MARKS = "[\ufdd0-\ufdef]"
MARK = "\ufdd0"

# Characters with a meaning in SentencePiece: a space, and the unknown token.
# They are replaced by marks in text for a SentencePiece model.
_ESCAPES = {SPACE: "\ufdd1", "▅": "\ufdd2"}

# Members of a character class: scripts written without spaces, and their
# punctuation and full-width forms.
UNSPACED = (
    r"\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}"
    r"\x{3000}-\x{303f}\x{fe30}-\x{fe4f}\x{ff00}-\x{ffef}"
)

# A text without visible characters, and a word of invisible ones.
_BLANK_TEXT = f"^[{BLANK}]+$"
_BLANK_WORD = (
    f"(?:^|[{WHITE_SPACE}])[{INVISIBLE}]"
    f"[{INVISIBLE}{WHITE_SPACE}]*(?:[{WHITE_SPACE}]|$)"
)

# The byte order mark, direction marks and the soft hyphen. They don't belong to
# the text: in web text, most of them are left behind by editors.
_INVISIBLE = (
    r"[\x{ad}\x{feff}\x{200e}\x{200f}\x{202a}-\x{202e}\x{2066}-\x{2069}]"
)

# More combining marks than any letter has. ICU would sort them, in quadratic
# time.
_LONG_MARKS = (r"(\p{M}{30})\p{M}+", r"\1")

# Rules of `moses_punctuation`: patterns and their replacements.
_NO_BREAK = "\u00a0"
_SPACES = (" +", " ")
_RULES = (
    (r"\(", " ("),
    (r"\)", ") "),
    _SPACES,
    (r"\) ([.!:?;,])", r")\1"),
    (r"\( ", "("),
    (r" \)", ")"),
    (r"([0-9]) %", r"\1%"),
    (" :", ":"),
    (" ;", ";"),
    ("`", "'"),
    ("''", ' " '),
    ("[„“”]", '"'),
    ("–", "-"),
    ("—", " - "),
    _SPACES,
    ("´", "'"),
    (r"([A-Za-z])‘([A-Za-z])", r"\1'\2"),
    (r"([A-Za-z])’([A-Za-z])", r"\1'\2"),
    ("[‘‚’]", "'"),
    ("''", '"'),
    ("´´", '"'),
    ("…", "..."),
    # French quotes, with the no-break spaces that belong to them.
    (f"{_NO_BREAK}«{_NO_BREAK}", '"'),
    (f"«{_NO_BREAK}", '"'),
    ("«", '"'),
    (f"{_NO_BREAK}»{_NO_BREAK}", '"'),
    (f"{_NO_BREAK}»", '"'),
    ("»", '"'),
    (f"{_NO_BREAK}%", "%"),
    (f"nº{_NO_BREAK}", "nº "),
    (f"{_NO_BREAK}:", ":"),
    (f"{_NO_BREAK}ºC", " ºC"),
    (f"{_NO_BREAK}cm", " cm"),
    (f"{_NO_BREAK}\\?", "?"),
    (f"{_NO_BREAK}!", "!"),
    (f"{_NO_BREAK};", ";"),
    (f",{_NO_BREAK}", ", "),
    _SPACES,
)
# A comma or period beside a closing quote: inside it in English, not in most
# other languages.
_ENGLISH = ((r'"([,.]+)', r'\1"'),)
_OTHERS = ((',"', '",'), (r'(\.+)"(\s*[^<])', r'"\1\2'))
_DECIMAL_COMMA = ("de", "es", "cz", "cs", "fr")
_QUOTES_LEFT = ("cz", "cs")


class Normalizer(tf.Module):
    """Repairs and unifies strings of any shape.

    Broken UTF-8 becomes U+FFFD; control characters, line ends and line
    separators become spaces; byte order and direction marks and soft hyphens
    are removed. Words of only invisible characters become spaces, too (see
    `blank`), while joiners and similar characters within words are kept.

    Args:
        nfc: bool, whether to convert to Unicode normalization form C. Only the
            first 30 of a run of combining marks are kept then.
        simplify: bool, whether to convert traditional Chinese characters to
            simplified ones (see `Simplifier`).
        moses_language: tag of the text's language, by whose rules punctuation
            is normalised (see `moses_punctuation`); None: not at all.

    Raises:
        OptionError: an argument isn't accepted; a subclass of `InputError`.
    """

    def __init__(
        self,
        *,
        nfc: bool = True,
        simplify: bool = False,
        moses_language: str | None = None,
    ) -> None:
        super().__init__()
        require_boolean("nfc", nfc)
        require_boolean("simplify", simplify)
        require_option(
            moses_language is None or isinstance(moses_language, str),
            "moses_language",
            "the tag of a language, such as en",
            moses_language,
        )
        self.moses_language = moses_language
        self.nfc = nfc
        self.simplify = simplify
        self._simplifier = Simplifier() if simplify else None

    def __call__(self, strings: tf.Tensor) -> tf.Tensor:
        """Normalises a string tensor of rank 1."""
        strings = tf.strings.unicode_transcode(
            strings, "UTF-8", "UTF-8", errors="replace"
        )
        strings = replaced(
            strings,
            (_MARKS, "\ufffd"),
            (r"[\p{Cc}\x{2028}\x{2029}]", " "),
            (_INVISIBLE, ""),
            (f"{_BLANK_TEXT}|{_BLANK_WORD}", " "),
        )
        if self.nfc:
            # Its libraries take 120 MiB, so it is imported only when needed.
            import tensorflow_text as tf_text

            strings = replaced(strings, _LONG_MARKS)
            strings = tf_text.normalize_utf8(strings, "NFC")
        if self._simplifier is not None:
            strings = self._simplifier(strings)
        if self.moses_language is not None:
            strings = moses_punctuation(strings, self.moses_language)
        return strings


def moses_punctuation(strings: tf.Tensor, language: str) -> tf.Tensor:
    """Normalises punctuation as Moses' normalize-punctuation.perl does.

    Most models of OPUS-MT were trained on text that was normalised by it. Each
    rule is applied to the result of the one before.

    Args:
        strings: string tensor of any shape.
        language: tag of the text's language.

    Reference: mosesdecoder's `scripts/tokenizer/normalize-punctuation.perl`.
    """
    quotes = _ENGLISH if is_english(language) else _OTHERS
    language = base_language(language)
    mark = "," if language in _DECIMAL_COMMA else "."
    numbers = (f"([0-9]){_NO_BREAK}([0-9])", rf"\1{mark}\2")
    chosen = () if language in _QUOTES_LEFT else quotes
    return replaced(strings, *_RULES, *chosen, numbers)


def replaced(strings: tf.Tensor, *rules: tuple[str, str]) -> tf.Tensor:
    """Applies replacement rules to strings, one after the other.

    Args:
        strings: string tensor of any shape.
        rules: pairs of an RE2 regular expression and its replacement.
    """
    for pattern, rewrite in rules:
        strings = tf.strings.regex_replace(strings, pattern, rewrite)
    return strings


def head_and_rest(strings: tf.Tensor, head: str) -> tuple[tf.Tensor, tf.Tensor]:
    """Splits strings after the beginning that a pattern matches.

    Args:
        strings: string tensor `(B,)`.
        head: a regular expression that begins with ^.

    Returns:
        the beginnings, "" without a match, and the rest: string `(B,)` each.
    """
    rest = tf.strings.regex_replace(strings, head, "")
    lengths = tf.strings.length(strings) - tf.strings.length(rest)
    return tf.strings.substr(strings, tf.zeros_like(lengths), lengths), rest


def squeeze(strings: tf.Tensor) -> tf.Tensor:
    """Replaces runs of white space by a space, and strips the ends."""
    strings = tf.strings.regex_replace(strings, f"[{WHITE_SPACE}]+", " ")
    return tf.strings.strip(strings)


def escape(strings: tf.Tensor) -> tf.Tensor:
    """Replaces the characters that SentencePiece reserves by marks.

    Args:
        strings: normalised strings of any shape.
    """
    return replaced(strings, *_ESCAPES.items())


def unescape(strings: tf.Tensor) -> tf.Tensor:
    """The inverse of `escape`."""
    return replaced(strings, *((mark, own) for own, mark in _ESCAPES.items()))


class Simplifier(tf.Module):
    """OpenCC's conversion to simplified Chinese as graph code, for serving.

    Call arguments:
        strings: valid UTF-8 `(B,)`, as `Normalizer` leaves it.

    Returns:
        The strings `(B,)`. They equal OpenCC's, except where two phrases of its
        dictionary overlap and OpenCC takes the later one.
    """

    def __init__(self) -> None:
        super().__init__()
        phrases = simplified("TSPhrases.txt")
        characters = simplified("TSCharacters.txt")
        # RE2 takes the first alternative that matches.
        longest_first = sorted(phrases, key=len, reverse=True)
        self._pattern = "(" + "|".join(map(re.escape, longest_first)) + ")"
        self._phrases = hash_table([*phrases], [*phrases.values()], "")
        self._characters = hash_table(
            np.array([*map(ord, characters)]),
            np.array([*map(ord, characters.values())]),
            -1,
        )

    def __call__(self, strings: tf.Tensor) -> tf.Tensor:
        """Converts traditional characters to simplified ones."""
        # Separates phrases from the text around them: "a\ufdd0phrase\ufdd0b".
        strings = tf.strings.regex_replace(
            strings, self._pattern, rf"{MARK}\1{MARK}"
        )
        parts = tf.strings.split(strings, MARK)  # (B, None)
        parts = tf.ragged.map_flat_values(self._simplify_parts, parts)
        return tf.strings.reduce_join(parts, axis=1)

    def _simplify_parts(self, parts):
        phrases = self._phrases.lookup(parts)
        return tf.where(
            phrases == "", self._simplify_characters(parts), phrases
        )

    def _simplify_characters(self, parts):
        points = tf.strings.unicode_decode(parts, "UTF-8")  # (B, None)

        def replace(values):
            simple = self._characters.lookup(tf.cast(values, tf.int64))
            return tf.where(simple < 0, values, tf.cast(simple, tf.int32))

        points = tf.ragged.map_flat_values(replace, points)
        return tf.strings.unicode_encode(points, "UTF-8")


def hash_table(
    keys: Any, values: Any, default: int | str
) -> tf.lookup.StaticHashTable:
    """A lookup table between strings or int64, with a value for other keys."""
    return tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(keys, values), default
    )
