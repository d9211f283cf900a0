"""Two trainings of one run, and parts of two runs in one folder."""

import json
import shutil
import signal

import pytest

from keras_transformer.cli.main import main
from keras_transformer.training.run import Run
from tests.cli.conftest import TRAIN_OPTIONS, start
from tests.cli.test_interruption import wait_until

FILES = ("checkpoint.npz", "history.jsonl", "weights/best.weights.h5")


def trained(data, out, *options):
    command = ["train", "--data", str(data), "--out", str(out)]
    return main([*command, *options])


def test_a_run_is_trained_by_one_process_until_it_dies(data, refuses, tmp_path):
    out = tmp_path / "run"
    command = ["train", "--data", str(data), "--out", str(out)]
    process = start(*command, "--epochs=2000", *TRAIN_OPTIONS)
    wait_until((out / "checkpoint.npz").exists, process)
    config = (out / "config.yaml").read_bytes()
    try:
        refuses(
            *(*command, "--resume", "--epochs=3"),
            says=[out, f"process {process.pid} on", "since", "--resume when"],
        )
        assert (out / "config.yaml").read_bytes() == config
        assert process.poll() is None
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    epochs = len(Run.load(out).history()) + 1
    assert main([*command, "--resume", f"--epochs={epochs}"]) == 0


@pytest.fixture(scope="module")
def other(data, tmp_path_factory):
    """A run that only its id tells from the toy run."""
    out = tmp_path_factory.mktemp("other") / "run"
    assert trained(data, out, "--epochs=1", *TRAIN_OPTIONS) == 0
    return out


@pytest.mark.parametrize("name", FILES)
def test_another_runs_file_is_refused(
    data, corpus, run, other, refuses, tmp_path, name
):
    mixed = shutil.copytree(run, tmp_path / "run")
    shutil.copy(other / name, mixed / name)
    says = [mixed / name, "of another run", "run id"]
    if name.startswith("weights"):
        notes = "weights/best.json"
        shutil.copy(other / notes, mixed / notes)
        command = ["evaluate", "--run", mixed, "--input", corpus / "dev.tsv"]
        last = refuses(*command, says=says)
    else:
        command = ["train", "--data", data, "--out", mixed, "--resume"]
        last = refuses(*command, "--epochs=2", says=says)
    assert len(last) < 300 + len(str(mixed))


def test_a_run_without_an_id_goes_on(data, run, tmp_path):
    """As one of an earlier version, which has none anywhere."""
    old = without_ids(shutil.copytree(run, tmp_path / "run"), data)
    assert trained(data, old, "--resume", "--epochs=2") == 0
    loaded = Run.load(old)
    assert loaded.id is None
    assert [line["epoch"] for line in loaded.history()] == [1, 2]
    loaded.load_model("best")


def without_ids(folder, data):
    """A run's folder as earlier versions wrote it, but for its epochs."""
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    del manifest["id"]
    path.write_text(json.dumps(manifest))
    for name in ("checkpoint.npz", "history.jsonl"):
        (folder / name).unlink()
    shutil.rmtree(folder / "weights")
    (folder / "weights").mkdir()
    assert trained(data, folder, "--resume", "--epochs=1") == 0
    return folder


def test_weights_without_notes_are_checked_by_what_is_in_them(
    corpus, run, refuses, tmp_path
):
    copy = shutil.copytree(run, tmp_path / "run")
    path = copy / "weights" / "best.weights.h5"
    (copy / "weights" / "best.json").unlink()
    Run.load(copy).load_model("best")
    content = bytearray(path.read_bytes())
    kernel = content.rindex(
        Run.load(run).load_model().get_weights()[0].tobytes()
    )
    content[kernel] ^= 1
    path.write_bytes(content)
    command = ["evaluate", "--run", copy, "--input", corpus / "dev.tsv"]
    refuses(*command, says=[path, "damaged weights (SHA-256 of its tensors"])


def test_a_resume_says_what_it_takes(data, run, capsys, tmp_path):
    copy = shutil.copytree(run, tmp_path / "run")
    options = ["--resume", "--epochs=2", "--precision=auto"]
    assert trained(data, copy, *options) == 0
    said = capsys.readouterr().err
    assert "--resume: training.epochs 2 is taken (it was 1)" in said
    assert "--resume: training.precision stays float32, not taken" in said
