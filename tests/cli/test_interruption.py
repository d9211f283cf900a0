"""Training that is interrupted or killed, and goes on."""

import json
import pathlib
import signal
import time

import numpy as np
import pytest

from keras_transformer.cli.main import main
from keras_transformer.training.run import Run
from tests.cli.conftest import TRAIN_OPTIONS, files_of_at_most, start
from tests.toy_models import assert_same_weights

EPOCHS = 3


@pytest.fixture(scope="module")
def whole(data, corpus):
    """The same training, never stopped."""
    out = corpus / "whole"
    options = ["--data", str(data), "--out", str(out), f"--epochs={EPOCHS}"]
    assert main(["train", *options, *TRAIN_OPTIONS]) == 0
    return out


def wait_until(happened, process, seconds=120):
    """Waits for something that training does."""
    deadline = time.monotonic() + seconds
    while not happened():
        assert process.poll() is None, process.communicate()[1]
        if time.monotonic() > deadline:
            process.kill()
            pytest.fail(f"not in time: {process.communicate()[1]}")
        time.sleep(0.02)


def unused_libraries(process_id):
    """Packages that take memory and aren't needed to train on words."""
    maps = pathlib.Path(f"/proc/{process_id}/maps")
    libraries = maps.read_text() if maps.is_file() else ""
    unused = ("jaxlib", "matplotlib", "tensorflow_text")
    return {name for name in unused if f"/{name}/" in libraries}


def losses(run):
    lines = (run / "history.jsonl").read_text().splitlines()
    return [json.loads(line)["loss"] for line in lines]


@pytest.mark.parametrize(
    "how",
    [
        signal.SIGINT,
        pytest.param(signal.SIGTERM, marks=pytest.mark.slow),
        pytest.param(signal.SIGKILL, marks=pytest.mark.slow),
    ],
)
def test_a_stopped_run_goes_on_to_the_same_end(how, data, whole, tmp_path):
    out = tmp_path / "run"
    options = ["--data", str(data), "--out", str(out), f"--epochs={EPOCHS}"]
    process = start("train", *options, *TRAIN_OPTIONS)
    wait_until((out / "checkpoint.npz").exists, process)
    assert unused_libraries(process.pid) == set()
    process.send_signal(how)
    _, err = process.communicate()
    if how == signal.SIGKILL:
        assert process.returncode == -how
    else:
        assert process.returncode == 2
        last = err.splitlines()[-1]
        assert last.startswith("keras-transformer: error: interrupted")
        assert "--resume" in last
        assert "Traceback" not in err
    if (out / "history.jsonl").exists():
        assert len(losses(out)) < EPOCHS
    assert main(["train", *options, *TRAIN_OPTIONS, "--resume"]) == 0
    np.testing.assert_allclose(losses(out), losses(whole), atol=1e-4)
    models = [Run.load(folder).load_model("last") for folder in (out, whole)]
    assert_same_weights(models, 1e-4)
    assert [p for p in out.rglob("*") if ".tmp" in p.name] == []


@pytest.mark.parametrize("every", [2, 500], ids=["checkpoint", "weights"])
def test_a_disk_that_is_full_leaves_what_training_goes_on_from(
    every, data, whole, refuses, tmp_path
):
    out = tmp_path / "run"
    options = ["train", "--data", data, "--out", out, *TRAIN_OPTIONS]
    options.append(f"--set=training.checkpoint_every={every}")
    assert main([*map(str, options), "--epochs=1"]) == 0
    options += [f"--epochs={EPOCHS}", "--resume"]
    kept = (out / "checkpoint.npz").read_bytes()
    with files_of_at_most(len(kept) - 1):
        says = [out, "the disk is full", "goes on with", "--resume"]
        refuses(*options, says=says)
    assert (out / "checkpoint.npz").read_bytes() == kept
    assert main([*map(str, options)]) == 0
    np.testing.assert_allclose(losses(out), losses(whole), atol=1e-4)
    models = [Run.load(folder).load_model("last") for folder in (out, whole)]
    assert_same_weights(models, 1e-4)
