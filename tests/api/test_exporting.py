"""`export`, a package and a function; what it writes, tests/export tests."""

import inspect
import pathlib
import subprocess
import sys

import pytest

import keras_transformer as kt
from keras_transformer.api import exporting
from keras_transformer.errors import InputError
from keras_transformer.exporting.writer import saved_model

FRESH = """
import keras_transformer as kt
assert callable(kt.export), kt.export
from keras_transformer.exporting.registry import version_folders
import keras_transformer.exporting.ctranslate2_folder as module
assert callable(kt.export)
assert kt.export.ctranslate2_folder is module
"""


def test_the_package_is_the_function():
    assert kt.export is sys.modules["keras_transformer.exporting"]
    signature = inspect.signature(kt.export)
    assert signature == inspect.signature(exporting.export)
    subprocess.run([sys.executable, "-c", FRESH], check=True, timeout=120)


@pytest.mark.medium
def test_an_export_translates_as_its_run(folder, tmp_path, monkeypatch):
    # The checks take long; those of tests/export run them.
    monkeypatch.setattr(saved_model, "check_in_fresh_process", lambda _: ())
    lines = []
    report = kt.export(
        folder,
        tmp_path / "models",
        precision="float32",
        warmup_texts=["aaa"],
        progress=lines.append,
    )
    assert report.path == tmp_path / "models" / "1"
    # A notebook prints it where it is the last of a cell.
    assert len(repr(report).replace(str(tmp_path), "")) < 150
    assert "tracing the graph" in lines
    texts = ["aaa bbb", "", "ccc"]
    expected = kt.load(folder).translate(texts)
    assert kt.load(tmp_path / "models").translate(texts) == expected


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (
            {"format": "onnx"},
            "unknown format 'onnx'. Accepted: None, tfserving",
        ),
        ({"format": "keras", "dev": "x"}, "dev doesn't go with format='keras'"),
        ({"quantization": "int8"}, "quantization doesn't go with format=None"),
        ({"format": "ctranslate2", "version": 2}, "version doesn't go"),
        ({"precision": "int4"}, "unknown precision 'int4'. Accepted: float32"),
        ({"precision": "auto"}, "precision auto needs a dev set"),
        ({"weights": "last"}, "no such weights"),
    ],
)
def test_arguments_that_do_not_go_together_are_told(
    options, says, folder, tmp_path
):
    out = pathlib.Path(tmp_path / "out")
    with pytest.raises(InputError, match=says):
        kt.export(folder, out, **options)
    assert not out.exists()
