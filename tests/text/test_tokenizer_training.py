import collections

import pytest

from keras_transformer.config import DataConfig
from keras_transformer.constants import SPECIAL_TOKENS
from keras_transformer.errors import InputError
from keras_transformer.text import WordTokenizer, build_tokenizer
from keras_transformer.text.tokenizer_training import (
    count_tokens,
    frequent_tokens,
)


def test_tokens_are_counted_over_all_lines():
    tokenizer = WordTokenizer(SPECIAL_TOKENS)
    lines = (f"word{n % 2}." for n in range(10_001))
    counts = count_tokens(lines, tokenizer.split)
    assert counts == {"word0": 5001, "word1": 5000, ".": 10_001}


def test_ties_are_broken_by_code_points():
    counts = collections.Counter({"b": 2, "é": 2, "a": 2, "z": 3, "你": 1})
    tokens = frequent_tokens(counts, 8)
    assert tokens == [*SPECIAL_TOKENS, "z", "a", "b", "é"]


def test_reserved_tokens_are_not_counted_twice():
    counts = collections.Counter({"<s>": 9, "a": 1})
    assert frequent_tokens(counts, 99) == [*SPECIAL_TOKENS, "a"]


@pytest.mark.parametrize("kind", ["word", "character", "sentencepiece"])
def test_build_caps_the_vocabulary(kind):
    lines = ["a b c d e f g", "a a a b b c"] * 30
    tokenizer = build_tokenizer(kind, lambda: lines, DataConfig(), "fr", 13)
    assert tokenizer.vocabulary_size <= 13
    assert tokenizer.kind == kind


@pytest.mark.parametrize("kind", ["word", "character", "sentencepiece"])
def test_build_without_text_is_refused(kind):
    with pytest.raises(InputError, match="there is no text"):
        build_tokenizer(kind, lambda: ["", " "], DataConfig(), "en", 50)


def test_build_refuses_an_unknown_kind():
    with pytest.raises(InputError, match="'bytes'. Accepted: word, character"):
        build_tokenizer("bytes", lambda: ["a"], DataConfig(), "en")


@pytest.mark.parametrize(
    ("language", "option", "simplify", "expected"),
    [
        ("zh-TW", True, None, True),
        ("zh", False, None, False),
        ("ja", True, None, False),
        ("zh", True, False, False),
    ],
)
def test_build_simplifies_chinese(language, option, simplify, expected):
    config = DataConfig(simplify_chinese=option)
    tokenizer = build_tokenizer(
        "character", lambda: ["漢"], config, language, simplify=simplify
    )
    assert tokenizer.options()["simplify"] is expected
    assert tokenizer.tokens()[4] == ("汉" if expected else "漢")


def test_vocabularies_that_cannot_be_are_refused():
    with pytest.raises(InputError, match="begins with <pad> <unk> <s> </s>"):
        WordTokenizer(["a", "b"])
    with pytest.raises(InputError, match="line 6: token 'a' was line 5"):
        WordTokenizer([*SPECIAL_TOKENS, "a", "a"])
    with pytest.raises(InputError, match="line 5: a token can't be empty"):
        WordTokenizer([*SPECIAL_TOKENS, ""])
