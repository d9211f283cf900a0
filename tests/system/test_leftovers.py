"""What killed processes leave, and how long."""

import os

import pytest

from keras_transformer.system.files import new_folder, write_text
from keras_transformer.system.leftovers import (
    hidden,
    remove_leftovers,
    remove_leftovers_of,
)
from tests.processes import started

KILLED = """
import os, pathlib, signal, sys
from keras_transformer.system.files import new_folder, replacing
folder = pathlib.Path(sys.argv[1])
with replacing(folder / "text") as file:
    file.write_text("half")
    with new_folder(folder / "data") as data:
        (data / "half").touch()
        if sys.argv[2] == "wait":
            print("ready", flush=True)
            sys.stdin.read()
        os.kill(os.getpid(), signal.SIGKILL)
"""


def names(folder):
    return sorted(os.listdir(folder))


@pytest.fixture
def unswept(monkeypatch):
    """Folders are looked at again, as by another process."""
    from keras_transformer.system import leftovers

    monkeypatch.setattr(leftovers, "_swept", set())


def test_what_a_dead_process_left_is_swept(tmp_path, unswept):
    with started(KILLED, tmp_path, "die") as process:
        assert process.wait() == -9
    assert len(names(tmp_path)) == 2
    (tmp_path / ".tmp-0123abcd-notes").touch()  # A person's.
    other = f".tmp-{'0' * 8}{process.pid:06x}000000-elsewhere"
    (tmp_path / other).touch()  # Of another machine.
    write_text(tmp_path / "another", "x")
    kept = sorted([".tmp-0123abcd-notes", "another", other])
    assert names(tmp_path) == kept


def test_what_a_living_process_writes_stays(tmp_path, unswept):
    with started(KILLED, tmp_path, "wait") as process:
        assert process.stdout.readline() == "ready\n"
        with new_folder(tmp_path / "mine"):
            pass
        assert len(names(tmp_path)) == 3


def test_leftovers_of_one_target(tmp_path):
    ours = hidden(tmp_path / "out.txt")
    others = [
        hidden(tmp_path / "my-out.txt"),
        tmp_path / ".tmp-0123abcd-out.txt",
        tmp_path / ".tmp-notes-out.txt",
    ]
    for path in (ours, *others):
        path.touch()
    remove_leftovers_of(tmp_path / "out.txt")
    assert names(tmp_path) == sorted(path.name for path in others)


def test_files_of_others_with_like_names_stay(tmp_path):
    others = [".tmp-notes", ".thesis.tmp", ".x.tmp.npz"]
    for name in others:
        (tmp_path / name).touch()
    (tmp_path / "weights").mkdir()
    for path in ("weights/best.h5", "checkpoint.npz"):
        hidden(tmp_path / path).touch()
    remove_leftovers(tmp_path)
    assert names(tmp_path) == sorted([*others, "weights"])
    assert names(tmp_path / "weights") == []
