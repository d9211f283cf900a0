"""Word tokenizer: splits words as NLTK does, and joins them again.

`nltk.word_tokenize(text, preserve_line=True)` separates tokens by a series of
regular expressions. RE2 has no look-around, and its `\\b` and `\\w` are ASCII
only, so the rules that need them are written here in several steps: a mark is
inserted where the context matches, and removed or turned into a space where the
exception matches. Each entry is a pattern and its replacement, applied in order
to the whole text. The tests compare the result with NLTK's.
"""

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from keras_transformer.blank import WHITE_SPACE
from keras_transformer.symbols import (
    CLOSING_SYMBOL,
    OPENING_SYMBOL,
    TERM_TARGET,
)
from keras_transformer.text.lookup import LookupTokenizer
from keras_transformer.text.normalization import MARK, replaced
from keras_transformer.text.options import require_boolean

# Word characters in NLTK's rules for quotes (\w of Unicode's regular
# expressions), which include circled letters.
_QUOTE_WORD = (
    r"\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{200c}\x{200d}\x{24b6}-\x{24e9}"
    r"\x{1f130}-\x{1f149}\x{1f150}-\x{1f169}\x{1f170}-\x{1f189}"
)
# Word characters in NLTK's rules for contractions: Python's \w.
_WORD = r"\p{L}\p{N}_"
# Characters that match i in Python if case is ignored, but not in RE2. As RE2
# also folds the case of negated classes, only the words themselves ignore it.
_I = "[iİı]"

_OPENING_QUOTES = (
    ("([«“‘„]|`+)", r" \1 "),
    ('^"', "``"),
    ("``", r" \0 "),
    (r"""([ (\[{<])("|'')""", r"\1 `` "),
    # An apostrophe that begins a word is a quotation mark...
    (rf"(^|[^{_QUOTE_WORD}])'([{_QUOTE_WORD}])", rf"\1'{MARK}\2"),
    # ...unless the word is an ending that was cut off: 's, 'll.
    (rf"'{MARK}((?i:re|ve|ll|[mtsdn]))([^{_QUOTE_WORD}]|$)", r"'\1\2"),
    (f"'{MARK}", "' "),
)

_PUNCTUATION = (
    # The last period is a token; one inside, as in "Mr. X", isn't.
    (rf"""([^.])(\.)([\])}}>"'»”’ ]*)[{WHITE_SPACE}]*$""", r"\1 \2 \3 "),
    (r"([:,])(\P{Nd})", r" \1 \2"),
    (r"([:,])$", r" \1 "),
    (r"\.{2,}", r" \0 "),
    ("[;@#$%&]", r" \0 "),
    (r"[\x{2012}-\x{2015}]", r" \0 "),
    (rf"""([^.])(\.)([\])}}>"']*)[{WHITE_SPACE}]*$""", r"\1 \2\3 "),
    ("[?!]", r" \0 "),
    ("([^'])' ", r"\1 ' "),
    (r"[*]", r" \0 "),
    (r"[\[\](){}<>]", r" \0 "),
    ("--", r" \0 "),
)

_CLOSING_QUOTES = (
    ("(?s)^.*$", r" \0 "),
    ("[»”’]", r" \0 "),
    ("''", r" \0 "),
    ('"', " '' "),
    (f"[{WHITE_SPACE}]+", " "),
    ("([^' ])('[sSmMdD]|') ", r"\1 \2 "),
    ("([^' ])('ll|'LL|'re|'RE|'ve|'VE|n't|N'T) ", r"\1 \2 "),
)

_CONTRACTED = (
    rf"([^{_WORD}{MARK}])(?:"
    rf"((?i:cannot|d'ye|g{_I}mme|gonna|gotta|lemme|more'n))([^{_WORD}])"
    "|((?i:wanna)) )",
    rf"\1 {MARK}\2\4 \3",
)
# These rules match only after a space, but not after one that the same rule has
# inserted: so they insert other white space.
_CONTRACTED_IS = (rf" ((?i:'t{_I}s))([^{_WORD}])", f" {MARK}\\1\n\\2")
_CONTRACTED_WAS = (rf"[ \n]((?i:'twas))([^{_WORD}])", f" {MARK}\\1\r\\2")
_CONTRACTIONS = (
    # Twice, as a match consumes the character that the next one begins with.
    _CONTRACTED,
    _CONTRACTED,
    _CONTRACTED_IS,
    _CONTRACTED_IS,
    _CONTRACTED_WAS,
    _CONTRACTED_WAS,
    (rf"(?i){MARK}(can|d|g{_I}m|gon|got|lem|more|wan|'t)", r"\1 "),
)

_SPLIT_RULES = _OPENING_QUOTES + _PUNCTUATION + _CLOSING_QUOTES + _CONTRACTIONS

# The inverse for English, as far as it can be derived from tokens. Every token
# has a space on each side, so matches don't compete for spaces; a rule turns
# a space into a mark where the token touches its neighbour. Finally, a mark on
# either side closes the gap.
_SEPARATOR = "  "
_TYPED_QUOTES = ("``|''", '"')
_JOIN_RULES = (
    ("(?s)^.*$", r" \0 "),
    # Halves of contractions. As separate words they occur only in "can not",
    # which "cannot" far outnumbers.
    (r"(?i) (can)  (not) ", rf" \1{MARK}{MARK}\2 "),
    (r"(?i) (gim|lem)  (me) ", rf" \1{MARK}{MARK}\2 "),
    (r"(?i) (gon|wan)  (na) ", rf" \1{MARK}{MARK}\2 "),
    (r"(?i) (got)  (ta) ", rf" \1{MARK}{MARK}\2 "),
    (r"(?i) (more)  ('n) ", rf" \1{MARK}{MARK}\2 "),
    (r"(?i) (d)  ('ye) ", rf" \1{MARK}{MARK}\2 "),
    (r"(?i) ('t)  (is|was) ", rf" \1{MARK}{MARK}\2 "),
    (r"(?i) (n't|'(?:s|m|d|ll|re|ve)) ", rf"{MARK}\1 "),
    # An apostrophe for letters or digits left out at the beginning.
    (
        r"(?i) '  (tis|twas|em|cause|til|bout|round|cuz|n|\d\ds?) ",
        rf" '{MARK}{MARK}\1 ",
    ),
    # A pair quotes, unless the first ends a plural ("the boys' books"); one
    # alone opens the text, or ends a word.
    (r"(^|[^s] ) ' (.*?) ' ", rf"\1 '{MARK}\2{MARK}' "),
    ("^ ' ", f" '{MARK}"),
    (" ' ", f"{MARK}' "),
    # Punctuation that touches the token before it, or the one after it.
    (r" ([.,;:?!%…)\]}»”’]|\.\.+|'') ", rf"{MARK}\1 "),
    (r" ([(\[{«“‘„$#]|``) ", rf" \1{MARK}"),
    (r"([\p{L}\p{N}])  @  ([\p{L}\p{N}])", rf"\1{MARK}@{MARK}\2"),
    (": ( //)", rf":{MARK}\1"),
    (r"(?i)’ ( (?:s|t|m|d|ll|re|ve) )", rf"’{MARK}\1"),
    # Quotation marks as they were typed.
    _TYPED_QUOTES,
    (f" ?{MARK}[ {MARK}]?", ""),
    ("  ", " "),
)

# Symbols of a pair touch the words between them.
_SYMBOL_RULES = (
    (f" ({OPENING_SYMBOL}) ", rf" \1{MARK}"),
    (f" ({CLOSING_SYMBOL}) ", rf"{MARK}\1 "),
    (f" ({TERM_TARGET}) ", rf"{MARK}\1{MARK}"),
)


class WordTokenizer(LookupTokenizer):
    """English words and punctuation.

    Splits as `nltk.word_tokenize(text.lower(), preserve_line=True)` does,
    except next to characters whose class or lower case was defined after the
    Unicode version of RE2, ICU or Python (such as U+2C2F, added in 2021).
    `detokenize` returns readable text, in lower case if it was lowered.

    Args:
        tokens: every token in the order of its id, the reserved ones first.
        lowercase: True converts text to lower case first.
        **normalization: `tags`, and those of `Normalizer`; see `Tokenizer`.

    Example:

    >>> tokenizer = WordTokenizer([*SPECIAL_TOKENS, "do", "n't", "."])
    >>> ids = tokenizer.tokenize(["Don't."])
    >>> ids.to_list()
    [[4, 5, 6]]
    >>> tokenizer.detokenize(ids).numpy()
    array([b"don't."], dtype=object)
    """

    kind = "word"

    def __init__(
        self,
        tokens: Sequence[str],
        *,
        lowercase: bool = True,
        **normalization: Any,
    ) -> None:
        require_boolean("lowercase", lowercase)
        super().__init__(tokens, **normalization)
        self.lowercase = lowercase

    def options(self) -> dict:
        """See `Tokenizer.options`."""
        return {"lowercase": self.lowercase, **super().options()}

    def _split(self, strings):
        if self.lowercase:
            strings = _lower(strings)
        return self._around_symbols(strings, _split_words)

    def _pieces_of(self, strings):
        return self._around_symbols(strings, self._typed_words)

    def _typed_words(self, strings):
        spaced = _spaced(strings)
        if self.lowercase:
            # Tokens are split in lower case, and a few rules depend on case.
            lowered = _spaced(_lower(strings))
            spaced = tf.where(_lower(spaced) == lowered, spaced, lowered)
        # Restores quotation marks as they were typed.
        return tf.strings.split(replaced(spaced, _TYPED_QUOTES))

    def _join(self, tokens):
        text = tf.strings.reduce_join(tokens, axis=1, separator=_SEPARATOR)
        rules: Sequence = _JOIN_RULES
        if self.first_symbol is not None:
            first, *others = rules
            rules = (first, *_SYMBOL_RULES, *others)
        return tf.strings.strip(replaced(text, *rules))


def _lower(strings):
    # ASCII first, because ICU lowers "I" depending on the machine's locale.
    strings = tf.strings.lower(strings)
    return tf.strings.lower(strings, encoding="utf-8")


def _split_words(strings):
    """Strings `(B,)` to ragged tokens `(B, None)`."""
    return tf.strings.split(replaced(strings, *_SPLIT_RULES))


def _spaced(strings):
    """Strings `(B,)` with one space between tokens."""
    tokens = _split_words(strings)
    return tf.strings.reduce_join(tokens, axis=1, separator=" ")
