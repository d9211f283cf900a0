"""Each benchmark and each tool can be imported, and says what it takes."""

import pathlib
import runpy
import sys

import pytest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
COMMANDS = [
    path
    for path in (*SCRIPTS.rglob("__main__.py"), *SCRIPTS.glob("tools/*.py"))
    if "ArgumentParser(" in path.read_text("utf-8")
]


def name(path):
    return str(path.relative_to(SCRIPTS))


@pytest.mark.parametrize("path", sorted(COMMANDS), ids=name)
def test_help_is_printed(path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "argv", [str(path), "--help"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(path), run_name="__main__")
    assert not ended.value.code
    assert "usage: " in capsys.readouterr().out
