"""Blank text: the graph and Python agree, for each character of Unicode."""

import sys

import pytest
import tensorflow as tf

from keras_transformer.blank import is_blank
from keras_transformer.constants import SPECIAL_TOKENS
from keras_transformer.text import SpaceTokenizer
from keras_transformer.text.normalization import Normalizer, squeeze

CHARACTERS = [
    chr(point)
    for point in range(sys.maxunicode + 1)
    if not 0xD800 <= point < 0xE000
]
# Those of the report, and others of their kinds.
INVISIBLE = [
    *"\u200b\xad\u2060\u061c\u2800\u3164\u115f\ufe0f\ufeff\u200d\u180e\ufff9",
    "\U000e0001\U000e0067",
    "\U000e0100",
    "\u034f\x01\x7f",
    " \u200b\u3000\u200e \xad",
]


@pytest.mark.parametrize("options", [{}, {"nfc": False}])
def test_graph_and_python_agree_on_all_of_unicode(options):
    texts = squeeze(Normalizer(**options)(tf.constant(CHARACTERS))).numpy()
    blank = [c for c, text in zip(CHARACTERS, texts, strict=True) if not text]
    assert blank == list(filter(is_blank, CHARACTERS))


@pytest.mark.medium
def test_it_is_what_unicode_says_and_symbols_that_are_empty():
    regex = pytest.importorskip("regex")  # comes with NLTK
    properties = r"[\p{Default_Ignorable_Code_Point}\p{White_Space}\p{Cc}]"
    known = {c for c in CHARACTERS if regex.match(properties, c)}
    others = set(filter(is_blank, CHARACTERS)) ^ known
    assert others == set("\u2800\ufff9\ufffa\ufffb\U0001d159") | set(
        "\U00013441\U00013442"
    )


@pytest.mark.parametrize("text", INVISIBLE, ids=ascii)
def test_a_text_of_nothing_that_is_seen_has_no_token(tokenizer, text):
    given = [text, f"a {text} b", "a b"]
    nothing, between, spaced = tokenizer.tokenize(given).to_list()
    assert is_blank(text)
    assert not nothing
    assert between == spaced


def test_nor_has_one_behind_a_tag():
    tokenizer = SpaceTokenizer([*SPECIAL_TOKENS, "<BT>"], tags=["<BT>"])
    texts = [f"<BT>{space}{text}" for text in INVISIBLE for space in ("", " ")]
    ids = tokenizer.tokenize(texts).to_list()
    assert ids == [[4]] * len(texts)


@pytest.mark.parametrize(
    "text",
    [
        "می‌خواهم",  # Persian, with a non-joiner
        "क्‍ष र्‌",  # Hindi: a joiner, and a non-joiner at a word's end
        "👩‍👩‍👧 ❤️ 1️⃣",
        "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f x",
        "⠓⠊⠀⠓⠊",  # Braille
        "葛\U000e0100城",
    ],
)
def test_within_words_they_stay(text):
    assert not is_blank(text)
    assert Normalizer()([text]).numpy()[0].decode() == text
