"""The commands and the code of the guide to other programs, on a small run."""

import shlex

import pytest

from keras_transformer.cli.main import main
from tests.cli.conftest import ROOT
from tests.docs.pages import fences, run
from tests.toy_runs import write_run

GUIDE = ROOT / "docs/en/guides/other-programs.md"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """What the guide starts from."""
    monkeypatch.chdir(tmp_path)
    write_run(tmp_path / "runs/en-zh", "pre")
    return tmp_path


def test_the_guide_does_what_it_shows(folder):
    commands = [one.text for one in fences(GUIDE) if one.language == "sh"]
    for command in commands:
        assert main(shlex.split(command)[1:]) == 0
    assert run(GUIDE, folder) > 1
