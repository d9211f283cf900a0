"""Each file is read by the parser that its reader has."""

import http.server
import json
import os
import re
import shutil
import subprocess
import threading

import pytest
import yaml
from google.protobuf import text_format

from keras_transformer.errors import InputError
from keras_transformer.exporting import server_files
from keras_transformer.exporting.registry.labels import set_label
from keras_transformer.exporting.server_files import (
    FLAGS,
    MARK,
    check_server_files,
    models_beside,
    write_server_files,
)
from tests.toy_runs import write_versions

NAMES = (
    "models.config",
    "batching.config",
    "monitoring.config",
    "docker-compose.yml",
)


@pytest.fixture
def base(tmp_path):
    return write_versions(tmp_path / "models" / "en_ZH.2", "1", "2", "007")


def _models(base):
    """The models of the file, as TensorFlow Serving's own message reads it."""
    config = pytest.importorskip(
        "tensorflow_serving.config.model_server_config_pb2",
        reason="needs the extra [serving]",
    )
    write_server_files(base)
    text = (base.parent / "models.config").read_text("utf-8")
    found = text_format.Parse(text, config.ModelServerConfig())
    return found.model_config_list.config


def _model(base):
    (model,) = _models(base)
    return model


# models.config


def test_latest_version_is_served_without_labels(base):
    model = _model(base)
    assert model.name == "en_ZH.2"
    assert model.base_path == "/models/en_ZH.2"
    assert model.model_platform == "tensorflow"
    assert model.model_version_policy.latest.num_versions == 1
    assert not model.version_labels


def test_labels_are_served_and_named(base):
    set_label(base, "stable", 1)
    set_label(base, "canary", 7)
    model = _model(base)
    assert model.model_version_policy.specific.versions == [1, 7]
    assert dict(model.version_labels) == {"stable": 1, "canary": 7}


def test_label_of_a_version_that_is_gone_is_refused(base):
    set_label(base, "stable", 2)
    shutil.rmtree(base / "2")
    with pytest.raises(InputError, match="no version 2. It has: 1, 7"):
        write_server_files(base)


def test_a_fault_of_another_model_keeps_none_from_being_changed(base):
    other = write_versions(base.parent / "de-en", 1, 2)
    set_label(other, "stable", 2)
    write_server_files(base)
    shutil.rmtree(other / "2")
    check_server_files(base)
    assert [len(model.version_labels) for model in _models(base)] == [0, 0]
    (other / "labels.json").write_text("{")
    with pytest.raises(InputError, match="de-en/labels.json"):
        check_server_files(base)


def test_a_link_is_served_by_its_name(base, tmp_path):
    (tmp_path / "links").mkdir()
    link = tmp_path / "links" / "zh"
    link.symlink_to(base)
    assert [model.name for model in _models(link)] == ["zh"]
    assert not (base.parent / "models.config").exists()


def test_every_model_beside_is_served(base):
    write_versions(base.parent / "de-en", 3)
    (base.parent / "notes" / "1").mkdir(parents=True)
    (base.parent / ".hidden").mkdir()
    write_versions(base.parent / "no name", 1)
    assert [model.name for model in _models(base)] == ["de-en", "en_ZH.2"]


# Docker


@pytest.fixture
def service(base):
    write_server_files(base)
    text = (base.parent / "docker-compose.yml").read_text("utf-8")
    # Docker would fill in what follows a dollar.
    assert "$" not in text
    return yaml.safe_load(text)["services"]["serving"]


def test_compose_runs_the_server_without_rights(base, service):
    expected = {
        "command": list(FLAGS),
        "volumes": [".:/models:ro"],
        "ports": ["127.0.0.1:8500:8500", "127.0.0.1:8501:8501"],
        "user": "10001:10001",
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges:true"],
        "read_only": True,
    }
    assert {key: service[key] for key in expected} == expected
    files = re.findall("=/models/(.*)", "\n".join(FLAGS))
    assert files == list(NAMES[:3])
    # Everybody may read what the server reads.
    for path in base.parent.rglob("*"):
        assert path.stat().st_mode & (0o005 if path.is_dir() else 0o004), path


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize(
    ("state", "healthy"), [("AVAILABLE", True), ("LOADING", False)]
)
def test_compose_asks_the_server_for_its_state(service, state, healthy):
    kind, *command = service["healthcheck"]["test"]
    assert (kind, *command[:2]) == ("CMD", "bash", "-c")
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps({"state": state}).encode())

        def log_message(self, *arguments):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        command[2] = command[2].replace("8501", str(server.server_port))
        status = subprocess.run(command, timeout=20).returncode
        server.shutdown()
    assert (status == 0) == healthy
    assert asked == ["/v1/models/en_ZH.2"]


# Written again


def test_owners_files_stay(base):
    written, kept = write_server_files(base)
    assert [path.name for path in written] == list(NAMES)
    assert kept == []
    assert sorted(os.listdir(base.parent)) == sorted([*NAMES, base.name])
    mine = base.parent / "docker-compose.yml"
    text = f"{mine.read_text('utf-8').removeprefix(MARK)}# mine\n"
    mine.write_text(text)
    written, kept = write_server_files(base)
    assert kept == [mine]
    assert len(written) == 3
    assert mine.read_text() == text


def test_files_of_two_changes_are_those_of_the_later(base, monkeypatch):
    """A label that moves while the files are written is in them at the end."""
    contents, begun, moved = server_files._contents, [], threading.Event()

    def slow(folder):
        found = contents(folder)
        if not begun:
            begun.append(folder)
            other = threading.Thread(target=write_server_files, args=[base])
            set_label(base, "stable", 2)
            other.start()
            assert not moved.wait(0.3)
            begun.append(other)
        return found

    monkeypatch.setattr(server_files, "_contents", slow)
    write_server_files(base)
    begun[1].join()
    assert "stable" in (base.parent / "models.config").read_text()


def test_model_without_a_version_is_refused(tmp_path):
    (tmp_path / "x" / "1").mkdir(parents=True)
    with pytest.raises(InputError, match="x: no version"):
        write_server_files(tmp_path / "x")


def test_a_folder_that_cannot_be_read_is_no_model(base, monkeypatch):
    private, folders = base.parent / "lost+found", server_files.whole_versions
    private.mkdir()

    def whole_versions(path):
        if path == private:
            raise InputError(f"{path}: Permission denied")
        return folders(path)

    monkeypatch.setattr(server_files, "whole_versions", whole_versions)
    assert models_beside(base) == [base]
