import collections

import pytest

from keras_transformer.constants import SPECIAL_TOKENS
from keras_transformer.errors import InputError
from keras_transformer.text import (
    CharacterTokenizer,
    SentencePieceTokenizer,
    SpaceTokenizer,
    WordTokenizer,
    build_tokenizer,
)
from keras_transformer.text.vocabulary_training import (
    frequent_tokens,
    pieces_of,
)
from tests.word_data import word_data


def test_ties_are_broken_by_code_points():
    counts = collections.Counter({"b": 2, "é": 2, "a": 2, "z": 3, "你": 1})
    tokens = frequent_tokens(counts, 8)
    assert tokens == [*SPECIAL_TOKENS, "z", "a", "b", "é"]
    counts = collections.Counter({"<s>": 9, "a": 1})
    assert frequent_tokens(counts, 99) == [*SPECIAL_TOKENS, "a"]

    with pytest.raises(InputError, match="a vocabulary of 4 has no place"):
        frequent_tokens(counts, 4)


@pytest.mark.parametrize("kind", ["word", "character", "sentencepiece"])
def test_build_without_text_is_refused(kind):
    with pytest.raises(InputError, match="there is no text"):
        build_tokenizer(kind, lambda: ["", " "], word_data(), "en", 50)


def test_build_refuses_an_unknown_kind():
    with pytest.raises(InputError, match="'bytes'. Accepted: word, character"):
        build_tokenizer("bytes", lambda: ["a"], word_data(), "en")


@pytest.mark.parametrize(
    ("language", "option", "simplify", "expected"),
    [
        ("zh-CN", True, None, True),
        ("zh-TW", True, None, False),
        ("zh", False, None, False),
        ("ja", True, None, False),
        ("zh", True, False, False),
    ],
)
def test_build_simplifies_chinese(language, option, simplify, expected):
    config = word_data(simplify_chinese=option)
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


@pytest.mark.parametrize(
    "kind", [WordTokenizer, CharacterTokenizer, SpaceTokenizer]
)
def test_a_class_trains_itself(kind):
    tokenizer = kind.train(["a b a", "c b a"], 6)
    assert tokenizer.tokens() == [*SPECIAL_TOKENS, *tokenizer.tokens()[4:]]
    assert "a" in tokenizer.tokens()
    assert tokenizer.vocabulary_size == 6
    built = build_tokenizer(
        kind.kind, lambda: ["a b a", "c b a"], word_data(), "fr", 6
    )
    assert built.fingerprint() == tokenizer.fingerprint()
    assert repr(tokenizer) == f"{kind.__name__}(6 tokens)"


def test_training_takes_the_options_of_the_class():
    tokenizer = WordTokenizer.train(["A b"], lowercase=False, tags=["<BT>"])
    assert tokenizer.tokens() == [*SPECIAL_TOKENS, "<BT>", "A", "b"]


@pytest.mark.parametrize("kind", [WordTokenizer, SentencePieceTokenizer])
def test_one_text_is_not_taken_for_its_lines(kind):
    with pytest.raises(InputError, match="lines of text. Received: 'train.txt"):
        kind.train("train.txt")


def test_sentencepiece_trains_itself_and_takes_a_path(tmp_path):
    tokenizer = SentencePieceTokenizer.train(["a b c ab"] * 9, 20, nfc=False)
    assert not tokenizer.options()["nfc"]
    tokenizer.save(tmp_path / "tokenizer")
    path = tmp_path / "tokenizer" / "sentencepiece.model"
    for given in (path, str(path), path.read_bytes()):
        read = SentencePieceTokenizer(given)
        assert read.tokens() == tokenizer.tokens()
    with pytest.raises(InputError, match="none.model: No such file"):
        SentencePieceTokenizer(tmp_path / "none.model")


@pytest.mark.parametrize(
    ("lines", "pieces"),
    [
        (["Open File " * 5] * 500, 250),
        (["The two cats like tea.  "] * 40_000, 8_000),
        (["a b"] * 1_000_000, 32_000),
        (["".join(map(chr, range(0xAC00, 0xAC00 + 2000)))], 4_004),
    ],
    ids=["few pairs", "enough", "a million", "many characters"],
)
def test_a_vocabulary_fits_its_text(lines, pieces):
    assert pieces_of(lines) == pieces
