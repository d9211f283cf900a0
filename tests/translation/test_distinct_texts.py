"""N-best lists of different texts, where tokens can spell one in many ways."""

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.config import DecodingConfig
from keras_transformer.constants import NO_SCORE, SPECIAL_TOKENS
from keras_transformer.exporting.ctranslate2_translator import (
    CTranslate2Translator,
    Hypotheses,
)
from keras_transformer.text.character import CharacterTokenizer
from keras_transformer.text.sentencepiece import SentencePieceTokenizer
from keras_transformer.translation.details import detailed_translator, details
from keras_transformer.translation.translator import Translator
from tests.fake_models import RecurrentModel

TEXTS = ["ab", "", "hgfe dcba", "a", "bbb", "cafe"]


class Shouting(CharacterTokenizer):
    """Letters that are spelled as capitals, so that texts have variants."""

    kind = ""  # No other kind that is loaded from files.
    has_variants = True

    def _decode(self, ids):
        return tf.strings.upper(super()._decode(ids))


def translator(seed=1, **options):
    letters = "abcABC"
    model = RecurrentModel(seed, vocabulary_size=len(SPECIAL_TOKENS) + 6)
    # A letter and its capital are about as probable, and go on alike.
    first, last = len(SPECIAL_TOKENS), len(SPECIAL_TOKENS) + 3
    for name, axis in (("embedding", 0), ("output", 1)):
        parts = tf.split(getattr(model, name), [last, 3], axis)
        parts[1] = tf.gather(parts[0], range(first, last), axis=axis) * 0.99
        setattr(model, name, tf.concat(parts, axis))
    limits = {"max_length_ratio": 1.0, "max_length_offset": 4, "beam_size": 4}
    return Translator(
        CharacterTokenizer([*SPECIAL_TOKENS, *"abcdefgh"]),
        Shouting([*SPECIAL_TOKENS, *letters]),
        model,
        DecodingConfig(**{**limits, **options}),
    )


def by_search(subject, text):
    """The texts of the beam as the search gives them, and their scores."""
    text = tf.constant([text])
    source = subject.prepare(text)
    result = subject.search(source)
    texts = subject.texts(text, source, result.ids)
    return texts.numpy()[0], result


@pytest.mark.medium
@pytest.mark.parametrize("seed", range(3))
def test_no_two_of_a_list_are_the_same(seed):
    subject = translator(seed)
    outputs = subject.nbest(tf.constant(TEXTS))
    repeated = more = 0
    for row, text in enumerate(TEXTS):
        scores = outputs["scores"].numpy()[row]
        real = scores > NO_SCORE
        texts = outputs["translations"].numpy()[row]
        assert len(set(texts[real])) == real.sum() >= 1
        assert (texts[~real] == b"").all()
        assert (np.diff(real.astype(int)) <= 0).all()  # Left over: the last.
        if not text:
            continue
        plain, result = by_search(subject, text)
        repeated += len(plain) - len(set(plain))
        more += real.sum() - len(set(plain))
        # All texts of the beam are there, each with the best of its scores.
        assert real.sum() >= len(set(plain))
        assert texts[0] == plain[0]
        for found, score in zip(texts[real], scores[real], strict=True):
            if found in plain:
                first = plain.tolist().index(found)
                assert score == pytest.approx(result.scores.numpy()[0, first])
    assert repeated > 0
    assert more > 0  # Others have taken their places.


@pytest.mark.medium
@pytest.mark.parametrize("count", [2, 3, 4])
def test_fewer_are_the_first(count):
    subject = translator()
    every = subject.nbest(tf.constant(TEXTS))
    some = details(subject, count)(tf.constant(TEXTS))
    np.testing.assert_array_equal(
        some["translations"], every["translations"][:, :count]
    )
    for result in detailed_translator(subject, count)(TEXTS):
        texts = [one.text for one in result.hypotheses]
        assert len(set(texts)) == len(texts)


def test_both_of_two_are_different():
    outputs = details(translator(), 2)(tf.constant(TEXTS))
    for texts, scores in zip(
        outputs["translations"].numpy(), outputs["scores"].numpy(), strict=True
    ):
        real = texts[scores > NO_SCORE]
        assert len(set(real)) == len(real) >= 1


class Asked(Exception):
    """How many hypotheses a search is to give, and to keep."""


@pytest.mark.parametrize("variants", [False, True])
def test_further_hypotheses_are_kept_where_texts_have_variants(
    monkeypatch, variants
):
    assert SentencePieceTokenizer.has_variants > CharacterTokenizer.has_variants
    subject = translator()
    subject.target_tokenizer.has_variants = variants

    def asked(*arguments):
        raise Asked(*arguments[4:6])

    monkeypatch.setattr(subject, "_search", asked)
    wanted = (None, 16) if variants else (2, None)
    for search, expected in (
        (details(subject, 2), wanted),
        (subject.translate, (1, None)),
    ):
        with pytest.raises(Asked) as caught:
            search(tf.constant(TEXTS))
        assert caught.value.args == expected


def test_ctranslate2_gives_different_texts_of_all_of_its_beam():
    class Scripted(CTranslate2Translator):
        decoding = DecodingConfig(beam_size=4)
        _paragraphs = None

        def __init__(self):
            self.asked = []

        def search(self, texts, count=1):
            self.asked.append(count)
            rows = [[[4], [5], [6], [7]], [[8], [9]], [[]]]
            scores = [[-1.0, -2.0, -3.0, -4.0], [-1.0, -2.0], [0.0]]
            number = len(texts)
            cut, shifts = [False] * number, [0] * number
            return Hypotheses(rows[:number], scores[:number], cut, shifts)

        def _spell(self, hypotheses, shifts):
            spelt = {4: "a", 5: "a", 6: "b", 7: "c", 8: "x", 9: "x"}
            return [
                "".join(spelt[i] for i in ids)
                for rows in hypotheses
                for ids in rows
            ]

    subject = Scripted()
    texts = ["A", "X", ""]
    found = subject.translate(texts, n_best=2)
    assert found == [["a", "b"], ["x"], [""]]
    found = [
        [(one.text, one.score) for one in result.hypotheses]
        for result in subject.results(texts, 3)
    ]
    best = [("a", -1.0), ("b", -3.0), ("c", -4.0)]
    assert found == [best, [("x", -1.0)], [("", 0.0)]]
    assert subject.asked == [4, 4]
