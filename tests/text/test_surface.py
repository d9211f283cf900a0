"""Source tokens as they look in the text, and put for unknown ones."""

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.constants import SPECIAL_TOKENS, UNK_ID
from keras_transformer.text import (
    CharacterTokenizer,
    SentencePieceTokenizer,
    WordTokenizer,
)
from keras_transformer.text.tokenizer import UNKNOWN
from keras_transformer.text.vocabulary_training import train_sentencepiece

TEXTS = [
    "I can't see 'the Books', but he said: \"Look at Zürich!\"",
    "他住在 New York，看書。",
    "  Ωmega   ▁ Café İstanbul  ",
    "we'Ll see; WE'LL SEE; gonna 'Tis CANNOT.",
    "",
    " ",
    b"\xff broken \xed\xa0\x80",
]


def texts(strings):
    return [text.decode() for text in strings.numpy()]


def surfaces(tokenizer, text):
    (row,) = tokenizer.surface([text]).to_list()
    return [piece.decode() for piece in row]


def pieces(*lines):
    return SentencePieceTokenizer(train_sentencepiece(lines * 5, 60))


def test_one_for_one_with_the_ids(tokenizer):
    ids = tokenizer.tokenize(TEXTS)
    found = tokenizer.surface(TEXTS)
    assert found.row_lengths().numpy().tolist() == (
        ids.row_lengths().numpy().tolist()
    )
    assert found.dtype == tf.string


def test_words_keep_their_case_and_quotes():
    tokenizer = WordTokenizer(SPECIAL_TOKENS)
    assert surfaces(tokenizer, 'He said: "I can\'t see Zürich."') == (
        ["He", "said", ":", '"', "I", "ca", "n't", "see", "Zürich", ".", '"']
    )


def test_characters_but_no_space():
    tokenizer = CharacterTokenizer(SPECIAL_TOKENS)
    assert surfaces(tokenizer, "Né a你 好") == ["N", "é", "", "a", "你", "好"]


def test_pieces_show_what_they_stand_for():
    tokenizer = pieces("the cat sat", "a cat ran")
    found = surfaces(tokenizer, "the cat ＡΩ sat")
    assert "".join(found) == "thecatＡΩsat"
    assert "ＡΩ" in found
    assert "" in found


def test_replacements_stand_for_unknown_tokens_alone():
    tokenizer = WordTokenizer([*SPECIAL_TOKENS, "hello", ",", "!"])
    ids = tf.constant([[4, 5, UNK_ID, 6, 3, UNK_ID], [2, UNK_ID, 4, 0, 0, 0]])
    given = tf.constant(
        [["a", "b", "Bob", "c", "d", "e"], ["f", ""] + 4 * ["g"]]
    )
    assert texts(tokenizer.detokenize(ids, given)) == (
        ["hello, Bob!", f"{UNKNOWN} hello"]
    )


def test_replacements_among_pieces():
    tokenizer = pieces("the cat sat", "a cat ran")
    ids = tokenizer.tokenize(["the Ω sat", "Ω ran"])
    given = tf.where(ids.to_tensor() == UNK_ID, "Bob", "no")
    assert texts(tokenizer.detokenize(ids, given)) == ["the Bob sat", "Bob ran"]


def test_the_mark_as_replacement_changes_nothing(tokenizer):
    random = np.random.default_rng(1)
    ids = random.integers(0, tokenizer.vocabulary_size, [200, 9])
    ids[:, ::4] = UNK_ID
    ids = tf.constant(ids, tf.int32)
    expected = texts(tokenizer.detokenize(ids))
    for mark in ("", UNKNOWN):
        marks = tf.fill(tf.shape(ids), mark)
        assert texts(tokenizer.detokenize(ids, marks)) == expected


@pytest.mark.parametrize("rows", [0, 1])
def test_replacements_of_nothing(tokenizer, rows):
    assert tokenizer.surface(tf.constant([], tf.string)).to_list() == []
    ids = tf.zeros([rows, 0], tf.int32)
    given = tf.zeros([rows, 0], tf.string)
    assert texts(tokenizer.detokenize(ids, given)) == [""] * rows
