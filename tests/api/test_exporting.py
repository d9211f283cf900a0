"""`export`; what it writes, tests/exporting tests."""

import pathlib

import pytest

import keras_transformer as kt
from keras_transformer.errors import InputError
from keras_transformer.exporting.writer import saved_model


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
        ({"format": "keras", "dev": "x"}, "dev goes with format"),
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
