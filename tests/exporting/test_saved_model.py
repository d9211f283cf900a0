import dataclasses
import json
import os
import resource
import types

import pytest
import tensorflow as tf

from keras_transformer.config import DecodingConfig
from keras_transformer.contract import layout
from keras_transformer.errors import InputError
from keras_transformer.exporting.verification.checks import CheckResult
from keras_transformer.exporting.writer import saved_model
from keras_transformer.exporting.writer.saved_model import export_run
from keras_transformer.system.files import read_json
from keras_transformer.training.run import Run
from tests.exporting import small_export


def _description(report):
    return read_json(report.path / layout.DESCRIPTION)


def _no_space(*arguments):
    message = "/x/variables; No space left on device"
    raise tf.errors.ResourceExhaustedError(None, None, message)


def _interrupted(*arguments):
    raise KeyboardInterrupt


def _refused(folder):
    return (
        CheckResult("operations_are_allowed", True, "90 operations"),
        CheckResult("equals_live_model", False, "text 3 differs"),
        CheckResult("warmup_replays", False, "the same"),
    )


def test_export_has_the_servers_layout(report):
    assert report.path.name == str(report.version) == "1"
    variables = f"{layout.VARIABLES}.index"
    for name in (layout.SAVED_MODEL, variables, layout.WARMUP):
        assert (report.path / name).is_file()
    assert os.listdir(report.path.parent) == ["1"]
    assert json.loads(json.dumps(report.to_dict()))["version"] == 1


def test_export_describes_itself(report, run):
    description = _description(report)
    tokenizer = run.target_tokenizer
    assert description["created"].endswith("+00:00")
    assert description["tokenizers"]["target"] == {
        "kind": "character",
        "vocabulary_size": tokenizer.vocabulary_size,
        "fingerprint": tokenizer.fingerprint(),
    }
    assert description["weights"]["name"] == "best"
    assert description["weights"]["epoch"] == 1
    assert description["signatures"]["serving_default"]["beam_size"] == 4
    assert description["versions"]["tensorflow"] == tf.__version__
    expected = {
        "format": "keras_transformer.saved_model",
        "languages": {"source": "en", "target": "zh"},
        "data": run.manifest["data"],
        "scores": {"best": {"dev_loss": 4.0}},
        "config": run.config.to_dict(),
        "variables": report.variables,
    }
    assert description.items() >= expected.items()
    # No folder of the machine.
    text = f"{description}{read_json(report.path / layout.REFERENCE)}"
    assert str(run.folder) not in text
    assert str(report.path) not in text


@pytest.mark.slow
def test_export_of_a_mixed_precision_run(run, tmp_path, monkeypatch):
    monkeypatch.setattr(saved_model, "check_in_fresh_process", lambda path: ())
    training = dataclasses.replace(
        run.config.training, precision="mixed_bfloat16"
    )
    config = dataclasses.replace(run.config, training=training)
    tokenizers = run.source_tokenizer, run.target_tokenizer
    mixed = Run(run.folder, config, run.manifest, tokenizers)
    (tmp_path / "007").mkdir()
    lines = []
    report = export_run(
        mixed,
        tmp_path,
        decoding=DecodingConfig(beam_size=2),
        progress=lines.append,
    )
    assert report.path == tmp_path / "8"
    assert len(lines) == 3
    description = _description(report)
    assert description["signatures"]["serving_default"]["beam_size"] == 2
    assert description["config"]["decoding"]["beam_size"] == 2
    assert description["config"]["training"]["precision"] == "float32"
    graph = (report.path / layout.SAVED_MODEL).read_bytes()
    assert b"bfloat16" not in graph


@pytest.mark.slow
def test_export_in_bfloat16(run, report, tmp_path):
    decoding = dataclasses.replace(run.config.decoding, precision="bfloat16")
    half = export_run(run, tmp_path, decoding=decoding, warmup_texts=["A b."])
    assert _description(half)["precision"] == "bfloat16"
    assert half.variables == report.variables
    assert half.checks
    assert all(check.passed for check in half.checks)


@pytest.fixture
def traced(monkeypatch):
    """Another export is written, as if it were the model's."""
    traced = types.SimpleNamespace(
        save=small_export.save,
        reference=small_export.reference,
        variable_count=1,
    )
    monkeypatch.setattr(saved_model, "TracedSignatures", lambda *_: traced)


@pytest.mark.parametrize(
    ("step", "failure", "error", "message"),
    [
        ("check_in_fresh_process", _refused, InputError, "equals_live_model"),
        ("check_in_fresh_process", _interrupted, KeyboardInterrupt, None),
        ("write_warmup", _no_space, InputError, "disk is full"),
    ],
    ids=["check", "Ctrl-C", "disk full in TensorFlow"],
)
def test_failed_export_leaves_nothing(
    run, tmp_path, monkeypatch, traced, step, failure, error, message
):
    monkeypatch.setattr(saved_model, step, failure)
    with pytest.raises(error, match=message) as caught:
        export_run(run, tmp_path / "models" / "tiny")
    assert "\n" not in str(caught.value)
    assert os.listdir(tmp_path) == []


def test_file_that_cannot_grow_leaves_nothing(run, tmp_path, traced):
    (tmp_path / "1").mkdir()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, limits[1]))
    try:
        with pytest.raises(InputError, match="the disk is full"):
            export_run(run, tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert os.listdir(tmp_path) == ["1"]


def test_warmup_texts_that_are_none_are_refused(run, tmp_path):
    for texts, says in (
        (["", " "], "aren't blank. Received: 0"),
        ("one two", "warmup_texts"),
    ):
        with pytest.raises(InputError, match=says):
            export_run(run, tmp_path, warmup_texts=texts)
    assert os.listdir(tmp_path) == []
