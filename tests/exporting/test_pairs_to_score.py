"""As many translations as texts are scored; everyone refuses others."""

import json
import os
import pathlib
import subprocess
import sys

import pytest
import tensorflow as tf

from keras_transformer.contract import layout
from keras_transformer.contract.status import Code, as_serving_error
from keras_transformer.errors import InputError
from keras_transformer.exporting.saved_translator import SavedTranslator
from keras_transformer.exporting.session import SavedModelSession
from keras_transformer.exporting.verification.c_api import find_library

ONE, THREE = [b"Where is the dog?"], ["狗。".encode()] * 3
UNEQUAL = [(ONE, THREE), (THREE, ONE), (ONE, []), (ONE * 2, THREE)]
WORDS = "score takes one translation for each text. Received texts and "

_SCORE = """
import json, sys
from keras_transformer.exporting.verification.c_api import (
    CApiError, CApiModel, find_library
)
model = CApiModel(sys.argv[1], find_library())
for pair in json.loads(sys.argv[2]):
    texts, translations = ([t.encode() for t in column] for column in pair)
    try:
        model.run("score", {"text": texts, "translation": translations})
    except CApiError as error:
        print(json.dumps(str(error)))
    else:
        print(json.dumps("answered"))
"""


def check(message, texts, translations):
    assert WORDS in message
    assert f"[{len(texts)}] [{len(translations)}]" in message


@pytest.fixture(scope="module")
def session(report):
    session = SavedModelSession(report.path)
    yield session
    session.close()


@pytest.mark.parametrize(("texts", "translations"), UNEQUAL)
def test_a_session_refuses(session, texts, translations):
    inputs = {layout.TEXT: texts, layout.TRANSLATION: translations}
    for outputs in ((), (layout.TOKENS,), (layout.TRUNCATED,)):
        with pytest.raises(tf.errors.InvalidArgumentError) as raised:
            session.run(layout.SCORING, inputs, outputs)
        error = as_serving_error(raised.value)
        assert (error.code, error.http_status) == (Code.INVALID_ARGUMENT, 400)
        check(error.message, texts, translations)
        assert "\n" not in error.message


@pytest.mark.skipif(
    find_library() is None, reason="TensorFlow comes without its C++ library"
)
def test_the_c_api_refuses(report):
    pairs = [
        [[text.decode() for text in column] for column in pair]
        for pair in [*UNEQUAL, (ONE, ONE)]
    ]
    process = subprocess.run(
        [sys.executable, "-c", _SCORE, report.path, json.dumps(pairs)],
        env={**os.environ, "PYTHONPATH": str(pathlib.Path.cwd())},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr[-2000:]
    *refused, answered = map(json.loads, process.stdout.splitlines())
    for pair, message in zip(UNEQUAL, refused, strict=True):
        check(message, *pair)
    assert answered == "answered"


@pytest.mark.medium
@pytest.mark.parametrize(
    "batching",
    [pytest.param(False, marks=pytest.mark.slow), True],
    ids=["alone", "batching"],
)
def test_the_server_refuses(report, batching):
    reason = "needs the extra [serving]"
    pytest.importorskip("uvicorn", reason=reason)
    pytest.importorskip("tensorflow_serving", reason=reason)
    from keras_transformer.serving.server.config_files import ModelConfig
    from keras_transformer.serving.server.server import Server, ServerOptions
    from tests.serving.asking import ask

    server = Server(
        ServerOptions(
            (ModelConfig("en-zh", report.path.parent),),
            port=0,
            rest_port=0,
            batching=batching,
            access_log=False,
        )
    )
    server.start()
    try:
        for texts, translations in UNEQUAL:
            inputs = {
                "text": [text.decode() for text in texts],
                "translation": [text.decode() for text in translations],
            }
            body = {"signature_name": "score", "inputs": inputs}
            answer = ask(
                f"127.0.0.1:{server.rest_port}",
                "/v1/models/en-zh:predict",
                json.dumps(body).encode(),
            )
            message = json.loads(answer.body)["error"]
            assert answer.status == 400, message
            if batching:
                assert "must have equal 0th-dimension size" in message
            else:
                check(message, texts, translations)
    finally:
        server.stop(1)


def test_a_saved_translator_refuses(report):
    translator = SavedTranslator(report.path)
    with pytest.raises(InputError, match="Received: 1 texts, 3 translations"):
        translator.score(["a"], ["b", "c", "d"])
