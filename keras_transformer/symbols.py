"""Symbols: reserved tokens that stand for markup and terms in a text.

`⟨1⟩` and `⟨/1⟩` stand for a pair of tags, `⟨1/⟩` for a single tag or a
placeholder. A term is `⟨t⟩source words⟨=⟩target words⟨/t⟩`, in sources only. A
tokenizer whose vocabulary has the symbols makes each of them one token,
whatever text is next to it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

# Pairs and single tags of a text have numbers from 1 to this.
NUMBERS = 16
_ALL = range(1, NUMBERS + 1)
OPENING = tuple(f"⟨{k}⟩" for k in _ALL)
CLOSING = tuple(f"⟨/{k}⟩" for k in _ALL)
SINGLE = tuple(f"⟨{k}/⟩" for k in _ALL)
MARKUP_SYMBOLS = (*OPENING, *CLOSING, *SINGLE)
TERM_SYMBOLS = TERM_START, TERM_TARGET, TERM_END = ("⟨t⟩", "⟨=⟩", "⟨/t⟩")
# In the order of their ids, which follow one another.
SYMBOLS = (*MARKUP_SYMBOLS, *TERM_SYMBOLS)

# Regular expressions, of Python and of RE2.
ANNOTATION = f"{TERM_START}[^⟨⟩]*{TERM_TARGET}[^⟨⟩]*{TERM_END}"
_NUMBER = "(?:[1-9]|1[0-6])"
SYMBOL = f"⟨(?:/?{_NUMBER}|{_NUMBER}/|/?t|=)⟩"
OPENING_SYMBOL = f"⟨(?:{_NUMBER}|t)⟩"
CLOSING_SYMBOL = f"⟨/(?:{_NUMBER}|t)⟩"
# What may follow the full stop of a sentence: closing or single symbols, `[1]`.
BEHIND_STOPS = rf"⟨/{_NUMBER}⟩|⟨{_NUMBER}/⟩|(?:⟨{_NUMBER}⟩)+\[\p{{N}}+\]"


def leading_tags(tags: Sequence[str]) -> tuple[str, ...]:
    """The regular expression of tags before a text, which aren't markup.

    Args:
        tags: reserved tokens such as `<BT>`, see `text.tags`.

    Returns:
        a tuple of one expression, with the group `head`; empty without tags.
    """
    one = "|".join(map(re.escape, tags))
    return (rf"(?P<head>\A\s*(?:(?:{one})\s*)+)",) if tags else ()


def first_symbol(tokens: Sequence[str]) -> int | None:
    """The id of the first symbol of a vocabulary; None: it has no symbols.

    Args:
        tokens: in the order of their ids. Only some of the symbols, or symbols
            in another order, count as ordinary tokens.
    """
    if SYMBOLS[0] not in tokens:
        return None
    first = tokens.index(SYMBOLS[0])
    found = tuple(tokens[first : first + len(SYMBOLS)])
    return first if found == SYMBOLS else None
