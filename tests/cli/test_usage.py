"""How people type commands: words without options, names, one sentence."""

import pytest
import yaml

import keras_transformer as kt
from keras_transformer.cli import serve
from keras_transformer.cli.main import build_parser


def test_the_configuration_is_printed_and_taken(tmp_path, succeed):
    command = ["train", "--print-config"]
    printed = succeed(*command, "--preset=base", "--epochs=3").out
    config = yaml.safe_load(printed)
    assert list(config) == ["model", "training", "decoding"]
    expected = kt.preset("base").updated({"training": {"epochs": 3}}).to_dict()
    assert config == {name: expected[name] for name in config}
    (tmp_path / "config.yaml").write_text(printed)
    options = ["--config", tmp_path / "config.yaml", "--preset=tatoeba"]
    # Of which the file leaves nothing.
    assert succeed(*command, *options).out == printed


def test_sentences_on_the_command_line_are_translated(toy, succeed):
    texts = ["aaa bbb", "ccc"]
    said = succeed("translate", "--run", toy, *texts).out
    assert said.splitlines() == kt.load(toy).translate(texts)


def test_a_folder_is_served(tmp_path, refuses):
    arguments = build_parser().parse_args(["serve", str(tmp_path)])
    serve._check(arguments)
    (model,) = serve.server_options(arguments).models
    assert (model.name, model.base_path) == (tmp_path.name, tmp_path)
    both = ["serve", tmp_path, "--model_base_path", tmp_path]
    refuses(*both, says=["serve takes either"])


NO_TEXT = "takes a text that isn't empty"
NO_TIME = "takes a finite number of seconds"
EMBEDDED = ["serve", ".", "--engine=embedded"]
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
            [*EMBEDDED, "--max-request-bytes=3000000000"],
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
