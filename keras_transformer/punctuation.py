"""Punctuation that ends sentences, for graphs and for Python code.

Members of a character class, in characters, as in `blank`.
"""

# Stops that end a sentence before white space.
STOPS = ".!?…‼⁇⁈⁉‽"
# Stops that end a sentence whatever follows: of Chinese and Japanese, Indian
# scripts, Arabic and Urdu, Armenian, Ethiopic, Burmese, Khmer, Tibetan.
FULL_STOPS = "。！？｡।॥؟۔։።፧፨။។៕༎"
OPENING, CLOSING = "([{（［｛「『《〈【“«„‹", ")\\]}）］｝」』》〉】”»“›"
# Other quotes may open or close.
CLOSERS = f"{CLOSING}\"'’«‘"
