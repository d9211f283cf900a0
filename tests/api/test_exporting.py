"""`export`; what it writes, tests/exporting tests."""

import pathlib

import pytest

import keras_transformer as kt
from keras_transformer.errors import InputError


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
