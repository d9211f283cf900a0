"""The commands and the code of the guide to other programs, on a small run."""

import shlex

import numpy as np
import pytest

from keras_transformer.cli.main import main
from tests.cli.conftest import ROOT
from tests.docs.pages import examples, fences, run
from tests.toy_models import VOCABULARY_SIZE, small_transformer
from tests.toy_runs import write_run

GUIDE = ROOT / "docs/en/guides/other-programs.md"
RUNTIMES = ("onnx", "tf2onnx", "onnxruntime", "ai_edge_litert")
# B sentences, S source and T target positions.
SHAPES = ((1, 3, 1), (2, 5, 4), (3, 17, 9), (1, 60, 60))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """What the guide starts from, and what its commands have made of it."""
    monkeypatch.chdir(tmp_path)
    write_run(tmp_path / "runs/en-zh", "pre")
    commands = [one.text for one in fences(GUIDE) if one.language == "sh"]
    assert commands
    for command in commands:
        assert main(shlex.split(command)[1:]) == 0
    return tmp_path


def test_keras_does_what_the_guide_shows(folder):
    assert run(GUIDE, folder) == 2


def require(*packages):
    for package in packages:
        pytest.importorskip(package, reason=f"needs {package}, see the guide")


# They warn of what they call in TensorFlow and NumPy.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.slow
def test_other_runtimes_do_what_the_guide_shows(folder):
    require(*RUNTIMES)
    assert run(GUIDE, folder, slow=True) == len(examples(GUIDE))


def by_onnx(model, path):
    require("onnx", "tf2onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    model.export(path / "model.onnx", format="onnx", verbose=False)
    session = onnxruntime.InferenceSession(path / "model.onnx")
    return lambda inputs: session.run(None, inputs)[0]


def by_litert(model, path):
    litert = pytest.importorskip("ai_edge_litert.interpreter")
    model.export(path / "model.tflite", format="litert", verbose=False)
    interpreter = litert.Interpreter(str(path / "model.tflite"))
    predict = interpreter.get_signature_runner()
    return lambda inputs: predict(**inputs)["output_0"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.slow
@pytest.mark.parametrize("variant", ["pre", "as Marian's", "as OpenNMT's"])
@pytest.mark.parametrize("runtime", [by_onnx, by_litert])
def test_other_runtimes_give_the_logits(runtime, variant, tmp_path):
    model, random = small_transformer(variant), np.random.default_rng(1)
    batches = []
    for count, *lengths in SHAPES:
        source, target = (
            random.integers(4, VOCABULARY_SIZE, (count, n), "int32")
            for n in lengths
        )
        source[:, 0] = target[:, 0] = 2
        source[:, -1] = 3
        # Rows that end before the longest one.
        source[1:, lengths[0] // 2 :] = target[1:, lengths[1] // 2 + 1 :] = 0
        batches.append({"source_ids": source, "target_ids": target})
    expected = [model(batch).numpy() for batch in batches]
    predict = runtime(model, tmp_path)
    for batch, logits in zip(batches, expected, strict=True):
        np.testing.assert_allclose(
            predict(batch), logits, rtol=0, atol=1e-5 * np.abs(logits).max()
        )
