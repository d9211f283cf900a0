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
    "words",
    [
        ["train", "--data=x", "--out=y", "--config", ""],
        ["train", "--data=x", "--out=y", "--preset="],
        ["translate", "--saved-model", "", "text"],
        ["translate", "--server", "", "text"],
        ["translate", "--run=x", "--input", ""],
        ["score", "--saved-model", "", "--input=x"],
        ["evaluate", "--ctranslate2", "", "--input=x"],
        ["plot", "masks", "--text", ""],
    ],
)
def test_an_option_without_a_text(words, capsys):
    """As a shell makes of a variable that isn't set."""
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert stop.value.code == 2
    assert "takes a text that isn't empty" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["drain", "receive", "load"])
@pytest.mark.parametrize("value", ["inf", "nan", "1e300"])
def test_seconds_that_no_clock_waits_for(option, value, capsys):
    with pytest.raises(SystemExit):
        main(["serve", "models", f"--{option}-seconds={value}"])
    assert "takes a finite number of seconds" in capsys.readouterr().err


def test_more_bytes_than_grpc_counts(tmp_path, refuses):
    words = ["serve", tmp_path, "--engine=embedded"]
    says = ["max_request_bytes must be", "at most 2147483647"]
    refuses(*words, "--max-request-bytes=3000000000", says=says)


@pytest.mark.parametrize("timeout", ["inf", "nan", "0"])
def test_a_timeout_that_never_ends(timeout, refuses):
    words = ["translate", "--server", "http://127.0.0.1:1", "text"]
    says = ["timeout must be greater than 0 and finite"]
    refuses(*words, f"--timeout={timeout}", says=says)


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ("--model=\udcff", "a name that isn't UTF-8"),
        ("--version=99999999999999999999", "a version takes 0 to 2^63 - 1"),
    ],
)
def test_names_that_no_server_has(option, says, refuses):
    words = ["translate", "--server", "grpc://127.0.0.1:1", option, "text"]
    refuses(*words, says=[says])


def test_a_backend_that_train_has_not(tmp_path, refuses, monkeypatch):
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    words = ["train", "--data", tmp_path, "--out", tmp_path / "run"]
    refuses(*words, says=["KERAS_BACKEND takes tensorflow or jax", "torch"])
