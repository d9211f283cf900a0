"""Text that was split before, with spaces between its tokens."""

from keras_transformer.constants import SPECIAL_TOKENS
from keras_transformer.text import SpaceTokenizer, load_tokenizer


def test_tokens_are_what_stands_between_spaces(tmp_path):
    SpaceTokenizer([*SPECIAL_TOKENS, "Do", "n't", "，"]).save(tmp_path)
    tokenizer = load_tokenizer(tmp_path)
    ids = tokenizer.tokenize([" Do  n't\t，x ，", "", "</s> Do"])
    assert ids.to_list() == [[4, 5, 1, 6], [], [1, 4]]
    texts = tokenizer.detokenize(ids).numpy().tolist()
    assert [text.decode() for text in texts] == ["Do n't ⁇ ，", "", "⁇ Do"]
