"""How words and punctuation are written together again, in English.

The inverse of `word_rules`, as far as tokens tell. Every token stands between
two spaces of its own, so no match takes what the next one needs; a rule turns
the space on a token's side into a mark where the token touches its neighbour.
At last, a mark on either side closes the gap. Each entry is an RE2 pattern and
its replacement, applied in order.
"""

from keras_transformer.text.normalization import MARK as _M

TOKEN_SEPARATOR = "  "

JOIN_RULES = (
    ("(?s)^.*$", r" \0 "),
    # Halves of contractions. They are tokens of their own nowhere else but
    # in "can not", which "cannot" far outnumbers.
    (r"(?i) (can)  (not) ", rf" \1{_M}{_M}\2 "),
    (r"(?i) (gim|lem)  (me) ", rf" \1{_M}{_M}\2 "),
    (r"(?i) (gon|wan)  (na) ", rf" \1{_M}{_M}\2 "),
    (r"(?i) (got)  (ta) ", rf" \1{_M}{_M}\2 "),
    (r"(?i) (more)  ('n) ", rf" \1{_M}{_M}\2 "),
    (r"(?i) (d)  ('ye) ", rf" \1{_M}{_M}\2 "),
    (r"(?i) ('t)  (is|was) ", rf" \1{_M}{_M}\2 "),
    (r"(?i) (n't|'(?:s|m|d|ll|re|ve)) ", rf"{_M}\1 "),
    # An apostrophe for letters or digits left out at the beginning.
    (
        r"(?i) '  (tis|twas|em|cause|til|bout|round|cuz|n|\d\ds?) ",
        rf" '{_M}{_M}\1 ",
    ),
    # A pair quotes, unless the first ends a plural ("the boys' books"); one
    # alone opens the text, or ends a word.
    (r"(^|[^s] ) ' (.*?) ' ", rf"\1 '{_M}\2{_M}' "),
    ("^ ' ", f" '{_M}"),
    (" ' ", f"{_M}' "),
    # Punctuation that touches what is before it, and what follows.
    (r" ([.,;:?!%…)\]}»”’]|\.\.+|'') ", rf"{_M}\1 "),
    (r" ([(\[{«“‘„$#]|``) ", rf" \1{_M}"),
    (r"([\p{L}\p{N}])  @  ([\p{L}\p{N}])", rf"\1{_M}@{_M}\2"),
    (": ( //)", rf":{_M}\1"),
    (r"(?i)’ ( (?:s|t|m|d|ll|re|ve) )", rf"’{_M}\1"),
    # Quotation marks as they were typed.
    ("``|''", '"'),
    (f" ?{_M}[ {_M}]?", ""),
    ("  ", " "),
)
