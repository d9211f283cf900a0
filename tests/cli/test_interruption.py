"""Training that is interrupted or killed, and goes on."""

import json
import signal
import time

import numpy as np
import pytest

from keras_transformer.cli.main import main
from tests.cli.conftest import TRAIN_OPTIONS, start

EPOCHS = "--epochs=6"


@pytest.fixture(scope="module")
def whole(data, corpus):
    """The same training, never stopped."""
    out = corpus / "whole"
    options = ["--data", str(data), "--out", str(out), EPOCHS]
    assert main(["train", *options, *TRAIN_OPTIONS]) == 0
    return out


def wait_for(path, process):
    """Waits until training has written the file."""
    deadline = time.monotonic() + 120
    while not path.exists():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.02)


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
    options = ["--data", str(data), "--out", str(out), EPOCHS]
    process = start("train", *options, *TRAIN_OPTIONS)
    wait_for(out / "checkpoint.npz", process)
    process.send_signal(how)
    _, err = process.communicate()
    if how == signal.SIGKILL:
        assert process.returncode == -how
    else:
        assert process.returncode == 2
        last = err.splitlines()[-1]
        assert last.startswith("keras-transformer: error: interrupted")
        assert "--resume" in last and "Traceback" not in err
    assert len(losses(out)) < 6 if (out / "history.jsonl").exists() else True
    assert main(["train", *options, *TRAIN_OPTIONS, "--resume"]) == 0
    np.testing.assert_allclose(losses(out), losses(whole), atol=1e-3)
    assert [p for p in out.rglob("*") if ".tmp" in p.name] == []
