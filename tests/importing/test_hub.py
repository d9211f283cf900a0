"""Models by their names on Hugging Face's hub, with a stand-in for it."""

import fnmatch
import json
import sys
import types

import pytest

from keras_transformer.cli.main import main
from keras_transformer.errors import InputError
from keras_transformer.importing.hub import model_folder
from tests.importing.conftest import folders  # noqa: F401

NAME = "Helsinki-NLP/opus-mt-en-de"


@pytest.fixture
def hub(monkeypatch):
    """Has the client be what a test makes of it."""

    def install(download):
        client = types.SimpleNamespace(snapshot_download=download)
        monkeypatch.setitem(sys.modules, "huggingface_hub", client)

    return install


def test_a_name_is_downloaded_and_imported(hub, folders, tmp_path):  # noqa: F811
    asked = []

    def download(name, allow_patterns):
        asked.append(name)
        files = ["config.json", "model.safetensors", "source.spm", "README.md"]
        files.append("tokenization_small100.py")
        for file in (*files, "pytorch_model.bin", "vocab.json"):
            assert any(fnmatch.fnmatch(file, p) for p in allow_patterns)
        for file in ("tf_model.h5", "rust_model.ot", "flax_model.msgpack"):
            assert not any(fnmatch.fnmatch(file, p) for p in allow_patterns)
        return str(folders["big"])

    hub(download)
    assert main(["import", NAME, "--out", str(tmp_path / "run")]) == 0
    assert asked == [NAME]
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["imported"]["from"] == NAME


def offline(name, allow_patterns):
    raise ConnectionError("no route to the hub\nand more")


@pytest.mark.parametrize(
    ("client", "says"),
    [
        (None, "or pip install huggingface_hub"),
        (offline, "not downloaded .no route to the hub."),
    ],
)
def test_what_to_do_without_client_or_network(
    client, says, hub, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    if client is None:
        monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    else:
        hub(client)
    with pytest.raises(InputError, match=says) as error:
        model_folder(NAME)
    assert f"hf download {NAME} --local-dir opus-mt-en-de" in str(error.value)
    assert "\n" not in str(error.value)


def test_a_path_is_no_name(tmp_path):
    with pytest.raises(InputError, match="nothing: no such folder"):
        model_folder(tmp_path / "nothing")
    assert model_folder(tmp_path) == tmp_path
