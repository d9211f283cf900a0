"""What a process without Python's TensorFlow makes of exports."""

import json
import shutil

import pytest

from keras_transformer.contract import layout
from keras_transformer.exporting.verification import c_api_checks
from keras_transformer.exporting.verification.c_api import find_library
from keras_transformer.exporting.verification.checks import (
    C_API_CHECKS,
    check_in_fresh_process,
)
from tests.exporting.conftest import run_python

pytestmark = pytest.mark.skipif(
    find_library() is None, reason="TensorFlow comes without its C++ library"
)

# Runs signatures, and says which modules were loaded.
_RUN = """
import json, sys
from keras_transformer.exporting.verification import c_api
from keras_transformer.exporting.verification.replay_checks import readable
model = c_api.CApiModel(sys.argv[1], c_api.find_library())
answers = []
for texts, signature in json.loads(sys.argv[2]):
    texts = [text.encode() for text in texts]
    outputs = {
        name: readable(name, values, len(texts))
        for name, values in model.run(signature, {"text": texts}).items()
    }
    answers.append({
        "outputs": {name: value.tolist() for name, value in outputs.items()},
        "types": {name: value.dtype.name for name, value in outputs.items()},
    })
modules = [name.split(".")[0] for name in sys.modules]
print(json.dumps({"answers": answers, "modules": modules}))
"""
# Up to 22 bytes lie within a TF_TString; more have memory of their own.
_TEXTS = ["", "a", "b" * 22, "c" * 23, "狗" * 1000, "nul \0 inside"]


@pytest.fixture(scope="module")
def without_tensorflow(report):
    """The answers to some texts and to none, and the modules it took."""
    requests = [(_TEXTS, layout.ALIGN), ([], layout.TOKENIZE)]
    process = run_python(_RUN, report.path, json.dumps(requests))
    assert process.returncode == 0, process.stderr[-2000:]
    return json.loads(process.stdout)


@pytest.mark.medium
def test_answers_that_differ_are_refused(report, tmp_path):
    folder = shutil.copytree(report.path, tmp_path / "1")
    path = folder / layout.REFERENCE
    reference = json.loads(path.read_text("utf-8"))
    reference["outputs"]["tokenize"]["ids"][1][2] += 1
    path.write_text(json.dumps(reference))
    loads, equals, replays = check_in_fresh_process(folder, C_API_CHECKS)
    assert loads.passed
    assert not equals.passed
    assert "tokenize, loaded and live: ids (1, 2)" in equals.detail
    assert not replays.passed
    assert "warm-up request" in replays.detail
    (folder / layout.SAVED_MODEL).unlink()
    (result,) = check_in_fresh_process(folder, C_API_CHECKS)
    assert (result.name, result.passed) == ("c_api_loads", False)
    assert "SavedModel" in result.detail


def test_strings_of_any_length_go_in_and_come_out(without_tensorflow, run):
    answer, _ = without_tensorflow["answers"]
    surface = run.source_tokenizer.surface(_TEXTS).to_list()
    limit = run.config.model.max_length - 2
    for row, tokens in zip(
        answer["outputs"]["source_tokens"], surface, strict=True
    ):
        kept = [token.decode() for token in tokens[:limit]]
        assert row[1 : 1 + len(kept)] == kept
        assert set(row[1 + len(kept) :]) <= {""}
    assert answer["types"] == {
        "source_tokens": "object",
        "target_tokens": "object",
        "alignment": "float32",
        "truncated": "bool",
    }
    modules = {*without_tensorflow["modules"]}
    assert not {"tensorflow", "keras", "tensorflow_text"} & modules


def test_no_text_gives_no_row(without_tensorflow):
    _, answer = without_tensorflow["answers"]
    assert answer["outputs"] == {"ids": [], "length": []}
    assert answer["types"] == {"ids": "int32", "length": "int32"}


def test_missing_library_is_told(monkeypatch, tmp_path):
    monkeypatch.setattr(c_api_checks, "find_library", lambda: None)
    (result,) = c_api_checks.check_without_python(tmp_path)
    assert result.passed
    assert "not possible here" in result.detail


@pytest.mark.slow
def test_process_with_tensorflow_proves_nothing(report):
    code = (
        "import keras, json, sys; "
        "from keras_transformer.exporting.verification import "
        "c_api_checks as c; print(json.dumps([r.detail for r in "
        "c.check_without_python(sys.argv[1]) if not r.passed]))"
    )
    details = json.loads(run_python(code, report.path).stdout)
    assert details
    assert all("was imported" in detail for detail in details)
