"""Constants: sides of a pair, reserved ids, tags and other shared values.

Every tokenizer, record, batch and search uses the four reserved ids in this
order, so that padding is always 0 and an unknown piece always 1.
"""

SIDES = ("source", "target")

PAD_ID = 0
UNK_ID = 1
START_ID = 2
END_ID = 3

SPECIAL_TOKENS = ("<pad>", "<unk>", "<s>", "</s>")

# A space in a token: at the beginning of a piece, or alone.
SPACE = "▁"

# A tag before a source, such as <BT> or <2de>.
TAG_NAME = "[0-9A-Za-z_-]+"
TAG = f"<{TAG_NAME}>"

# The score of a row that holds no hypothesis: JSON has no infinity.
NO_SCORE = -1e9

# The feature of a batch with the links between the tokens of its pairs.
LINKS = "links"
