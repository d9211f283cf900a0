import json
import os
import shutil
import subprocess
import sys

import pytest
import tensorflow as tf

from keras_transformer.contract import layout
from keras_transformer.errors import InputError
from keras_transformer.export.verification import verify as verification
from keras_transformer.export.verification.proof import (
    check_in_fresh_process,
    require_passed,
)
from keras_transformer.export.verification.report import (
    CheckFailed,
    CheckResult,
)
from keras_transformer.export.verification.static_checks import (
    graph_is_readable,
    nothing_must_be_compiled,
    operations_are_allowed,
    signatures_are_batches,
    variables_are_stored_once,
)
from keras_transformer.export.verification.verify import main, verify
from tests.export import broken
from tests.export.broken import all_changed

# What `python -m` runs, and then the modules that were loaded.
_VERIFY = """
import sys
import keras_transformer.export.loaded
from keras_transformer.export.verification.verify import main
status = main(sys.argv[1:])
print(*sys.modules)
sys.exit(status)
"""


@pytest.fixture
def save(served, report, tmp_path):
    """Saves what is broken in one way beside the whole export's extras."""

    def save(name, functions, **attributes):
        return broken.save(
            served, report, tmp_path / name, functions, **attributes
        )

    return save


def _python(outputs):
    score = tf.numpy_function(lambda x: x, [outputs["score"]], tf.float32)
    return {**outputs, "score": tf.ensure_shape(score, [None])}


def _reference(report):
    return json.loads((report.path / layout.REFERENCE).read_text("utf-8"))


def test_fresh_process_catches_what_the_server_refuses(
    keras_export, compiled_export, tmp_path
):
    # Both load and run in Python.
    report = tmp_path / "report.json"
    process = subprocess.run(
        [sys.executable, "-c", _VERIFY, keras_export, compiled_export]
        + ["--report", report],
        env={**os.environ, "PYTHONPATH": os.getcwd()},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 1, process.stderr
    for room in ("layers", "models", "decoding", "training", "text", "config"):
        assert f"keras_transformer.{room}" not in process.stdout
    results = json.loads(report.read_text("utf-8"))
    failures = {
        (folder.rsplit("/", 1)[-1], check["name"]): check["detail"]
        for folder, checks in results.items()
        for check in checks
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


def test_weights_stored_twice_are_refused(served, save, report):
    folder = save(
        "twice",
        served.functions,
        weights=served.module.weights,
        copies=[tf.Variable(value) for value in served.module.weights],
    )
    count = served.variable_count
    with pytest.raises(CheckFailed, match=f"{2 * count} in the checkpoint"):
        variables_are_stored_once(
            folder, graph_is_readable(folder), _reference(report)
        )


def test_python_in_the_graph_is_refused(served, save):
    folder = save(
        "python",
        all_changed(served, _python),
        weights=served.module.weights,
    )
    with pytest.raises(CheckFailed, match=r"PyFunc \(calls Python\)"):
        operations_are_allowed(folder, graph_is_readable(folder), {})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda out: {"translation": out["translation"]}, "outputs are"),
        (lambda out: {**out, "score": out["score"][0]}, "has shape"),
        (
            lambda out: {**out, "score": tf.cast(out["score"], tf.float64)},
            "float64",
        ),
        (
            lambda out: {**out, "truncated": tf.fill([1, 1], False)},
            "'truncated' has shape",
        ),
    ],
    ids=["missing", "scalar", "type", "rank"],
)
def test_signature_that_cannot_be_batched_is_refused(
    served, save, change, message
):
    folder = save(
        "signature",
        all_changed(served, change),
        weights=served.module.weights,
    )
    with pytest.raises(CheckFailed, match=message):
        signatures_are_batches(folder, graph_is_readable(folder), {})


def test_missing_signature_is_refused(served, save):
    only = {"serving_default": served.functions["serving_default"]}
    folder = save("one", only, weights=served.module.weights)
    meta_graph = graph_is_readable(folder)
    assert nothing_must_be_compiled(folder, meta_graph, {})
    with pytest.raises(CheckFailed, match="no signature 'greedy'"):
        signatures_are_batches(folder, meta_graph, {})


def test_reference_without_a_signature_fails_its_check(report, tmp_path):
    folder = shutil.copytree(report.path, tmp_path / "1")
    reference = _reference(report)
    del reference["outputs"]["align"]
    (folder / layout.REFERENCE).write_text(json.dumps(reference))
    failed = [result for result in verify(folder) if not result.passed]
    assert [result.name for result in failed] == ["reference_is_readable"]
    assert "no signature 'align'" in failed[0].detail


def test_c_api_process_that_dies_is_a_failed_check(report, monkeypatch):
    def session_loads(folder):
        raise CheckFailed("no tables")

    def die(*arguments):
        raise CheckFailed("the process ended with -11: silent")

    # Not in this process, which other tests compile in.
    monkeypatch.setattr(verification, "disable_xla", lambda: False)
    monkeypatch.setattr(verification, "session_loads", session_loads)
    monkeypatch.setattr(verification, "run_checks", die)
    failed = [r for r in verify(report.path) if not r.passed]
    assert failed == [
        CheckResult("session_loads", False, "no tables"),
        CheckResult("c_api_loads", False, "the process ended with -11: silent"),
    ]


def test_unreadable_folders_fail_the_first_check(tmp_path, capsys):
    (tmp_path / "saved_model.pb").write_bytes(b"\xff not a protobuf")
    for folder in (tmp_path, tmp_path / "none"):
        results = verify(folder)
        assert results[0].name == "graph_is_readable"
        assert not any(result.passed for result in results)
    assert main([str(tmp_path)]) == 1
    assert "damaged" in capsys.readouterr().out


def test_first_failed_check_is_named():
    checks = (
        CheckResult("graph_is_readable", True, "done"),
        CheckResult("session_loads", False, "no tables"),
    )
    with pytest.raises(InputError, match="session_loads failed: no tables"):
        require_passed(checks)


def test_process_that_dies_is_reported(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(InputError, match="ended with 1: silent"):
        check_in_fresh_process(tmp_path)
