"""The commands and the code of the guide to other programs, on a small run."""

import shlex

import pytest

from keras_transformer.cli.main import main
from tests.cli.conftest import ROOT
from tests.docs.pages import examples, fences, run
from tests.toy_runs import write_run

GUIDE = ROOT / "docs/en/guides/other-programs.md"
RUNTIMES = ("onnx", "tf2onnx", "onnxruntime", "ai_edge_litert")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """What the guide starts from, and what its commands have made of it."""
    monkeypatch.chdir(tmp_path)
    write_run(tmp_path / "runs/en-zh", "pre")
    commands = [one.text for one in fences(GUIDE) if one.language == "sh"]
    assert commands
    for command in commands:
        assert main(shlex.split(command)[1:]) == 0
    return tmp_path


def test_keras_does_what_the_guide_shows(folder):
    assert run(GUIDE, folder) == 2


def require(*packages):
    for package in packages:
        pytest.importorskip(package, reason=f"needs {package}, see the guide")


# They warn of what they call in TensorFlow and NumPy.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.slow
def test_other_runtimes_do_what_the_guide_shows(folder):
    require(*RUNTIMES)
    assert run(GUIDE, folder, slow=True) == len(examples(GUIDE))
