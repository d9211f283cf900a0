"""Two trainings of one run, and parts of two runs in one folder."""

import json
import os
import shutil

import pytest

from keras_transformer.cli.train import TrainingProgress
from keras_transformer.training.run import Run
from tests.cli.conftest import TRAIN_OPTIONS, call
from tests.system.test_locks import holding

FILES = ("checkpoint.npz", "history.jsonl", "weights/best.weights.h5")


def test_a_run_is_trained_by_one_process_until_it_dies(
    data, refuses, tmp_path, monkeypatch
):
    out = tmp_path / "run"
    command = ["train", "--data", data, "--out", out]
    resume = [*command, "--resume", "--epochs=3"]
    training = []

    def stop(*_):
        """Notes which process has the lock where training begins."""
        training.append(json.loads((out / "lock").read_text())["process"])
        raise KeyboardInterrupt

    monkeypatch.setattr(TrainingProgress, "start", stop)
    call(*command, *TRAIN_OPTIONS, status=2)
    assert training == [os.getpid()]
    config = (out / "config.yaml").read_bytes()
    with holding(out / "lock") as process:
        refuses(
            *resume,
            says=[out, f"process {process.pid} on", "since", "--resume when"],
        )
        assert (out / "config.yaml").read_bytes() == config
        assert process.poll() is None
    assert (out / "lock").exists()
    call(*resume, status=2)
    assert training == 2 * [os.getpid()]


@pytest.mark.usefixtures("untrained")
def test_an_id_tells_runs_apart_that_are_the_same_in_all_else(data, tmp_path):
    ids = set()
    for name in ("one", "other"):
        words = ["--data", data, "--out", tmp_path / name]
        call("train", *words, *TRAIN_OPTIONS)
        ids.add(Run.load(tmp_path / name).id)
    assert len(ids) == 2


@pytest.mark.medium
@pytest.mark.parametrize("name", FILES)
def test_another_runs_file_is_refused(
    data, corpus, run, other_run, refuses, tmp_path, name
):
    mixed = shutil.copytree(run, tmp_path / "run")
    shutil.copy(other_run / name, mixed / name)
    says = [mixed / name, "of another run", "run id"]
    if name.startswith("weights"):
        notes = "weights/best.json"
        shutil.copy(other_run / notes, mixed / notes)
        command = ["evaluate", "--run", mixed, "--input", corpus / "dev.tsv"]
        last = refuses(*command, says=says)
    else:
        command = ["train", "--data", data, "--out", mixed, "--resume"]
        last = refuses(*command, "--epochs=2", says=says)
    assert len(last) < 300 + len(str(mixed))


@pytest.mark.usefixtures("untrained")
def test_a_resume_says_what_it_takes(data, run, succeed, tmp_path):
    copy = shutil.copytree(run, tmp_path / "run")
    command = ["train", "--data", data, "--out", copy, "--resume"]
    options = ["--epochs=2", "--set=training.precision=auto"]
    said = succeed(*command, *options).err
    assert "--resume: training.epochs 2 is taken (it was 1)" in said
    assert "--resume: training.precision stays float32, not taken" in said
    # Of a file, too.
    file, text = tmp_path / "more.yaml", (copy / "config.yaml").read_text()
    file.write_text(text)
    assert "is taken" not in succeed(*command, "--config", file).err
    file.write_text(text.replace("\n  epochs: 1\n", "\n  epochs: 7\n"))
    said = succeed(*command, "--config", file).err
    assert "training.epochs 7 is taken (it was 1)" in said
    # It is written when training begins, and none did.
    assert Run.load(copy).config.training.epochs == 1
