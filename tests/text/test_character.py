import pytest

from keras_transformer.constants import SPECIAL_TOKENS
from keras_transformer.text import CharacterTokenizer, build_tokenizer
from tests.word_data import word_data


def _split(text):
    tokenizer = CharacterTokenizer(SPECIAL_TOKENS)
    return [token.decode() for token in tokenizer.split([text]).to_list()[0]]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("你好。", "你 好 。"),
        (" 你 好 ， 吗 ？ ", "你 好 ， 吗 ？"),
        ("我 用 TF 2 。", "我 用 ▁ T F ▁ 2 ▁ 。"),
        ("在 《 》 中 文 a", "在 《 》 中 文 ▁ a"),
        ("ab  \u3000cd", "a b ▁ c d"),
        ("한국 말", "한 국 ▁ 말"),
        ("a▁b", "a \ufdd1 b"),
        ("😀 é", "😀 ▁ é"),
        ("", ""),
    ],
)
def test_one_token_per_character(text, tokens):
    assert _split(text) == tokens.split()


def test_text_comes_back():
    lines = ["我用TensorFlow 2和Keras。", "New York City", "“看”…— 3.5%"]
    lines += ["在 Writer 中打开 “文件”", "▁a▁ ▅", "テスト 1 と"]
    tokenizer = build_tokenizer("character", lambda: lines, word_data(), "zh")
    text = tokenizer.detokenize(tokenizer.tokenize(lines)).numpy()
    assert [line.decode() for line in text] == lines
