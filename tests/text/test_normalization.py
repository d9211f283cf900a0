import time

import pytest

from keras_transformer.text.normalization import MARK, Normalizer, squeeze


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("e\u0301", "é"),
        ("a\x00b\tc\x1fd\x7fe\x9ff\u2028g", "a b c d e f g"),
        ("\ufeffa\u200eb\u202a", "ab"),
        ("Donau\xaddampf", "Donaudampf"),
        ("zero\u200djoiner", "zero\u200djoiner"),
        ("，ＡＢ…", "，ＡＢ…"),
        (f"a{MARK}b", "a\ufffdb"),
        (b"a\xffb", "a\ufffdb"),
    ],
)
def test_default_normalisation(text, expected):
    assert Normalizer()([text]).numpy()[0].decode() == expected


def test_each_step_is_an_option():
    text = "e\u0301\x07 漢\x00\n"
    kept = Normalizer(nfc=False)([text]).numpy()[0]
    assert kept.decode() == "e\u0301  漢  "
    simplified = Normalizer(simplify=True)([text]).numpy()[0]
    assert simplified.decode() == "é  汉  "


def test_squeeze_knows_every_white_space():
    text = squeeze(["\u3000 a \t\u2003b\xa0\x1fc\u2028"]).numpy()[0].decode()
    assert text == "a b c"


def test_many_marks_in_a_row_take_no_quadratic_time():
    text = "a" + "\u0301" * 100_000 + "\u0316" * 100_000 + "b"
    began = time.monotonic()
    once = Normalizer()([text])
    assert time.monotonic() - began < 5
    assert once.numpy()[0].decode() == "á" + "\u0301" * 29 + "b"
    assert Normalizer()(once).numpy() == once.numpy()
