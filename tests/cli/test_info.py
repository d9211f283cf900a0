"""`info` as a user meets it."""

import json
import time
import types

import pytest

from keras_transformer.errors import InputError
from keras_transformer.training import run
from tests.cli.conftest import call


def write_json(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))
    return path


def shards(count):
    return [{"file": f"{i:08}", "sha256": "ab" * 32} for i in range(count)]


@pytest.mark.parametrize("name", ["data/manifest.json", "run/manifest.json"])
def test_more_than_a_person_reads_is_refused_soon(refuses, tmp_path, name):
    path = write_json(
        tmp_path / name,
        {"splits": {"train": {"shards": shards(20_000)}}, "tokenizers": {}},
    )
    began = time.monotonic()
    refuses("info", path.parent, says=["characters to print", "--json"])
    assert time.monotonic() - began < 2
    call("info", path.parent, "--json")


def test_a_manifest_of_30_megabytes_is_refused(refuses, tmp_path):
    path = write_json(
        tmp_path / "data/manifest.json", {"splits": shards(300_000)}
    )
    assert path.stat().st_size > 27e6
    says = [f"{path}: too large. Accepted: a file of up to 16,777,216 bytes"]
    refuses("info", path.parent, says=says)
    refuses("info", path.parent, "--json", says=says)


def test_a_history_has_a_limit_too(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "LARGEST_JSON", 100)
    path = tmp_path / "history.jsonl"
    path.write_text('{"epoch": 1}' + " " * 100)
    with pytest.raises(InputError, match=f"{path}: too large"):
        run.Run.history(types.SimpleNamespace(folder=tmp_path))


def test_a_folder_of_versions(tmp_path, succeed):
    base = tmp_path / "en-zh"
    description = {"format": "keras_transformer.saved_model"}
    for version in (1, 12):
        extra = base / f"{version}/assets.extra"
        write_json(extra / "keras_transformer.json", description)
    (base / "3").mkdir()
    write_json(base / "labels.json", {"versions": {"a": 1}, "earlier": {}})
    first, *lines = succeed("info", base).out.splitlines()
    assert first == f"{base}: folder of versions"
    versions = ["  1: export", "  3: not an export", "  12: export"]
    assert lines == ["versions:", *versions, "labels:", "  a: 1", ""]
    found = json.loads(succeed("info", base, "--json").out)
    assert found["kind"] == "folder of versions"
    assert found["versions"]["12"] == "export"


def test_each_kind_is_named(data, run, export, succeed):
    folders = {"prepared data": data, "run": run, "export": export / "1"}
    for kind, folder in folders.items():
        assert json.loads(succeed("info", folder, "--json").out)["kind"] == kind
