"""A full disk at ten points of every command that writes.

What was there before is as it was, what a command leaves is whole or not
there, and with space again it goes on to its end.
"""

import json
import pathlib
import resource
import subprocess
import sys

import pytest

from keras_transformer.system.checksums import checksum
from keras_transformer.system.leftovers import HIDDEN
from tests.attack.commands import every_command
from tests.attack.report import peak_mib
from tests.cli.conftest import ROOT

pytestmark = pytest.mark.slow
# MiB that a command may take at its peak, TensorFlow included.
BOUND = 3072
# Of all that the tests' machine may have; the others are skipped.
NAMES = [
    *("prepare", "train", "train --resume", "translate", "translate-shards"),
    *("export", "export --format keras", "export --format ctranslate2"),
    *("versions label", "versions publish", "import", "plot"),
    *("distill", "evaluate --report"),
]


def checksums(*folders):
    return {
        str(path): checksum(path)
        for folder in folders
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize("name", NAMES)
def test_full_disk(name, corpus, data, run, export, tmp_path, share, figures):
    commands = every_command(corpus, data, run, export, tmp_path)
    if name not in commands:
        pytest.skip(f"{name}: an extra isn't installed")
    command = commands[name]
    begin, folder = tmp_path / "begin", tmp_path / "points"
    folder.mkdir()
    if command.begin is not None:
        begin.mkdir()
        command.begin(begin)
    before = checksums(data, run, export)
    plan = {
        "words": command.words,
        "again": command.again,
        "begin": str(begin) if command.begin else None,
        "folder": str(folder),
        "points": share(10),
    }
    with figures.attack(f"full disk: {name}") as attack:
        done = subprocess.run(
            [sys.executable, "-m", "tests.attack.full_disk"],
            input=json.dumps(plan),
            capture_output=True,
            text=True,
            timeout=1200,
            cwd=ROOT,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        first, *points, last = json.loads(done.stdout)
        assert first["status"] == last["status"] == 0, (first, last)
        for point in points:
            check(command, point)
        attack.count = len(points)
        attack.mib = peak_mib(resource.RUSAGE_CHILDREN)
        assert attack.mib < BOUND
    assert checksums(data, run, export) == before


def check(command, point):
    """What a command has left that met a full disk."""
    assert point["status"] == 2, point
    assert "Traceback" not in point["said"], point
    said = point["said"].splitlines()[-1]
    assert said.startswith("keras-transformer: error: "), point
    folder = pathlib.Path(point["folder"])
    left = [path.name for path in folder.parent.rglob(f"{HIDDEN}*")]
    assert left == [], point
    if folder.exists() and any(folder.iterdir()):
        command.check(folder)
