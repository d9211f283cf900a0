"""Blank text: white space, controls and invisible characters.

A single definition for regular expressions of Python and of RE2, so that graphs
and Python code agree on which texts are blank.

References: Unicode's properties White_Space and Default_Ignorable_Code_Point,
of which the second has all invisible characters, assigned or reserved.
"""

import re

# Members of a character class, in characters, as RE2 and Python write code
# points differently. RE2's own \s knows ASCII only.
WHITE_SPACE = (
    "\\t-\\r\\x1c- \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
)
# Joiners, variation selectors, direction and byte order marks, fillers, tags;
# then annotation marks, and empty symbols of Braille, music and Egyptian. They
# have a meaning inside words.
INVISIBLE = (
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\u2800\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a"
    "\U00013441\U00013442\U000e0000-\U000e0fff"
)
BLANK = f"\\x00-\\x1f\\x7f-\x9f{WHITE_SPACE}{INVISIBLE}"

_BLANK_TEXT = re.compile(f"[{BLANK}]*")


def is_blank(text: str) -> bool:
    """True if a text has nothing visible, and so nothing to translate."""
    return _BLANK_TEXT.fullmatch(text) is not None
