import json
import shutil
import sys

import pytest

from keras_transformer.contract import layout
from keras_transformer.errors import InputError
from keras_transformer.exporting.verification import (
    saved_model_checks as verification,
)
from keras_transformer.exporting.verification.checks import (
    CheckFailed,
    CheckResult,
    require_passed,
)
from keras_transformer.exporting.verification.saved_model_checks import verify
from tests.exporting.conftest import run_python

# What `python -m` runs, and then the modules that were loaded.
_VERIFY = """
import sys
import keras_transformer.exporting.saved_translator
from keras_transformer.exporting.verification.saved_model_checks import (
    verify,
    write_results,
)
write_results(verify)
print(*sys.modules)
"""


@pytest.mark.medium
def test_fresh_process_catches_what_the_server_refuses(
    keras_export, compiled_export, tmp_path
):
    # Both load and run in Python.
    report = tmp_path / "report.json"
    failures = {}
    for folder in (keras_export, compiled_export):
        process = run_python(_VERIFY, folder, report)
        assert process.returncode == 0, process.stderr
        for package in (
            *("ops", "layers", "models", "text", "training"),
            *("inference", "search", "translation.translator"),
        ):
            assert f"keras_transformer.{package}" not in process.stdout
        failures |= {
            (folder.name, check["name"]): check["detail"]
            for check in json.loads(report.read_text("utf-8"))
            if not check["passed"]
        }
    assert "Could not find variable" in failures["keras", "equals_live_model"]
    assert ("keras", "variables_are_stored_once") in failures
    assert "XLA" in failures["compiled", "nothing_must_be_compiled"]
    assert failures["compiled", "equals_live_model"] == (
        "XLA compilation disabled"
    )
    for name in ("c_api_equals_live_model", "c_api_warmup_replays"):
        assert "Could not find variable" in failures["keras", name]
        assert "XLA compilation disabled" in failures["compiled", name]


def test_reference_without_a_signature_fails_its_check(report, tmp_path):
    folder = shutil.copytree(report.path, tmp_path / "1")
    path = folder / layout.REFERENCE
    reference = json.loads(path.read_text("utf-8"))
    del reference["outputs"]["align"]
    path.write_text(json.dumps(reference))
    failed = [result for result in verify(folder) if not result.passed]
    assert [result.name for result in failed] == ["reference_is_readable"]
    assert "no signature 'align'" in failed[0].detail


def test_c_api_process_that_dies_is_a_failed_check(report, monkeypatch):
    def session_loads(folder):
        raise CheckFailed("no tables")

    # Not in this process, which other tests compile in.
    monkeypatch.setattr(verification, "disable_xla", lambda: False)
    monkeypatch.setattr(verification, "session_loads", session_loads)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    failed = [r for r in verify(report.path) if not r.passed]
    assert failed == [
        CheckResult("session_loads", False, "no tables"),
        CheckResult("process_ends_well", False, "ended with 1: silent"),
    ]
    says = r"refused: check session_loads failed \(and 1 more\): no tables"
    with pytest.raises(InputError, match=says):
        require_passed(failed, "refused")


def test_unreadable_folders_fail_the_first_check(tmp_path):
    (tmp_path / "saved_model.pb").write_bytes(b"\xff not a protobuf")
    cases = (tmp_path, "damaged"), (tmp_path / "none", "No such file")
    for folder, says in cases:
        results = verify(folder)
        assert results[0].name == "graph_is_readable"
        assert not any(result.passed for result in results)
        assert says in results[0].detail
