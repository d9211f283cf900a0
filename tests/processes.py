"""Other processes, as /proc shows them, and the memory of this one."""

import contextlib
import os
import pathlib
import subprocess
import sys
import time
import tracemalloc

ROOT = pathlib.Path(__file__).resolve().parents[1]


def run_python(*words, folder=ROOT, stdin="", timeout=None, **variables):
    """Runs Python to its end, which has to be a good one.

    Args:
        words: of its command line.
        folder: that it runs in.
        stdin: what it reads.
        timeout: in seconds.
        variables: of its environment.

    Returns:
        `subprocess.CompletedProcess`, with text.
    """
    done = subprocess.run(
        [sys.executable, *map(str, words)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **variables},
        input=stdin,
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    assert done.returncode == 0, done.stderr
    return done


@contextlib.contextmanager
def started(code, *arguments):
    """A process that runs Python's code, and is killed at the end."""
    with subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def peak_memory(call):
    """What a call returns, and the most bytes that Python held meanwhile."""
    tracemalloc.start()
    try:
        return call(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def children(process_id):
    """Process ids of the children and theirs."""
    paths = pathlib.Path(f"/proc/{process_id}").glob("task/*/children")
    own = [int(n) for path in paths for n in path.read_text().split()]
    return own + [far for child in own for far in children(child)]


def is_worker(process_id):
    command = pathlib.Path(f"/proc/{process_id}/cmdline").read_bytes()
    return b"keras_transformer.system.workers" in command


def wait_until_gone(process_ids):
    deadline = time.monotonic() + 30
    while any(map(is_alive, process_ids)):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def is_alive(process_id):
    """Whether a process runs; one that waits to be collected doesn't."""
    try:
        text = pathlib.Path(f"/proc/{process_id}/stat").read_text()
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] != "Z"
