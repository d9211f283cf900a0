"""Workers and threads from the command line."""

import os
import signal
import time

import pytest

from tests.cli.conftest import start
from tests.processes import children, is_worker, wait_until_gone

WORDS = ("zero", "one", "two", "three", "four", "five")


@pytest.fixture
def source(write):
    """A file of some batches, with blank lines."""
    return write("in.txt", [" ".join(WORDS[: i % 6]) for i in range(150)])


@pytest.fixture
def endless(write):
    """More than is translated while a test lasts."""
    return write("long.txt", "one two three four five\n" * 500_000)


def translated(model, source, *options):
    """What a process of its own writes for the file, and says beside it."""
    process = start("translate", *model, "--input", source, *options)
    out, err = process.communicate()
    assert process.returncode == 0, err
    return out, err


def wait_for_output(process, folder):
    """Waits for the first translations; returns all child processes."""
    deadline = time.monotonic() + 300
    while not any(p.stat().st_size for p in folder.glob(".tmp-*-out.txt")):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return children(process.pid)


def check_told(out, err, folder, says):
    """One line, no output."""
    lines = [line for line in err.splitlines() if "translating:" not in line]
    assert len(lines) == 1, err
    assert lines[0].startswith("keras-transformer: error: ")
    assert says in lines[0]
    assert not out
    assert not list(folder.glob("*out.txt*"))


@pytest.mark.slow
def test_workers_and_this_process_translate_alike(run, export, source):
    run, export = ["--run", run], ["--saved-model", export]
    outputs = {
        translated(model, source, "--scores", f"--workers={workers}")[0]
        for model, workers in ((run, 1), (run, 2), (export, 2))
    }
    assert len(outputs) == 1
    assert outputs.pop().count("\n") == 150


@pytest.mark.slow
@pytest.mark.parametrize("how", ["worker killed", "Ctrl-C", "SIGTERM"])
def test_an_end_by_force_leaves_nothing(how, run, endless, tmp_path):
    if how == "Ctrl-C" and signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        pytest.skip("the shell that runs this in the background ignores Ctrl-C")
    out = tmp_path / "out.txt"
    files = ["--input", endless, "--output", out]
    options = ["--workers=2", "--beam-size=1"]
    process = start(
        *("translate", "--run", run, *files, *options), start_new_session=True
    )
    processes = wait_for_output(process, tmp_path)
    workers = list(filter(is_worker, processes))
    assert len(workers) == 2
    if how == "worker killed":
        os.kill(workers[0], signal.SIGKILL)
        says = f"(process {workers[0]}) was killed by SIGKILL"
    else:
        says = "interrupted"
        if how == "Ctrl-C":
            os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        else:
            process.terminate()
    out, err = process.communicate()
    assert process.returncode == 2
    check_told(out, err, tmp_path, says)
    wait_until_gone(processes)
