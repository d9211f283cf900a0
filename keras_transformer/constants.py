"""Ids that every vocabulary reserves, and the score of no hypothesis.

Every tokenizer, record, batch and search uses these four ids, in this order,
so that padding is always 0 and an unknown piece always 1.
"""

PAD_ID = 0
UNK_ID = 1
START_ID = 2
END_ID = 3

SPECIAL_TOKENS = ("<pad>", "<unk>", "<s>", "</s>")

# The score of a row that holds no hypothesis: JSON has no infinity.
NO_SCORE = -1e9
