"""How people type commands: words without options, names, one sentence."""

import yaml

import keras_transformer as kt
from keras_transformer.cli import serve
from keras_transformer.cli.main import build_parser
from tests.cli.conftest import call


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


def test_a_folder_is_served(tmp_path, refuses):
    arguments = build_parser().parse_args(["serve", str(tmp_path)])
    serve._check(arguments)
    (model,) = serve.server_options(arguments).models
    assert (model.name, model.base_path) == (tmp_path.name, tmp_path)
    both = ["serve", tmp_path, "--model_base_path", tmp_path]
    refuses(*both, says=["serve takes either"])


def test_a_backend_that_train_has_not(tmp_path, refuses, monkeypatch):
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    words = ["train", "--data", tmp_path, "--out", tmp_path / "run"]
    refuses(*words, says=["KERAS_BACKEND takes tensorflow or jax", "torch"])


def test_tiny_needs_data_with_one_vocabulary(refuses, write, tmp_path):
    path, data = write("few.tsv", "one two\tuno dos\n"), tmp_path / "data"
    # As many tokens on both sides, but others.
    options = ["--source-language=en", "--target-language=es"]
    options += ["--source-tokenizer=word", "--target-tokenizer=word"]
    call("prepare", "--train", path, "--out", data, *options)
    words = ["--data", data, "--out", tmp_path / "run", "--preset=tiny"]
    says = ["data.shared_vocabulary", "6 source and 6 target tokens"]
    refuses("train", *words, says=says)
