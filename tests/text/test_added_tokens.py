"""Tokenizers with more tokens than they were trained to have."""

import pytest

from keras_transformer.errors import InputError
from keras_transformer.text import SentencePieceTokenizer, load_tokenizer

TEXTS = ["The cat saw a star.", "你好，世界！", "", "a ⟨2⟩ b"]
ADDED = ["⟨17⟩", "⟨/17⟩"]


def rows(tokenizer, texts=TEXTS):
    return tokenizer.tokenize(texts).to_list()


def test_they_are_the_last_and_change_no_other(tokenizer, tmp_path):
    extended = tokenizer.with_tokens(ADDED)
    assert extended.tokens() == [*tokenizer.tokens(), *ADDED]
    assert rows(extended) == rows(tokenizer)
    size = tokenizer.vocabulary_size
    (ids,) = rows(extended, ["⟨17⟩"])
    # A tokenizer of characters cuts the text into these first.
    assert tokenizer.kind == "character" or size in ids
    extended.save(tmp_path)
    loaded = load_tokenizer(tmp_path)
    assert loaded.tokens_added_to(tokenizer) == ADDED
    assert loaded.tokens_added_to(extended) == []
    assert tokenizer.tokens_added_to(extended) is None
    other = tokenizer.with_tokens(ADDED[:1]).with_tokens(["x⟩"])
    assert other.tokens_added_to(extended) is None


def test_pieces_are_one_token_wherever_they_are(tokenizer):
    if not isinstance(tokenizer, SentencePieceTokenizer):
        pytest.skip("words and characters are split by rules of their own")
    extended = tokenizer.with_tokens([*ADDED, "▁Ωmega"])
    size = tokenizer.vocabulary_size
    (ids,) = rows(extended, ["The ⟨17⟩cat⟨/17⟩ Ωmega"])
    assert [i - size for i in ids if i >= size] == [0, 1, 2]
    (text,) = extended.detokenize([ids]).numpy()
    assert text.decode().endswith("⟨/17⟩ Ωmega")


def test_pieces_that_were_no_tokens_stay_so(tokenizer):
    if not isinstance(tokenizer, SentencePieceTokenizer):
        pytest.skip("of SentencePiece alone")
    known = tokenizer.vocabulary_size - 3
    lost = tokenizer.tokens()[known + 1]
    fewer = SentencePieceTokenizer(tokenizer._content(), known=known)
    extended = fewer.with_tokens([lost, *ADDED])
    assert extended.tokens() == [*fewer.tokens(), lost, *ADDED]
    assert extended.tokens_added_to(fewer) == [lost, *ADDED]
    (ids,) = rows(extended, ["⟨17⟩"])
    assert known + 1 in ids


def test_what_they_are_made_of(tokenizer):
    letter = tokenizer.tokens()[-1]
    made = tokenizer.pieces_of_tokens([letter, "⟨17⟩", "Ж"])
    assert made[0]
    assert not {*made[0]} & {*tokenizer.unknown_ids()}
    assert made[1:] == [[], []]
    assert tokenizer.pieces_of_tokens([]) == []


def test_tokens_that_are_there_are_refused(tokenizer):
    for wrong in ([tokenizer.tokens()[-1]], ["⟨17⟩", "⟨17⟩"]):
        with pytest.raises(InputError, match="already"):
            tokenizer.with_tokens(wrong)
