"""Punctuation against sacremoses; scripts/fixtures/moses.py made the file."""

import json
import pathlib

import pytest

from keras_transformer.text import CharacterTokenizer
from keras_transformer.text.normalization import Normalizer
from keras_transformer.text.tokenizer import load_tokenizer

REFERENCE = json.loads(
    (pathlib.Path(__file__).parent / "moses.json").read_text("utf-8")
)


@pytest.mark.parametrize("language", ["en", "de", "cs"])
def test_texts_are_as_sacremoses_makes_them(language):
    normalizer = Normalizer(nfc=False, moses_language=language)
    texts = normalizer(REFERENCE["texts"]).numpy()
    assert [text.decode().strip() for text in texts] == [
        text.strip() for text in REFERENCE[language]
    ]


def test_a_tokenizer_keeps_the_option(tmp_path):
    tokens = ["<pad>", "<unk>", "<s>", "</s>", '"', "h"]
    tokenizer = CharacterTokenizer(tokens, moses_language="en")
    tokenizer.save(tmp_path)
    loaded = load_tokenizer(tmp_path)
    assert loaded.options()["moses_language"] == "en"
    assert loaded.tokenize(["“h”"]).to_list() == [[4, 5, 4]]
    assert "moses_language" not in CharacterTokenizer(tokens).options()
