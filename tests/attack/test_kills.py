"""Commands that are killed at any moment, and run again to the same end.

At the full size 30 kills: while a file is written, a step is computed, or a
process starts. What the kill leaves is whole or not there.
"""

import random
import shutil
import signal
import time

import numpy as np
import pytest

from keras_transformer.system.leftovers import HIDDEN
from keras_transformer.training.run import Run
from tests.attack.commands import every_command
from tests.cli.conftest import start

pytestmark = pytest.mark.slow
# How many of each command, and words that make it last.
KILLS = {
    "train": (18, ("--epochs=40", "--set=training.average_epochs=3")),
    "prepare": (3, ()),
    "translate-shards": (3, ()),
    "distill": (2, ()),
    "export": (2, ()),
    "versions publish": (2, ()),
}
LONGEST = 1.5  # seconds from what a command wrote last to its kill


@pytest.mark.parametrize("name", KILLS)
def test_kills(name, corpus, data, run, export, tmp_path, share, figures):
    command = every_command(corpus, data, run, export, tmp_path)[name]
    count, more = KILLS[name]
    whole, killed = (tmp_path / kind / "out" for kind in ("whole", "killed"))
    for folder in (whole, killed):
        folder.parent.mkdir()
        if command.begin:
            folder.mkdir()
            command.begin(folder)
    finish(command, whole, more)
    chance = random.Random(0)
    struck = 0
    with figures.attack(f"kills: {name}") as attack:
        for _ in range(share(count)):
            with attack.one(None):
                struck += kill(command, killed, more, chance)
            if killed.exists() and any(killed.iterdir()):
                command.check(killed)
            if not command.again and not command.begin:
                shutil.rmtree(killed, ignore_errors=True)
        assert 2 * struck >= share(count)  # Else they came too late.
        finish(command, killed, more)
    assert_same(name, whole, killed)
    assert [p.name for p in killed.parent.rglob(f"{HIDDEN}*")] == []


def finish(command, folder, more):
    """Runs a command to its end."""
    process = start(*command.line(folder), *more)
    _, said = process.communicate()
    assert process.returncode == 0, said


def kill(command, folder, more, chance) -> bool:
    """Runs a command until it has written something, and a moment more.

    Returns:
        whether it was still running.
    """
    process = start(*command.line(folder), *more)
    before = written(folder)
    # Some before they write anything.
    if chance.random() < 0.8:
        while process.poll() is None and written(folder) == before:
            time.sleep(0.02)
    time.sleep(chance.uniform(0, LONGEST))
    process.kill()
    _, said = process.communicate()
    assert "Traceback" not in said
    return process.returncode == -signal.SIGKILL


def written(folder):
    """What changes whenever something is written."""
    try:
        return {
            (str(path), path.stat().st_mtime_ns)
            for path in folder.parent.rglob("*")
        }
    except FileNotFoundError:  # Renamed just now: a change.
        return None


def assert_same(name, whole, killed):
    """What two commands have made is the same, killed or not."""
    if name == "train":
        for which in ("best", "last", "average"):
            pair = [
                Run.load(folder).load_model(which).get_weights()
                for folder in (whole, killed)
            ]
            for ours, theirs in zip(*pair, strict=True):
                np.testing.assert_array_equal(ours, theirs)
    elif name in ("prepare", "distill", "translate-shards"):
        for path in whole.rglob("*"):
            if path.suffix in (".tfrecord", ".txt"):
                other = killed / path.relative_to(whole)
                assert other.read_bytes() == path.read_bytes()
