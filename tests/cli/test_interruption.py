"""Training that is interrupted or killed, and goes on."""

import json
import pathlib
import signal
import time

import numpy as np
import pytest

from keras_transformer.training.run import Run
from tests.cli.conftest import TRAIN_OPTIONS, call, files_of_at_most, start
from tests.toy_models import assert_same_weights

EPOCHS = 2


@pytest.fixture(scope="module")
def whole(data, corpus):
    """The same training, never stopped."""
    out = corpus / "whole"
    words = ["--data", data, "--out", out, f"--epochs={EPOCHS}"]
    call("train", *words, *TRAIN_OPTIONS)
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


def assert_same_end(*runs):
    """Of trainings of which one was stopped."""
    np.testing.assert_allclose(*map(losses, runs), atol=1e-4)
    models = [Run.load(folder).load_model("last") for folder in runs]
    assert_same_weights(models, 1e-4)


@pytest.mark.parametrize(
    "how",
    [
        signal.SIGINT,
        pytest.param(signal.SIGTERM, marks=pytest.mark.slow),
    ],
)
def test_a_stopped_run_goes_on_to_the_same_end(how, data, whole, tmp_path):
    out = tmp_path / "run"
    command = ["train", "--data", data, "--out", out, f"--epochs={EPOCHS}"]
    process = start(*command, *TRAIN_OPTIONS)
    wait_until((out / "checkpoint.npz").exists, process)
    assert unused_libraries(process.pid) == set()
    process.send_signal(how)
    _, err = process.communicate()
    assert process.returncode == 2
    last = err.splitlines()[-1]
    assert last.startswith("keras-transformer: error: interrupted")
    assert "--resume" in last
    assert "Traceback" not in err
    if (out / "history.jsonl").exists():
        assert len(losses(out)) < EPOCHS
    call(*command, *TRAIN_OPTIONS, "--resume")
    assert_same_end(out, whole)
    assert [p for p in out.rglob("*") if ".tmp" in p.name] == []


@pytest.mark.medium
@pytest.mark.parametrize("every", [2, 500], ids=["checkpoint", "weights"])
def test_a_disk_that_is_full_leaves_what_training_goes_on_from(
    every, data, whole, refuses, tmp_path
):
    out = tmp_path / "run"
    options = ["train", "--data", data, "--out", out, *TRAIN_OPTIONS]
    options.append(f"--set=training.checkpoint_every={every}")
    call(*options, "--epochs=1")
    options += [f"--epochs={EPOCHS}", "--resume"]
    kept = (out / "checkpoint.npz").read_bytes()
    with files_of_at_most(len(kept) - 1):
        says = [out, "the disk is full", "goes on with", "--resume"]
        refuses(*options, says=says)
    assert (out / "checkpoint.npz").read_bytes() == kept
    call(*options)
    assert_same_end(out, whole)
