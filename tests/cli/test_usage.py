"""How people type commands: words without options, names, one sentence."""

import pytest
import yaml

import keras_transformer as kt
from keras_transformer.cli import serve
from keras_transformer.cli.main import build_parser, main
from keras_transformer.serving.server import engines


def test_the_configuration_is_printed_and_taken(tmp_path, capsys):
    command = ["train", "--preset", "base", "--epochs=3", "--print-config"]
    assert main(command) == 0
    printed = capsys.readouterr().out
    config = yaml.safe_load(printed)
    assert list(config) == ["model", "training", "decoding"]
    expected = kt.preset("base").updated({"training": {"epochs": 3}}).to_dict()
    assert config == {name: expected[name] for name in config}
    (tmp_path / "config.yaml").write_text(printed)
    options = ["--config", str(tmp_path / "config.yaml"), "--print-config"]
    assert main(["train", *options]) == 0
    assert capsys.readouterr().out == printed


def test_sentences_on_the_command_line_are_translated(random_run, capsys):
    texts = ["aaa bbb", "ccc"]
    assert main(["translate", "--run", str(random_run), *texts]) == 0
    expected = kt.load(random_run).translate(texts)
    assert capsys.readouterr().out.splitlines() == expected


@pytest.mark.parametrize("option", ["--input=x", "--shards=2"])
def test_sentences_are_in_place_of_a_file(random_run, option, capsys):
    assert main(["translate", "--run", str(random_run), "aaa", option]) == 2
    assert "TEXT" in capsys.readouterr().err


def test_a_folder_is_served(tmp_path, capsys):
    arguments = build_parser().parse_args(["serve", str(tmp_path)])
    serve._check(arguments)
    flags = engines.server_flags(arguments)
    assert flags["model_base_path"] == str(tmp_path)
    assert flags["model_name"] == tmp_path.name
    both = ["serve", str(tmp_path), "--model_base_path", str(tmp_path)]
    assert main(both) == 2
    assert "serve takes either" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ("--dev=200", "or a file; for 200 pairs of a million, 0.0002"),
        ("--dev=0", "above 0 and below 1, or a file"),
        ("--source-language=English", "language tag; English is en."),
        ("--target-language=german", "german is de"),
        ("--target-language=klingon", "such as en, zh or pt-BR"),
        ("--preset=smal", "did you mean 'small'?"),
    ],
)
def test_what_was_meant_is_told(option, says, tmp_path, capsys):
    text = tmp_path / "train.tsv"
    text.write_text("a\tb\n")
    options = ["--train", str(text), "--out", str(tmp_path / "out")]
    assert main(["prepare", *options, option]) == 2
    assert says in capsys.readouterr().err
