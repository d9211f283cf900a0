"""`export --format` as a user meets it."""

import pathlib
import shutil

import pytest

from keras_transformer.api import exporting
from keras_transformer.cli.main import main
from keras_transformer.exporting.server_files import write_server_files
from keras_transformer.exporting.writer import saved_model
from keras_transformer.exporting.writer.saved_model import ExportReport

FILES = (
    "batching.config",
    "docker-compose.yml",
    "models.config",
    "monitoring.config",
)


@pytest.fixture
def unchecked(monkeypatch):
    """Exports without the checks, which other tests run."""
    monkeypatch.setattr(saved_model, "check_in_fresh_process", lambda _: ())


@pytest.fixture
def copied(export, monkeypatch):
    """Exports by copying what another test's export wrote."""

    def export_run(run, base, **_):
        path = shutil.copytree(export / "1", pathlib.Path(base) / "1")
        return ExportReport(
            path=path,
            size=0,
            seconds=0.0,
            version=1,
            variables=0,
            signatures=(),
        )

    monkeypatch.setattr(saved_model, "export_run", export_run)


def test_servers_files_are_written_beside_the_model(
    run, tmp_path, capsys, copied
):
    base = tmp_path / "models" / "toy"
    options = ["--run", str(run), "--out", str(base)]
    assert main(["export", *options, "--format", "tfserving"]) == 0
    names = sorted(path.name for path in base.parent.iterdir())
    assert names == sorted([*FILES, "toy"])
    said = capsys.readouterr()
    assert said.err.count("wrote ") == 4
    assert "wrote" not in said.out


@pytest.mark.slow
def test_later_export_brings_the_files_up_to_date(
    run, export, tmp_path, capsys, unchecked
):
    base = shutil.copytree(export, tmp_path / "models" / "toy")
    write_server_files(base)
    (base.parent / "batching.config").write_text("# mine\n")
    assert main(["export", "--run", str(run), "--out", str(base)]) == 0
    text = (base.parent / "models.config").read_text()
    assert 'name: "toy"' in text
    assert (base.parent / "batching.config").read_text() == "# mine\n"
    assert capsys.readouterr().err.count("wrote ") == 3


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
