"""Texts of several sentences, by what translates one."""

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.config import DataConfig
from keras_transformer.constants import NO_SCORE
from keras_transformer.text import CharacterTokenizer
from keras_transformer.text.sentences import SentenceSplitter
from keras_transformer.translation.paragraphs import (
    Paragraphs,
    by_sentence,
    pair_splitter,
    scored_by_sentence,
    scored_pairs,
    splitter_of,
)
from keras_transformer.translation.request import (
    Hypothesis,
    ScoredPair,
    Translation,
)

SPLITTER = SentenceSplitter("en", "de", tf.strings.length, 12, ">>de<<")
TEXT = tf.TensorSpec([None], tf.string, name="text")
TRANSLATION = tf.TensorSpec([None], tf.string, name="translation")


@tf.function(input_signature=[TEXT], autograph=False)
def shout(text):
    """Capitals; the score is the length; "Cut." is cut."""
    return {
        "translation": tf.strings.upper(text),
        "score": -tf.cast(tf.strings.length(text), tf.float32),
        "truncated": text == "Cut.",
    }


@tf.function(input_signature=[TEXT], autograph=False)
def shout_twice(text):
    """Two translations, of "One." one, beside a row that is left over."""
    best = shout(text)
    texts, scores = best["translation"], best["score"]
    has_two = text != "One."
    more = tf.where(has_two, texts + "?", "")
    lower = tf.where(has_two, scores - 1, NO_SCORE)
    left_over = tf.fill(tf.shape(scores), NO_SCORE)
    return {
        "translations": tf.stack([texts, more, tf.zeros_like(texts)], axis=1),
        "scores": tf.stack([scores, lower, left_over], axis=1),
        "truncated": best["truncated"],
    }


def answers(function, texts):
    outputs = function(text=tf.constant(texts, tf.string))
    return {name: np.array(tensor).tolist() for name, tensor in outputs.items()}


@pytest.mark.parametrize("batch_size", [1, 2, 64])
def test_texts_are_translated_sentence_by_sentence(batch_size):
    function = by_sentence(shout, SPLITTER, batch_size)
    texts = ["Ab cd. Ef.\n\n - Gh  ", "", "Cut. Or not.", " \n", "One."]
    assert answers(function, texts) == {
        "translation": [b"AB CD. EF.\n\n - GH  ", b"", b"CUT. OR NOT.", b""]
        + [b"ONE."],
        "score": pytest.approx([-11 / 3, 0, -5.5, 0, -4]),
        "truncated": [False, False, True, False, False],
        "sentences": [3, 0, 2, 0, 1],
    }


def test_symbols_without_words_are_not_translated():
    function = by_sentence(shout_twice, SPLITTER, 64, ranks=3)
    texts = ["Ab.\n⟨1/⟩\nEf.", "⟨1/⟩\n⟨2⟩ ⟨/2⟩"]
    found = answers(function, texts)
    (best, second, _), (alone, *_) = found["translations"]
    assert best.decode() == "AB.\n⟨1/⟩\nEF."
    assert second.decode() == "AB.?\n⟨1/⟩\nEF.?"
    assert alone.decode() == texts[1]
    assert found["scores"][0][0] == -3
    assert found["sentences"] == [2, 0]


def test_bullets_without_words_stay():
    def translate(sentences):
        assert sentences == ["Ab."]
        return [Translation("Ab.", [Hypothesis("AB.", -1.0)], False)]

    texts = ["- ⟨1/⟩\n- ⟨2/⟩", "Ab.\n- ⟨1/⟩", "⟨1/⟩", " \n"]
    found = Paragraphs(SPLITTER, 4).translate(texts, translate)
    best = [result.hypotheses[0].text for result in found]
    assert best == [texts[0], "AB.\n- ⟨1/⟩", "⟨1/⟩", ""]


def test_symbols_alone_are_the_same_beside_other_texts():
    function = by_sentence(shout_twice, SPLITTER, 64, ranks=3)
    alone = answers(function, ["⟨1/⟩"])["translations"]
    assert alone == answers(function, ["⟨1/⟩", "Ab. Cd."])["translations"][:1]


def test_a_batch_of_sentences_is_what_it_was():
    function = by_sentence(shout, SPLITTER, 64)
    texts = ["Ab cd.", "Ef?", "Cut."]
    assert answers(function, texts) == answers(shout, texts) | {
        "sentences": [1, 1, 1]
    }
    assert answers(function, []) == answers(shout, []) | {"sentences": []}


def test_2_000_words_without_a_stop_are_not_truncated():
    @tf.function(input_signature=[TEXT], autograph=False)
    def shout_if_short(text):
        return shout(text) | {"truncated": tf.strings.length(text) > 12}

    text = " ".join(["ab", "cde"] * 1000)
    found = answers(by_sentence(shout_if_short, SPLITTER, 64), [text])
    assert found["translation"] == [text.upper().encode()]
    assert found["truncated"] == [False]
    assert found["sentences"][0] > 500
    alone = answers(by_sentence(shout_if_short, None, 64), [text])
    assert alone["truncated"] == [True]


@tf.function(input_signature=[TEXT, TRANSLATION], autograph=False)
def weigh(text, translation):
    """Scores by the lengths of both; "Cut." is cut."""
    tokens = tf.strings.length(translation)
    total = -tf.cast(tf.strings.length(text) + tokens, tf.float32)
    return {
        "log_probability": total,
        "score": total / tf.cast(tf.maximum(tokens, 1), tf.float32),
        "tokens": tokens,
        "truncated": text == "Cut.",
        "translation_truncated": translation == "Cut.",
    }


PAIR_SPLITTERS = SPLITTER, SentenceSplitter("de", "en")


@pytest.mark.parametrize("batch_size", [1, 3, 64])
def test_pairs_of_as_many_sentences_are_scored_one_by_one(batch_size):
    function = scored_by_sentence(weigh, PAIR_SPLITTERS, batch_size)
    texts = ["Ab. Cd.", "Ab. Cd.", "Cut. Ef.", "One.", ""]
    translations = ["Xyz. U.", "Xyz, u.", "Aa. Cut.", "Eins. ", "Eins."]
    outputs = function(tf.constant(texts), tf.constant(translations))
    found = {name: np.array(value).tolist() for name, value in outputs.items()}
    assert found == {
        # The second pair is one of two sentences and one: whole.
        "log_probability": [-12, -14, -14, -10, -5],
        "score": pytest.approx(
            [(-7 / 4 - 5 / 2) / 2, -2, (-7 / 3 - 7 / 4) / 2, -10 / 6, -1]
        ),
        "tokens": [6, 7, 7, 6, 5],
        "truncated": [False, False, True, False, False],
        "translation_truncated": [False, False, True, False, False],
    }
    alone = [tf.constant(["One.", "Two?"]), tf.constant(["Eins.", "Zwei?"])]
    for name, value in function(*alone).items():
        np.testing.assert_array_equal(value, weigh(*alone)[name])


def test_scored_pairs_have_the_tokens_of_their_sentences():
    def score(pairs):
        return [
            ScoredPair(a, b, -1.0, -0.5, 2, a == "Cut.", [b, "</s>"], [-1, 0])
            for a, b in pairs
        ]

    pairs = [("Ab. Cut.", "Xy. Z."), ("Ab.", "Xy. Z.")]
    split = pair_splitter(PAIR_SPLITTERS)
    tokens = ["Xy.", "</s>", "Z.", "</s>"]
    assert scored_pairs(pairs, score, split, 1) == [
        ScoredPair(*pairs[0], -2.0, -0.5, 4, True, tokens, [-1, 0, -1, 0]),
        *score(pairs[1:]),
    ]


def test_a_language_code_goes_with_each_sentence():
    function = by_sentence(shout, SPLITTER, 64)
    found = answers(function, [">>de<< Ab. Cd."])
    assert found["translation"] == [b">>DE<< AB. >>DE<< CD."]


def test_the_kth_translations_are_joined():
    function = by_sentence(shout_twice, SPLITTER, 2, ranks=3)
    found = answers(function, ["Ab. One.", "One.", "", "One. One."])
    assert found["translations"] == [
        [b"AB. ONE.", b"AB.? ONE.", b""],
        [b"ONE.", b"", b""],
        [b"", b"", b""],
        [b"ONE. ONE.", b"", b""],
    ]
    low = pytest.approx(NO_SCORE)
    assert found["scores"] == [
        pytest.approx([-3.5, -4, NO_SCORE]),
        pytest.approx([-4, NO_SCORE, NO_SCORE]),
        [0.0, low, low],
        pytest.approx([-4, NO_SCORE, NO_SCORE]),
    ]
    assert found["sentences"] == [2, 1, 0, 2]


def test_without_a_splitter_a_text_is_a_sentence():
    function = by_sentence(shout, None, 64)
    found = answers(function, ["Ab. Cd.\n", "", " "])
    assert found["translation"] == [b"AB. CD.\n", b"", b" "]
    assert found["sentences"] == [1, 0, 0]


def sentence_results(lines):
    """Results with a token for each word, which attends to its own."""
    return [sentence_result(line, line.split()) for line in lines]


def sentence_result(line, words):
    best = line.upper(), -1.0, -float(len(words)), True, words
    details = [-1.0] * len(words), np.eye(len(words)).tolist()
    hypotheses = [Hypothesis(*best, *details)]
    if line != "One.":
        text, score, total, *rest = best
        second = f"{text}!", score - 1, total - 1, *rest
        hypotheses.append(Hypothesis(*second, *details))
    return Translation(line, hypotheses, line == "Cut.", words)


def test_details_are_those_of_the_sentences_one_after_the_other():
    paragraphs = Paragraphs(SPLITTER, 2)
    lines = ["Ab cd. Ef.\r\n", "Cut. One.", ""]
    results = paragraphs.translate(lines, sentence_results)
    assert [[one.text for one in r.hypotheses] for r in results] == [
        ["AB CD. EF.\r\n", "AB CD.! EF.!\r\n"],
        ["CUT. ONE.", "CUT.! ONE."],
        [""],
    ]
    assert [result.sentences for result in results] == [2, 2, 0]
    assert [result.truncated for result in results] == [False, True, False]
    first = results[0]
    best = first.hypotheses[0]
    assert first.source == lines[0]
    assert first.source_tokens == best.tokens == ["Ab", "cd.", "Ef."]
    assert best.alignment == np.eye(3).tolist()
    assert best.token_log_probabilities == [-1.0] * 3
    assert (best.score, best.log_probability, best.finished) == (-1, -3, True)
    assert paragraphs.translate([], sentence_results) == []


def test_details_that_nobody_asked_for_stay_unknown():
    def translate(lines):
        return [Translation(line, [Hypothesis(line, 0.0)]) for line in lines]

    (found,) = Paragraphs(SPLITTER, 64).translate(["Ab. Cd."], translate)
    assert found.source_tokens is None
    assert found.hypotheses == [Hypothesis("Ab. Cd.", 0.0)]


def test_a_models_length_and_tags_are_its_splitters():
    letters = CharacterTokenizer.train(["abcdefgh .,"] * 2, tags=["<BT>"])
    data = DataConfig(source_language="en", target_language="de")
    splitter = splitter_of(data, letters, max_length=13)
    found = splitter.split(tf.constant(["<BT> abcd, efgh abcd"]))
    assert found.heads.numpy().tolist() == [b"<BT> "]
    assert found.texts.numpy().tolist() == [b"abcd,", b"efgh abcd"]
