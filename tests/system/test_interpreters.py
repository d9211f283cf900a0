"""Modules in the current folder are executed by no child interpreter."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Of those that children import, some of Python's own and some of others.
NAMES = ("yaml", "multiprocessing", "json", "pickle", "numpy", "tensorflow")
HOSTILE = "open({path!r}, 'a').write(__name__ + ' in ' + __file__ + '\\n')\n"
WORKERS = """if __name__ == "__main__":
    from keras_transformer.system.workers import Workers
    from tests.toy_models import Shout
    with Workers(Shout(), 1, doing="shouting") as workers:
        print(*workers.map([["a"]]))
"""
CHECKS = """
import pathlib
from keras_transformer.exporting.verification.checks import (
    check_in_fresh_process
)
print(*check_in_fresh_process(pathlib.Path("no", "such")))
"""


@pytest.fixture
def hostile(tmp_path):
    """A folder with modules that write down when they are executed."""
    executed = tmp_path / "executed"
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in NAMES:
        text = HOSTILE.format(path=str(executed))
        (folder / f"{name}.py").write_text(text)
    return folder


def run_script(folder, text):
    """Runs a script from elsewhere in a folder, as commands are run."""
    path = folder.parent / "bin" / "script.py"
    path.parent.mkdir()
    path.write_text(text)
    return run_in(folder, str(path))


def run_in(folder, *words):
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    executed = folder.parent / "executed"
    assert not executed.exists(), executed.read_text()
    return done


def test_workers_start_safe(hostile):
    done = run_script(hostile, WORKERS)
    assert done.stdout == "['A']\n", done.stderr


def test_checks_of_an_export_start_safe(hostile):
    done = run_script(hostile, CHECKS)
    assert "graph_is_readable" in done.stdout, done.stderr


def test_the_program_starts_where_the_current_folder_was_removed(tmp_path):
    script = (
        "import os, runpy, shutil, sys; shutil.rmtree(os.getcwd());"
        "sys.argv[1:] = ['--version'];"
        "runpy.run_module('keras_transformer', run_name='__main__')"
    )
    folder = tmp_path / "removed"
    folder.mkdir()
    done = run_in(folder, "-c", script)
    assert done.returncode == 0, done.stderr


def test_the_program_leaves_the_current_folder(hostile):
    done = run_in(hostile, "-m", "keras_transformer", "info", "no")
    assert done.returncode == 2
    assert done.stderr.startswith("keras-transformer: error: no: ")
