"""A log that nobody reads: no request waits for it; what is lost is counted."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from keras_transformer.serving.server.log_stream import LogStream
from tests.attack.served import Served
from tests.processes import ROOT
from tests.serving.asking import ONE, PREDICT, ask, wait_for
from tests.serving.rpc import check_health

# More text than a pipe takes.
LONG = json.dumps({"instances": ["a" * 16_000] * 60}).encode()
SECONDS = 60


@pytest.fixture
def pipe():
    """The two ends of a pipe; who writes to it ends when it's closed."""
    ends = os.pipe()
    yield ends
    for end in ends:
        with contextlib.suppress(OSError):
            os.close(end)


def test_lines_are_written_whole_and_in_order(pipe):
    reader, writer = pipe
    stream = LogStream(writer)
    for number in range(100):
        print("line", number, file=stream)
    stream.write("half")
    stream.write(" a line\nand more")
    assert stream.wait(SECONDS)
    expected = [*(f"line {number}" for number in range(100)), "half a line"]
    assert os.read(reader, 2**16).decode().splitlines() == expected


def test_a_reader_that_has_gone_costs_lines_only(pipe):
    reader, writer = pipe
    stream = LogStream(writer)
    os.close(reader)
    for number in range(3):
        print(number, file=stream)
        assert stream.wait(SECONDS)
    assert stream.dropped() == 3


EVERYTHING = """
import logging, os, sys, threading, warnings
from keras_transformer.serving.server.log_stream import unblocked_stderr

before = sys.stderr
with unblocked_stderr():
    logging.getLogger("somebody").error("logged")
    warnings.warn("warned")
    thread = threading.Thread(target=lambda: 1 / 0)
    thread.start()
    thread.join()
    try:
        while True:  # as code in C++ would: more than the pipe takes
            os.write(2, b"n" * 4096)
    except BlockingIOError:
        print("goes on", flush=True)
    print("queued", file=sys.stderr)
assert sys.stderr is before and os.get_blocking(2)
print("as before", file=sys.stderr)
"""


def test_everything_that_is_said_goes_through_it():
    """Logging, warnings and tracebacks; and the descriptor never waits."""
    child = subprocess.Popen(
        [sys.executable, "-c", EVERYTHING],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    assert child.stdout.readline() == "goes on\n"
    _, said = child.communicate(timeout=SECONDS)
    assert child.returncode == 0, said
    for words in ("logged", "warned", "ZeroDivisionError", "nnn", "queued\n"):
        assert words in said
    assert said.endswith("as before\n")


def dropped(server):
    page = ask(server, "/monitoring/prometheus/metrics").body.decode()
    name = ":keras_transformer:serving:log_lines_dropped"
    return int(re.search(rf"^{name} (\d+)$", page, re.MULTILINE)[1])


@pytest.mark.medium
def test_a_server_whose_log_is_not_read(toy_base):
    options = ("--model_base_path", toy_base, "--log-text")
    with Served(*options, "--drain-seconds", 2, reading=False) as server:
        fill_log(server)
        lost = dropped(server)
        assert lost > 0
        with server.channel() as channel:
            check_health(channel)
        server.read(True)
        assert ask(server, PREDICT, ONE).status == 200
        wait_for(lambda: '"text": {"instances": ["a"]}' in server.log[-1])
        assert dropped(server) == lost
        # Nor does it wait for its reader when it stops.
        server.read(False)
        fill_log(server)
        assert dropped(server) > lost
        began = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(SECONDS) == 0
        assert time.monotonic() - began < 20


def fill_log(server):
    for _ in range(8):
        assert ask(server, PREDICT, LONG, timeout=SECONDS).status == 200
