"""`translate-shards --engine spark`: the same, by tasks of Spark."""

import os
import pathlib
import re
import signal
import time

import pytest

from tests.cli.conftest import start
from tests.cli.test_translate_shards import text
from tests.data.test_spark import needs_spark
from tests.processes import children

pytestmark = needs_spark
# A long line isn't split, so that it is truncated.
OPTIONS = ("--batch-size=2", "--beam-size=1", "--sentences=keep")


@pytest.fixture
def source(write):
    return write("in.txt", text(450))


def translated(run, source, *options, cwd=None):
    """The output, and what was said, of a process of its own."""
    out = source.with_name("out.txt")
    name = "translate-shards" if "--shards=4" in options else "translate"
    files = ["--run", run, "--input", source, "--output", out]
    process = start(name, *files, *OPTIONS, *options)
    _, said = process.communicate()
    return process.returncode, out.read_bytes() if out.exists() else None, said


@pytest.mark.slow
def test_long_lines_and_damaged_shards_are_told(run, source):
    lines = source.read_bytes().splitlines(keepends=True)
    lines[0] = b"two " * 30 + b"\n"
    source.write_bytes(b"".join(lines))
    _, expected, _ = translated(run, source, "--workers=1")
    source.with_name("out.txt").unlink()
    status, _, said = translated(run, source, "--shards=4", "--shard=2")
    assert status == 0, said
    folder = source.with_name("out.txt.shards")
    (folder / "00002-of-00004").write_text("cut\n")
    options = ["--engine=spark", "--shards=4", "--retries=1"]
    status, out, said = translated(run, source, *options)
    assert status == 0, said
    assert out == expected
    # More, as the model repeats itself.
    assert re.search(r"in\.txt: \d+ truncated lines .*\(number 1\b", said)
    assert "shard 2 failed (try 1 of 2): " in said


@pytest.mark.slow
def test_killed_tasks_and_a_killed_driver_are_gone_on_from(run, source):
    source.write_text(text(3000))
    _, expected, _ = translated(run, source, "--workers=1")
    out = source.with_name("out.txt")
    out.unlink()
    folder = source.with_name("out.txt.shards")
    command = ["translate-shards", "--shards=20", "--run", run]
    command += ["--input", source, "--output", out]
    command += [*OPTIONS, "--engine=spark", "--master=local[2]"]
    process = start(*command, start_new_session=True)
    wait_for_shards(process, folder, 2)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert not out.exists()
    process = start(*command)
    wait_for_shards(process, folder, 8)
    worker = next(filter(is_python_worker, children(process.pid)))
    os.kill(worker, signal.SIGKILL)
    _, said = process.communicate()
    assert process.returncode == 0, said
    assert "(try 1 of 3): Spark: " in said
    assert out.read_bytes() == expected


def wait_for_shards(process, folder, count):
    deadline = time.monotonic() + 300
    while len(list(folder.glob("*-of-*"))) < count:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)


def is_python_worker(process_id):
    """Whether a process is a worker that Spark's daemon has forked."""
    try:
        status = pathlib.Path(f"/proc/{process_id}/stat").read_text()
        parent = status.rpartition(")")[2].split()[1]
        command = pathlib.Path(f"/proc/{parent}/cmdline").read_text()
        return "pyspark.daemon" in command
    except OSError:
        return False
