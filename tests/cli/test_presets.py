"""Presets on the command line."""

import json

import pytest
import yaml

from keras_transformer.cli.main import main

SMALLER = [
    "--set=model.num_encoder_layers=1",
    "--set=model.num_decoder_layers=1",
    "--set=model.max_length=128",
    "--epochs=2",
]


@pytest.mark.medium
def test_tiny_prepares_one_vocabulary_and_trains(corpus, tmp_path, capsys):
    data, run = str(tmp_path / "data"), str(tmp_path / "run")
    options = ["--train", str(corpus / "train.tsv"), "--preset", "tiny"]
    options += ["--source-language=de", "--target-language=en"]
    options += ["--dev", str(corpus / "dev.tsv")]
    assert main(["prepare", *options, "--out", data]) == 0
    manifest = json.loads((tmp_path / "data" / "manifest.json").read_text())
    assert manifest["config"]["shared_vocabulary"]
    sizes = manifest["report"]["vocabulary_sizes"]
    assert sizes["source"] == sizes["target"] > 4
    capsys.readouterr()
    command = ["train", "--data", data, "--preset", "tiny", "--out", run]
    assert main([*command, *SMALLER]) == 0
    assert "cross-entropy" in capsys.readouterr().out
    config = yaml.safe_load((tmp_path / "run" / "config.yaml").read_text())
    assert config["decoding"]["beam_size"] == 5
    assert config["model"]["d_ff"] == 256
    assert (tmp_path / "run" / "weights" / "average.weights.h5").is_file()
    evaluate = ["evaluate", "--run", run, "--weights=average", "--json"]
    assert main([*evaluate, "--input", str(corpus / "dev.tsv")]) == 0
    assert json.loads(capsys.readouterr().out)["sentences"] == 20


def test_tiny_needs_data_with_one_vocabulary(refuses, tmp_path):
    path = tmp_path / "few.tsv"
    path.write_text("one two\tuno dos\n")
    data = tmp_path / "data"
    # As many tokens on both sides, but others.
    options = ["--train", str(path), "--out", str(data)]
    options += ["--source-language=en", "--target-language=es"]
    options += ["--source-tokenizer=word", "--target-tokenizer=word"]
    assert main(["prepare", *options]) == 0
    command = ["train", "--data", data, "--out", tmp_path / "run"]
    refuses(
        *command,
        "--preset=tiny",
        says=["data.shared_vocabulary", "6 source and 6 target tokens"],
    )
