import json
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.config import DecodingConfig
from keras_transformer.constants import SPECIAL_TOKENS
from keras_transformer.text.character import CharacterTokenizer
from keras_transformer.translation.details import text_translator
from keras_transformer.translation.stream import (
    translate_lines,
)
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
def test_says_the_word_that_the_model_spells(beam_size):
    model = ScriptedModel(chain(6, 4, 7, vocabulary_size=12))
    texts, scores = run(translator(model, beam_size=beam_size), ["ab", "c"])
    assert texts == ["cad", "cad"]
    assert scores.dtype == np.float32
    assert (scores < 0).all()


@pytest.mark.parametrize("beam_size", [1, 4])
def test_blank_text_gives_blank_text(beam_size):
    model = ScriptedModel(chain(6, 4, 7, vocabulary_size=12))
    texts, scores = run(translator(model, beam_size=beam_size), TEXTS)
    assert texts == ["cad" if text.strip() else "" for text in TEXTS]
    np.testing.assert_array_equal(scores[[1, 4]], 0.0)
    assert (scores[[0, 2, 3, 5]] < 0).all()


def test_only_blank_texts(subject):
    texts, scores = run(subject, ["", " ", "\xad\u2800"])
    assert texts == ["", "", ""]
    np.testing.assert_array_equal(scores, 0.0)


def test_no_text(subject):
    texts, scores = run(subject, [])
    assert texts == []
    assert scores.shape == (0,)


def test_a_text_does_not_depend_on_its_neighbours(subject):
    together, scores = run(subject, TEXTS)
    for index, text in enumerate(TEXTS):
        alone, score = run(subject, [text])
        assert alone == [together[index]]
        np.testing.assert_allclose(score, scores[[index]], rtol=1e-6)


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


def test_one_trace_serves_every_batch(subject):
    run(subject, ["a"])
    run(subject, TEXTS)
    assert subject.translate.experimental_get_tracing_count() == 1


def test_holds_the_tokenizers_and_no_model(subject):
    assert subject.source_tokenizer in subject.submodules
    assert subject.target_tokenizer in subject.submodules
    assert subject.variables == ()


def test_lines_through_a_translator(subject):
    lines = [f"{text}\n" for text in TEXTS]
    found = translate_lines(
        lines, text_translator(subject.translate), batch_size=2, window=3
    )
    assert list(found) == run(subject, TEXTS)[0]


SESSION = """
import ctypes, glob, json, os, sys
import tensorflow as tf, tensorflow_text
library = glob.glob(
    os.path.join(os.path.dirname(tf.__file__), "libtensorflow_cc.so.*")
)[0]
ctypes.CDLL(library)._ZN10tensorflow21DisableXlaCompilationEv()
with tf.compat.v1.Session(graph=tf.Graph()) as session:
    loaded = tf.compat.v1.saved_model.load(session, ["serve"], sys.argv[1])
    results = []
    for name, texts in json.loads(sys.argv[2]):
        signature = loaded.signature_def[name]
        outputs = session.run(
            {
                key: value.name
                for key, value in signature.outputs.items()
            },
            {signature.inputs["text"].name: texts},
        )
        results.append([
            [text.decode() for text in outputs["translation"]],
            outputs["score"].tolist(),
        ])
print(json.dumps(results))
"""


@pytest.mark.slow  # every export is checked so
def test_a_saved_translator_runs_in_a_session_without_xla(tmp_path):
    model = RecurrentModel(1, vocabulary_size=12)
    subject = translator(model, beam_size=3)
    greedy = Translator(
        subject.source_tokenizer,
        subject.target_tokenizer,
        model,
        DecodingConfig(beam_size=1),
    )
    module = tf.Module()
    module.tokenizers = (subject.source_tokenizer, subject.target_tokenizer)
    tf.saved_model.save(
        module,
        str(tmp_path),
        signatures={
            "serving_default": subject.translate,
            "greedy": greedy.translate,
        },
    )
    loaded = tf.saved_model.load(str(tmp_path))
    assert (
        text_translator(loaded.signatures["serving_default"])(TEXTS)
        == run(subject, TEXTS)[0]
    )
    requests = [
        (name, texts)
        for name in ("serving_default", "greedy")
        for texts in (TEXTS, ["abc"], [])
    ]
    process = subprocess.run(
        [sys.executable, "-c", SESSION, str(tmp_path), json.dumps(requests)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr[-2000:]
    expected = [
        run(subject if name == "serving_default" else greedy, texts)
        for name, texts in requests
    ]
    for found, (texts, scores) in zip(
        json.loads(process.stdout), expected, strict=True
    ):
        assert found[0] == texts
        np.testing.assert_allclose(found[1], scores, rtol=1e-5)
