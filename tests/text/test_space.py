"""Text that was split before, with spaces between its tokens."""

from keras_transformer.cli.main import main
from keras_transformer.constants import SPECIAL_TOKENS
from keras_transformer.data.prepared import PreparedData
from keras_transformer.text import SpaceTokenizer, load_tokenizer


def test_tokens_are_what_stands_between_spaces(tmp_path):
    SpaceTokenizer([*SPECIAL_TOKENS, "Do", "n't", "，"]).save(tmp_path)
    tokenizer = load_tokenizer(tmp_path)
    ids = tokenizer.tokenize([" Do  n't\t，x ，", "", "</s> Do"])
    assert ids.to_list() == [[4, 5, 1, 6], [], [1, 4]]
    texts = tokenizer.detokenize(ids).numpy().tolist()
    assert [text.decode() for text in texts] == ["Do n't ⁇ ，", "", "⁇ Do"]


def test_prepare_takes_text_that_was_split(tmp_path):
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("Do n't go .\t不要 走 。\nGo .\t走 。\n" * 2)
    out = str(tmp_path / "data")
    main(
        ["prepare", "--train", str(pairs), "--dev", str(pairs), "--out", out]
        + ["--preset", "demo", "--source-tokenizer", "space"]
        + ["--target-tokenizer", "space"]
    )
    prepared = PreparedData.load(out)
    assert "n't" in prepared.source_tokenizer.tokens()
    assert "不要" in prepared.target_tokenizer.tokens()
