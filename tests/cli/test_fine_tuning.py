"""Another corpus with existing tokenizers, and training from a run."""

import json
import shutil

import pytest
import yaml

from tests.cli.conftest import call


@pytest.fixture(scope="module")
def news(run, corpus):
    """Another corpus with the run's tokenizers."""
    path = corpus / "news.tsv"
    path.write_text("five four\tfour five\nten one two\ttwo one ten\n" * 20)
    out = corpus / "news"
    keep = "--set=data.remove_duplicates=false"
    call("prepare", "--train", path, "--out", out, "--tokenizers", run, keep)
    return out


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def test_tokenizers_settings_are_before_a_presets(data, corpus, tmp_path):
    words = ["--train", corpus / "train.tsv", "--out", tmp_path / "again"]
    call("prepare", *words, "--preset=tatoeba", "--tokenizers", data)


@pytest.mark.usefixtures("untrained")
def test_training_goes_on_from_a_run(run, news, refuses, tmp_path):
    out = tmp_path / "run"
    command = ["train", "--data", news, "--out", out]
    command += ["--set=training.threads=1"]
    # The model's section is the run's; its options aren't given.
    warmup = "--set=training.warmup_steps=5"
    call(*command, "--from", run, "--epochs=1", warmup)
    ours, theirs = (
        yaml.safe_load((folder / "config.yaml").read_text())
        for folder in (out, run)
    )
    assert ours["model"] == theirs["model"]
    assert ours["training"]["warmup_steps"] == 5
    assert read(out / "manifest.json")["initial"]["run"] == str(run)
    # It may have moved, or its path be written in another way.
    moved = shutil.copytree(run, tmp_path / "moved")
    resume = [*command, "--epochs=2", "--resume"]
    call(*resume, "--from", moved, warmup)
    # Or be gone.
    manifest = read(out / "manifest.json")
    gone = str(tmp_path / "gone")
    manifest["initial"]["run"] = gone
    (out / "manifest.json").write_text(json.dumps(manifest))
    call(*resume, "--from", gone)
    says = [f"was started from {gone}", str(out)]
    refuses(*command, "--resume", "--from", out, says=says)


@pytest.mark.usefixtures("untrained")
def test_other_numbers_of_layers_are_told(run, news, tmp_path, succeed):
    depths = yaml.safe_load((run / "config.yaml").read_text())["model"]
    encoder = depths["num_encoder_layers"]
    decoder = depths["num_decoder_layers"]
    words = ["--data", news, "--out", tmp_path / "run", "--from", run]
    deeper = f"--set=model.num_encoder_layers={encoder + 1}"
    said = succeed("train", *words, "--set=training.threads=1", deeper).err
    assert (
        f"{run} has {encoder} encoder and {decoder} decoder layers, this run "
        f"{encoder + 1} encoder and {decoder} decoder layers"
    ) in said
