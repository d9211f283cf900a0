"""Sides of a pair, reserved ids, tags, links of a batch, and no score.

Every tokenizer, record, batch and search uses these four ids, in this order,
so that padding is always 0 and an unknown piece always 1.
"""

SIDES = ("source", "target")

PAD_ID = 0
UNK_ID = 1
START_ID = 2
END_ID = 3

SPECIAL_TOKENS = ("<pad>", "<unk>", "<s>", "</s>")

# How tokens write a space: at the beginning of a piece, or by itself.
SPACE = "▁"

# What a tag before a source looks like, such as <BT> or <2de>.
TAG_NAME = "[0-9A-Za-z_-]+"
TAG = f"<{TAG_NAME}>"

# The score of a row that holds no hypothesis: JSON has no infinity.
NO_SCORE = -1e9

# The feature of a batch that says which tokens its pairs align.
LINKS = "links"
