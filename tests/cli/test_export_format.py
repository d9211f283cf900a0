"""`export --format` as a user meets it."""

import pathlib
import shutil

import pytest

from keras_transformer.api import exporting
from keras_transformer.exporting.server_files import MARK
from keras_transformer.exporting.writer import saved_model
from keras_transformer.exporting.writer.saved_model import ExportReport

FILES = (
    "batching.config",
    "docker-compose.yml",
    "models.config",
    "monitoring.config",
)


@pytest.fixture
def copied(export, monkeypatch):
    """Exports by copying what another test's export wrote."""

    def export_run(run, base, **_):
        path = shutil.copytree(export / "1", pathlib.Path(base) / "1")
        numbers = {"size": 0, "seconds": 0.0, "version": 1, "variables": 0}
        return ExportReport(path=path, signatures=(), **numbers)

    monkeypatch.setattr(saved_model, "export_run", export_run)


def test_servers_files_are_written_beside_the_model(
    run, tmp_path, succeed, copied
):
    base = tmp_path / "models" / "toy"
    command = ["export", "--run", run, "--out", base]
    said = succeed(*command, "--format=tfserving")
    assert {path.name for path in base.parent.iterdir()} == {*FILES, "toy"}
    assert said.err.count("wrote ") == 4
    assert "wrote" not in said.out
    # A later export brings them up to date, but for the owner's.
    (base.parent / "batching.config").write_text("# mine\n")
    (base.parent / "models.config").write_text(f"{MARK}\n")
    (base / "1").rename(base / "5")
    assert succeed(*command).err.count("wrote ") == 3
    assert 'name: "toy"' in (base.parent / "models.config").read_text()
    assert (base.parent / "batching.config").read_text() == "# mine\n"


def test_name_no_server_can_have_is_refused_at_once(
    run, refuses, tmp_path, monkeypatch
):
    monkeypatch.setattr(exporting, "_with_precision", None)
    options = ["--run", run, "--out", tmp_path / "my model"]
    refuses(
        *("export", *options, "--format", "tfserving"),
        says=["my model", "can't be a model's name"],
    )
    assert list(tmp_path.iterdir()) == []
