"""Presets on the command line."""

import json

import pytest
import yaml

from tests.cli.conftest import call

SMALLER = [
    "--set=model.num_encoder_layers=1",
    "--set=model.num_decoder_layers=1",
    "--set=model.max_length=128",
    "--epochs=2",
]


@pytest.mark.medium
def test_tiny_prepares_one_vocabulary_and_trains(corpus, tmp_path, succeed):
    data, run = tmp_path / "data", tmp_path / "run"
    files = ["--train", corpus / "train.tsv", "--dev", corpus / "dev.tsv"]
    languages = ["--source-language=de", "--target-language=en"]
    call("prepare", *files, *languages, "--preset=tiny", "--out", data)
    manifest = json.loads((data / "manifest.json").read_text())
    assert manifest["config"]["shared_vocabulary"]
    sizes = manifest["report"]["vocabulary_sizes"]
    assert sizes["source"] == sizes["target"] > 4
    words = ["--data", data, "--out", run, "--preset=tiny", *SMALLER]
    assert "cross-entropy" in succeed("train", *words).out
    config = yaml.safe_load((run / "config.yaml").read_text())
    assert config["decoding"]["beam_size"] == 5
    assert config["model"]["d_ff"] == 256
    words = ["--run", run, "--weights=average", "--json"]
    said = succeed("evaluate", *words, "--input", corpus / "dev.tsv").out
    assert json.loads(said)["sentences"] == 20


def test_tiny_needs_data_with_one_vocabulary(refuses, tmp_path):
    path = tmp_path / "few.tsv"
    path.write_text("one two\tuno dos\n")
    data = tmp_path / "data"
    # As many tokens on both sides, but others.
    options = ["--source-language=en", "--target-language=es"]
    options += ["--source-tokenizer=word", "--target-tokenizer=word"]
    call("prepare", "--train", path, "--out", data, *options)
    words = ["--data", data, "--out", tmp_path / "run", "--preset=tiny"]
    says = ["data.shared_vocabulary", "6 source and 6 target tokens"]
    refuses("train", *words, says=says)
