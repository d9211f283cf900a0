"""`train --backend jax`: what it tells, and what TensorFlow makes of a run."""

import json
import re
import shutil
import signal
import sys

import pytest

from keras_transformer.training import jax_runtime
from tests.cli.conftest import TRAIN_OPTIONS, call, start
from tests.cli.test_interruption import wait_until
from tests.on_jax import run_on_jax

# A cache of its own, so that everything is compiled here.
OPTIONS = [*TRAIN_OPTIONS, "--epochs=2", "--set=training.bleu_every=1"]


@pytest.fixture(scope="module")
def trained(data, tmp_path_factory):
    """A run of the toy corpus on JAX, and what training it said."""
    folder = tmp_path_factory.mktemp("jax")
    options = ["--data", data, "--out", folder / "run", *OPTIONS]
    command = ["-m", "keras_transformer", "train", "--backend", "jax"]
    cache = {"XDG_CACHE_HOME": str(folder / "cache"), "KERAS_BACKEND": ""}
    done = run_on_jax(*command, *options, **cache)
    assert done.returncode == 0, done.stderr
    return folder, done.stderr


@pytest.mark.slow
def test_padding_is_told_and_programs_are_kept(trained):
    folder, said = trained
    assert re.search(r"14 steps an epoch, \d+\.\d% padding", said)
    (cache,) = (folder / "cache" / "keras_transformer").iterdir()
    assert cache.name.startswith("jax-")
    assert list(cache.iterdir())
    assert cache.stat().st_mode & 0o777 == 0o700
    assert "Traceback" not in said
    assert "Warning" not in said


@pytest.mark.slow
def test_dev_bleu_is_that_of_the_weights(trained, data, corpus, succeed):
    folder, _ = trained
    lines = (folder / "run" / "history.jsonl").read_text().splitlines()
    last = json.loads(lines[-1])
    options = ["--run", folder / "run", "--weights=last", "--beam-size=1"]
    options += ["--json", "--input", corpus / "dev.tsv"]
    measured = json.loads(succeed("evaluate", *options).out)
    assert last["val_bleu"] == pytest.approx(measured["bleu"], abs=1e-6)
    expected = pytest.approx(measured["cross_entropy"], rel=1e-5)
    assert last["val_cross_entropy"] == expected
    assert not list(folder.rglob("dev.*"))


@pytest.mark.slow
def test_tensorflow_takes_it_over(trained, data, tmp_path, succeed):
    run = trained[0] / "run"
    call("translate", "--run", run, "one two")
    call("export", "--run", run, "--out", tmp_path / "export")
    words = ["--data", data, "--out", run, *OPTIONS, "--resume", "--epochs=3"]
    assert "epoch 3/3" in succeed("train", *words).err
    lines = (run / "history.jsonl").read_text().splitlines()
    assert len(lines) == 3


@pytest.mark.slow
def test_a_run_of_tensorflow_goes_on_and_is_resumed(data, run, tmp_path):
    if not jax_runtime.is_installed():
        pytest.skip("jax isn't installed: pip install '.[jax]'")
    out = shutil.copytree(run, tmp_path / "run")
    options = ["--data", data, "--out", out, "--epochs=3", "--backend", "jax"]
    checkpoint = out / "checkpoint.npz"
    before = checkpoint.stat().st_mtime_ns
    process = start("train", *options, "--resume")
    wait_until(lambda: checkpoint.stat().st_mtime_ns != before, process, 240)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 2
    assert "train ... --resume" in err.splitlines()[-1]
    command = ["-m", "keras_transformer", "train", *options, "--resume"]
    done = run_on_jax(*command)
    assert done.returncode == 0, done.stderr
    lines = (out / "history.jsonl").read_text().splitlines()
    losses = [json.loads(line)["cross_entropy"] for line in lines]
    assert len(losses) == 3
    assert losses == sorted(losses, reverse=True)


def test_a_missing_jax_is_told(data, tmp_path, refuses, monkeypatch):
    monkeypatch.setattr(jax_runtime, "is_installed", lambda: False)
    options = ["--data", data, "--out", tmp_path / "run", "--backend", "jax"]
    says = ["JAX isn't installed", ".[jax]", "jax[cuda12]"]
    refuses("train", *options, says=says)
    assert list(tmp_path.iterdir()) == []


def test_a_process_on_tensorflow_stays_there(
    data, tmp_path, refuses, monkeypatch
):
    assert "keras" in sys.modules
    monkeypatch.setattr(jax_runtime, "is_installed", lambda: True)
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    options = ["--data", data, "--out", tmp_path / "run"]
    says = ["Keras already runs on tensorflow"]
    refuses("train", *options, says=says)
