"""Checks of an export in a fresh process, and folders that fail them."""

import json
import sys

import keras
import pytest
import tensorflow as tf

from keras_transformer.contract import layout
from keras_transformer.errors import InputError
from keras_transformer.exporting.verification import (
    saved_model_checks as verification,
)
from keras_transformer.exporting.verification.checks import (
    CheckResult,
    check_in_fresh_process,
    require_passed,
)
from keras_transformer.exporting.verification.saved_model_checks import verify
from keras_transformer.system.files import read_json, write_json
from tests.exporting import small_export
from tests.exporting.conftest import run_python

# What fails of two folders, and then the modules that were loaded.
_VERIFY = """
import json, sys
import keras_transformer.exporting.saved_translator
from keras_transformer.exporting.verification.saved_model_checks import verify
print(json.dumps([
    {one.name: one.detail for one in verify(folder) if not one.passed}
    for folder in sys.argv[1:]
]))
print(*sys.modules)
"""


def compiled(outputs):
    """A change that has to be compiled by XLA."""
    function = tf.function(lambda x: x + 0.0, jit_compile=True, autograph=False)
    return {**outputs, "score": function(outputs["score"])}


def test_an_export_passes_every_check(report):
    checks = check_in_fresh_process(report.path)
    assert [check for check in checks if not check.passed] == []
    assert len({check.name for check in checks}) == len(checks) == 15


@pytest.mark.medium
def test_fresh_process_catches_what_the_server_refuses(tmp_path):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])

    def reading(outputs):
        number = tf.reduce_sum(model.weights[0])
        return {**outputs, "score": outputs["score"] + 0.0 * number}

    # Both load and run in Python. One has a Keras model as an attribute.
    folders = (
        small_export.write(tmp_path / "keras", reading, model=model),
        small_export.write(tmp_path / "compiled", compiled),
    )
    process = run_python(_VERIFY, *folders)
    assert process.returncode == 0, process.stderr
    failed, modules = process.stdout.splitlines()
    for package in (
        *("ops", "layers", "models", "text", "training"),
        *("inference", "search", "translation.translator"),
    ):
        assert f"keras_transformer.{package}" not in modules
    keras_failed, compiled_failed = json.loads(failed)
    assert "variables_are_stored_once" in keras_failed
    assert "XLA" in compiled_failed["nothing_must_be_compiled"]
    for name in ("equals_live_model", "warmup_replays"):
        assert "Could not find variable" in keras_failed[name]
        assert compiled_failed[name] == "XLA compilation disabled"


def test_reference_without_a_signature_fails_its_check(tmp_path):
    folder = small_export.write(tmp_path / "1")
    reference = read_json(folder / layout.REFERENCE)
    del reference["outputs"]["align"]
    write_json(folder / layout.REFERENCE, reference)
    failed = [result for result in verify(folder) if not result.passed]
    assert [result.name for result in failed] == ["reference_is_readable"]
    assert "no signature 'align'" in failed[0].detail


def test_c_api_process_that_dies_is_a_failed_check(tmp_path, monkeypatch):
    folder = small_export.write(tmp_path / "1")
    monkeypatch.setattr(sys, "executable", "/bin/false")
    failed = [r for r in verify(folder) if not r.passed]
    assert failed == [
        CheckResult("process_ends_well", False, "ended with 1: silent")
    ]
    says = "refused: check process_ends_well failed: ended with 1: silent"
    with pytest.raises(InputError, match=says):
        require_passed(failed, "refused")


def test_without_the_c_api_python_loads_it(tmp_path, monkeypatch):
    monkeypatch.setattr(verification, "find_library", lambda: None)
    *_, equals, _, _, _, cut, replays = verify(
        small_export.write(tmp_path / "1")
    )
    assert equals.name == "equals_live_model"
    assert equals.passed
    # It never cuts a text off.
    assert (cut.name, cut.passed) == ("long_text_is_answered", False)
    assert replays.passed


def test_unreadable_folders_fail_the_first_check(tmp_path):
    (tmp_path / "saved_model.pb").write_bytes(b"\xff not a protobuf")
    cases = (tmp_path, "damaged"), (tmp_path / "none", "No such file")
    for folder, says in cases:
        results = verify(folder)
        assert results[0].name == "graph_is_readable"
        assert not any(result.passed for result in results)
        assert says in results[0].detail
