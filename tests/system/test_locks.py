"""Locks among processes and threads."""

import concurrent.futures
import contextlib
import os
import subprocess
import sys
import threading
import time

import pytest

from keras_transformer.errors import InputError
from keras_transformer.exporting.registry import labels
from keras_transformer.system.locks import locked
from tests.processes import started

HOLDING = """
import sys
from keras_transformer.system.locks import locked
with locked(sys.argv[1], "here", "waits"):
    print("held", flush=True)
    sys.stdin.read()
"""
LABELLING = """
import sys
from keras_transformer.exporting.registry.labels import set_label
for number in range(20):
    set_label(sys.argv[1], f"{sys.argv[2]}{number}", 1)
"""


@contextlib.contextmanager
def holding(path):
    """A process that has a lock until it is killed."""
    with started(HOLDING, path) as process:
        assert process.stdout.readline() == "held\n"
        yield process


@pytest.fixture
def holder(tmp_path):
    with holding(tmp_path / "lock") as process:
        yield process


@pytest.mark.parametrize("there", [True, False])
def test_a_file_that_a_link_names_is_left_alone(tmp_path, there):
    other, path = tmp_path / "other", tmp_path / "lock"
    if there:
        other.write_text("mine")
    path.symlink_to(other)
    with pytest.raises(InputError, match="lock: can't be written"):
        with locked(path, "here", "reads"):
            pass
    assert other.exists() == there
    assert not there or other.read_text() == "mine"


def test_another_process_is_named(holder, tmp_path):
    says = f"here: process {holder.pid} on .*, since 20.* reads"
    with pytest.raises(InputError, match=says):
        with locked(tmp_path / "lock", "here", "reads"):
            pass
    (tmp_path / "lock").write_text("[" * 2000)
    with pytest.raises(InputError, match="here: another process reads"):
        with locked(tmp_path / "lock", "here", "reads"):
            pass


def test_a_lock_of_the_dead_is_free(holder, tmp_path):
    holder.kill()
    holder.wait()
    with locked(tmp_path / "lock", "here", "reads"):
        assert str(os.getpid()) in (tmp_path / "lock").read_text()
    assert not (tmp_path / "lock").exists()


def test_one_waits_for_the_other(holder, tmp_path):
    threading.Timer(0.3, holder.stdin.close).start()
    began = time.monotonic()
    with locked(tmp_path / "lock", "here", "reads", wait=30.0):
        assert 0.2 < time.monotonic() - began < 20


def test_a_thread_may_enter_again_and_others_may_not(tmp_path):
    def enter():
        with locked(tmp_path / "lock", "here", "reads"):
            pass

    with concurrent.futures.ThreadPoolExecutor(1) as thread:
        with locked(tmp_path / "lock", "here", "reads"):
            enter()
            with pytest.raises(InputError, match=str(os.getpid())):
                thread.submit(enter).result()
        thread.submit(enter).result()


def test_no_label_is_lost(tmp_path):
    (tmp_path / "1").mkdir()
    (tmp_path / "1" / "saved_model.pb").touch()
    command = [sys.executable, "-c", LABELLING, str(tmp_path)]
    processes = [subprocess.Popen([*command, name]) for name in "abc"]
    assert [process.wait() for process in processes] == [0, 0, 0]
    assert len(labels.read_labels(tmp_path).versions) == 60
    assert sorted(os.listdir(tmp_path)) == ["1", "labels.json"]
