"""How words and punctuation are written together again.

Each entry is an RE2 pattern and its replacement, applied in order to tokens
joined by single spaces, with a space at both ends.
"""

JOIN_RULES = (
    ("(?s)^.*$", r" \0 "),
    (" ([.,;:?!%)\\]}]) ", r"\1 "),
)
