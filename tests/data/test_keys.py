import hashlib
import time
import unicodedata

import numpy as np
import pytest

from keras_transformer.data.keys import (
    fingerprints,
    key_range,
    nfkc,
    pair_keys,
    sentence_keys,
)


def key(text):
    return next(iter(sentence_keys([text])))


def test_key_ignores_case_width_punctuation_and_script():
    assert key("?!") != key("...")
    assert key("Don't STOP!") == key("dont stop") == "dontstop"
    assert key("ＡＢＣ　１２") == "abc12"
    assert key("Straße") == key("STRASSE")
    assert key("這是漢語。") == key("这是汉语") == "这是汉语"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("की", "का", False),  # vowel signs, which aren't letters to Python
        ("ที่", "ทุ", False),
        ("မိ", "မု", False),
        ("கீ", "கா", False),
        ("مَلِك", "ملك", True),  # points, which are mostly left out
        ("שָׁלוֹם", "שלום", True),
        ("ok \u2764\ufe0f", "ok \u2764", True),
    ],
)
def test_key_has_the_signs_that_tell_words_apart(one, other, same):
    assert (key(one) == key(other)) == same


def test_key_of_many_marks_takes_no_quadratic_time():
    text = "a" + "\u0301" * 100_000 + "\u0316" * 100_000
    began = time.monotonic()
    assert key(text) == key(text + "!")
    assert time.monotonic() - began < 5


def test_long_text_is_normalised_word_by_word_as_a_whole():
    text = "e\u0301 \u0316\u0301 ｅ\u0301  \xb4 ㍿ " * 100
    assert len(text) > 1000
    assert nfkc(text) == unicodedata.normalize("NFKC", text)


def test_fingerprints_are_those_of_every_machine():
    # What was prepared here and there has to be the same.
    seven = (7).to_bytes(8, "little")
    for text in ("a", "嗨"):
        digest = hashlib.blake2b(
            text.encode(), digest_size=8, salt=seven, person=b"shuffle"
        ).digest()
        value = int.from_bytes(digest, "little") >> 1
        assert fingerprints([text], "shuffle", 7).tolist() == [value]
    assert fingerprints(["a"], "shuffle", 7) == 6748810589136103424
    assert fingerprints([], "source").shape == (0,)


def test_keys_of_pairs_have_a_side_in_common_where_sentences_are_the_same():
    keys = pair_keys([("Hi.", "嗨。"), ("hi", "你好"), ("嗨", "Hi!")])
    assert keys.source[0] == keys.source[1] != keys.source[2]
    assert keys.target[0] != keys.target[1]
    assert len(np.unique(keys.shuffle)) == 3
    # A source and a target never meet.
    assert not set(keys.source.tolist()) & set(keys.target.tolist())


@pytest.mark.parametrize("shards", [1, 2, 3, 7, 256, 1000])
def test_shards_are_ranges_of_keys_and_like_in_size(shards):
    keys = fingerprints(map(str, range(20_000)), "shuffle")
    expected, end = 20_000 / shards, -1
    for shard in range(shards):
        first, last = key_range(shard, shards)
        assert first == end + 1
        end = last
        owners = (np.array([first, last]) >> 31) * shards >> 32
        assert owners.tolist() == [shard, shard]
        count = ((keys >= first) & (keys <= last)).sum()
        assert abs(count - expected) < 6 * expected**0.5
    assert end == 2**63 - 1
