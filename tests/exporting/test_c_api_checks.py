"""What a process without Python's TensorFlow makes of exports."""

import json

import pytest

from keras_transformer.contract import layout
from keras_transformer.exporting.verification.c_api import find_library
from keras_transformer.exporting.verification.checks import (
    C_API_CHECKS,
    check_in_fresh_process,
)
from tests.exporting import small_export
from tests.exporting.conftest import run_python

pytestmark = pytest.mark.skipif(
    find_library() is None, reason="TensorFlow comes without its C++ library"
)

# Prints what signatures give, with its types, and which modules were loaded.
_RUN = """
import json, sys
from keras_transformer.exporting.verification import c_api
from keras_transformer.exporting.verification.replay_checks import readable
model = c_api.CApiModel(sys.argv[1])
for texts, signature in json.loads(sys.argv[2]):
    outputs = model.run(signature, {"text": [text.encode() for text in texts]})
    print(json.dumps({
        name: [values.dtype.name, readable(name, values, len(texts)).tolist()]
        for name, values in outputs.items()
    }))
print(*sys.modules)
"""
# Up to 22 bytes lie within a TF_TString; more have memory of their own.
_TEXTS = ["", "a", "b" * 22, "c" * 23, "狗" * 1000, "nul \0 inside"]


@pytest.mark.medium
def test_answers_that_differ_are_refused(tmp_path):
    folder = small_export.write(tmp_path / "1")
    path = folder / layout.REFERENCE
    reference = json.loads(path.read_text("utf-8"))
    reference["outputs"]["tokenize"]["ids"][1][0] += 1
    path.write_text(json.dumps(reference))
    results = check_in_fresh_process(folder, C_API_CHECKS)
    failed = {one.name: one.detail for one in results if not one.passed}
    assert (
        "tokenize, loaded and live: ids (1, 0)" in failed["equals_live_model"]
    )
    assert "warm-up request" in failed["warmup_replays"]
    (folder / layout.SAVED_MODEL).unlink()
    result, _ = check_in_fresh_process(folder, C_API_CHECKS)
    assert (result.name, result.passed) == ("model_loads", False)
    assert "SavedModel" in result.detail


def test_strings_of_any_length_go_in_and_come_out(report, run):
    requests = [(_TEXTS, layout.ALIGN), ([], layout.TOKENIZE)]
    process = run_python(_RUN, report.path, json.dumps(requests))
    assert process.returncode == 0, process.stderr[-2000:]
    *answers, modules = process.stdout.splitlines()
    modules = {name.split(".")[0] for name in modules.split()}
    assert not {"tensorflow", "keras", "tensorflow_text"} & modules
    some, none = map(json.loads, answers)
    assert {name: dtype for name, (dtype, _) in some.items()} == {
        "source_tokens": "object",
        "target_tokens": "object",
        "alignment": "float32",
        "truncated": "bool",
    }
    surface = run.source_tokenizer.surface(_TEXTS).to_list()
    limit = run.config.model.max_length - 2
    for row, tokens in zip(some["source_tokens"][1], surface, strict=True):
        kept = [token.decode() for token in tokens[:limit]]
        assert row[1 : 1 + len(kept)] == kept
        assert set(row[1 + len(kept) :]) <= {""}
    # No text gives no row.
    assert none == {"ids": ["int32", []], "length": ["int32", []]}


@pytest.mark.medium
def test_process_with_tensorflow_proves_nothing(tmp_path):
    code = (
        "import keras, json, sys; "
        "from keras_transformer.exporting.verification import "
        "c_api_checks as c; print(json.dumps([r.detail for r in "
        "c.check_without_python(sys.argv[1]) if not r.passed]))"
    )
    folder = small_export.write(tmp_path / "1")
    details = json.loads(run_python(code, folder).stdout)
    assert "keras, tensorflow was imported" in details
