import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.config import DecodingConfig
from keras_transformer.constants import SPECIAL_TOKENS
from keras_transformer.text.character import CharacterTokenizer
from keras_transformer.translation.translator import Translator
from tests.fake_models import RecurrentModel, ScriptedModel, chain

TEXTS = ["abc", "", "hgfe dcba", "a", "   ", "bbb"]


def tokenizer():
    return CharacterTokenizer([*SPECIAL_TOKENS, *"abcdefgh"])


def translator(model=None, **options):
    model = model or RecurrentModel(1, vocabulary_size=12)
    return Translator(
        tokenizer(),
        tokenizer(),
        model,
        DecodingConfig(max_length_ratio=2.0, max_length_offset=3, **options),
    )


@pytest.fixture(scope="module", params=[1, 4], ids=["greedy", "beam 4"])
def subject(request):
    return translator(beam_size=request.param)


def run(translator, texts):
    outputs = translator.translate(tf.constant(texts, tf.string))
    translations = [text.decode() for text in outputs["translation"].numpy()]
    return translations, outputs["score"].numpy()


@pytest.mark.parametrize("beam_size", [1, 4])
def test_says_the_word_that_the_model_spells_and_nothing_to_blanks(beam_size):
    model = ScriptedModel(chain(6, 4, 7, vocabulary_size=12))
    texts, scores = run(translator(model, beam_size=beam_size), TEXTS)
    assert texts == ["cad" if text.strip() else "" for text in TEXTS]
    assert scores.dtype == np.float32
    np.testing.assert_array_equal(scores[[1, 4]], 0.0)
    assert (scores[[0, 2, 3, 5]] < 0).all()


def test_only_blank_texts(subject):
    texts, scores = run(subject, ["", " ", "\xad\u2800"])
    assert texts == ["", "", ""]
    np.testing.assert_array_equal(scores, 0.0)
    texts, scores = run(subject, [])
    assert texts == []
    assert scores.shape == (0,)


def test_a_text_does_not_depend_on_its_neighbours(subject):
    together, scores = run(subject, TEXTS)
    for index, text in enumerate(TEXTS):
        alone, score = run(subject, [text])
        assert alone == [together[index]]
        np.testing.assert_allclose(score, scores[[index]], rtol=1e-6)
    # One trace serves every batch.
    assert subject.translate.experimental_get_tracing_count() == 1


def test_a_source_beyond_the_model_is_cut_and_reported():
    model = RecurrentModel(1, vocabulary_size=12)
    model.max_length = 8
    subject = translator(model)
    source = subject.prepare(["abcdefgh", "abcdef"])
    assert source.ids.numpy().tolist() == [[2, 4, 5, 6, 7, 8, 9, 3]] * 2
    assert source.lengths.numpy().tolist() == [6, 6]
    assert source.truncated.numpy().tolist() == [True, False]
    texts, _ = run(subject, ["abcdefgh", "abcdef"])
    assert texts[0] == texts[1]
