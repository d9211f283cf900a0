"""The word splitting rules of NLTK, as RE2 replacements.

`nltk.word_tokenize(text, preserve_line=True)` separates tokens by a series of
regular expressions. RE2 has no look-around, and its `\\b` and `\\w` know ASCII
only, so the rules that need them are written here in several steps: a mark is
set where the context fits, and taken back or turned into a space where the
exception is met. Each entry is a pattern and its replacement, applied in order
to the whole text. The tests hold the result against NLTK.
"""

from keras_transformer.text.normalization import MARK, WHITE_SPACE

# Members of a word, as NLTK's quotes see it (the property that Unicode's
# regular expressions call \w): circled letters are alphabetic symbols.
_QUOTE_WORD = (
    r"\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{200c}\x{200d}\x{24b6}-\x{24e9}"
    r"\x{1f130}-\x{1f149}\x{1f150}-\x{1f169}\x{1f170}-\x{1f189}"
)
# Members of a word, as NLTK's contractions see it: Python's \w.
_WORD = r"\p{L}\p{N}_"
# Python takes these for i where case is ignored; RE2 doesn't. And RE2 folds the
# case of a negated class too, so only the words themselves ignore it.
_I = "[iİı]"

_OPENING_QUOTES = (
    ("([«“‘„]|`+)", r" \1 "),
    ('^"', "``"),
    ("``", r" \0 "),
    (r"""([ (\[{<])("|'')""", r"\1 `` "),
    # An apostrophe that begins a word is a quotation mark...
    (rf"(^|[^{_QUOTE_WORD}])'([{_QUOTE_WORD}])", rf"\1'{MARK}\2"),
    # ...unless the word is an ending that was cut off: 's, 'll.
    (
        rf"'{MARK}((?i:re|ve|ll|[mtsdn]))([^{_QUOTE_WORD}]|$)",
        r"'\1\2",
    ),
    (f"'{MARK}", "' "),
)

_PUNCTUATION = (
    # The last period is a token; one inside, as in "Mr. X", isn't.
    (
        rf"""([^.])(\.)([\])}}>"'»”’ ]*)[{WHITE_SPACE}]*$""",
        r"\1 \2 \3 ",
    ),
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
# These want a space before them, and one that the same rule has set doesn't
# count: it sets another white space instead.
_CONTRACTED_IS = (rf" ((?i:'t{_I}s))([^{_WORD}])", f" {MARK}\\1\n\\2")
_CONTRACTED_WAS = (rf"[ \n]((?i:'twas))([^{_WORD}])", f" {MARK}\\1\r\\2")
_CONTRACTIONS = (
    # Twice, as a match takes the character that the next one begins with.
    _CONTRACTED,
    _CONTRACTED,
    _CONTRACTED_IS,
    _CONTRACTED_IS,
    _CONTRACTED_WAS,
    _CONTRACTED_WAS,
    (rf"(?i){MARK}(can|d|g{_I}m|gon|got|lem|more|wan|'t)", r"\1 "),
)

SPLIT_RULES = _OPENING_QUOTES + _PUNCTUATION + _CLOSING_QUOTES + _CONTRACTIONS
