"""How people type commands: words without options, names, one sentence."""

import pytest
import yaml

import keras_transformer as kt
from keras_transformer.cli import serve
from keras_transformer.cli.main import build_parser, main


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
    options += ["--preset", "tatoeba"]  # of which the file leaves nothing
    assert main(["train", *options]) == 0
    assert capsys.readouterr().out == printed


def test_sentences_on_the_command_line_are_translated(toy, capsys):
    texts = ["aaa bbb", "ccc"]
    assert main(["translate", "--run", str(toy), *texts]) == 0
    expected = kt.load(toy).translate(texts)
    assert capsys.readouterr().out.splitlines() == expected


def test_a_folder_is_served(tmp_path, capsys):
    arguments = build_parser().parse_args(["serve", str(tmp_path)])
    serve._check(arguments)
    (model,) = serve.server_options(arguments).models
    assert (model.name, model.base_path) == (tmp_path.name, tmp_path)
    both = ["serve", str(tmp_path), "--model_base_path", str(tmp_path)]
    assert main(both) == 2
    assert "serve takes either" in capsys.readouterr().err


NO_TEXT = "takes a text that isn't empty"
NO_TIME = "takes a finite number of seconds"
SERVED = ["translate", "text", "--server"]
HTTP = [*SERVED, "http://127.0.0.1:1"]
GRPC = [*SERVED, "grpc://127.0.0.1:1"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        # As a shell makes of a variable that isn't set.
        (["train", "--data=x", "--out=y", "--config", ""], NO_TEXT),
        (["train", "--data=x", "--out=y", "--preset="], NO_TEXT),
        (["translate", "--saved-model", "", "text"], NO_TEXT),
        ([*SERVED, ""], NO_TEXT),
        (["translate", "--run=x", "--input", ""], NO_TEXT),
        (["evaluate", "--ctranslate2", "", "--input=x"], NO_TEXT),
        (["plot", "lengths", "--text", ""], NO_TEXT),
        *(
            (["serve", "models", f"--{option}-seconds={value}"], NO_TIME)
            for option in ("drain", "receive", "load")
            for value in ("inf", "nan", "1e300")
        ),
        *(
            ([*HTTP, f"--timeout={value}"], "greater than 0 and finite")
            for value in ("inf", "nan", "0")
        ),
        (
            [
                "serve",
                ".",
                "--engine=embedded",
                "--max-request-bytes=3000000000",
            ],
            "max_request_bytes must be greater than 0 and at most 2147483647",
        ),
        ([*GRPC, "--model=\udcff"], "a name that isn't UTF-8"),
        ([*GRPC, f"--version={10**20}"], "a version takes 0 to 2^63 - 1"),
    ],
)
def test_values_that_nothing_takes(words, says, refuses):
    refuses(*words, says=[says])


def test_a_backend_that_train_has_not(tmp_path, refuses, monkeypatch):
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    words = ["train", "--data", tmp_path, "--out", tmp_path / "run"]
    refuses(*words, says=["KERAS_BACKEND takes tensorflow or jax", "torch"])
