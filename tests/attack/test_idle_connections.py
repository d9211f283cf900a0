"""gRPC connections that go no further: REST and new versions don't wait.

At the full size 10 crowds of 700 connections each, on a server that may open
512 files.
"""

import contextlib
import itertools
import json
import resource
import socket

import grpc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.attack.examples import attacking
from tests.attack.report import HANG
from tests.attack.served import Served
from tests.fake_models import write_version
from tests.serving.asking import ask, wait_for
from tests.serving.rpc import check_health

pytestmark = pytest.mark.slow
FILES, CROWD = 512, 700
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SETTINGS = b"\0\0\0\4\0\0\0\0\0"
# The head of a call to predict, without a message, and half of its frame.
HEADERS = b"\0\0\x01\x01\4\0\0\0\1\x83"
PING = b"\0\0\x08\x06\0\0\0\0\0" + b"12345678"
GREETINGS = {
    "nothing": b"",
    "half a preface": PREFACE[:9],
    "a preface": PREFACE,
    "settings": PREFACE + SETTINGS,
    "half a frame": PREFACE + SETTINGS + HEADERS[:5],
    "half a call": PREFACE + SETTINGS + HEADERS,
    "a ping": PREFACE + SETTINGS + PING,
    "no HTTP/2": b"GET / HTTP/1.1\r\n\r\n",
    "bytes": bytes(range(256)),
}


@pytest.fixture
def more_files():
    """This process may open more files than usual."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def greeted(port, data):
    """A connection that sends so much and then nothing."""
    connection = socket.create_connection(("127.0.0.1", port), HANG)
    with contextlib.suppress(OSError):  # It may have been closed at once.
        connection.sendall(data)
    return connection


def available(server):
    """The versions that answer."""
    answer = ask(server.host, "/v1/models/toy", timeout=HANG)
    assert answer.status == 200
    rows = json.loads(answer.body)["model_version_status"]
    return [int(r["version"]) for r in rows if r["state"] == "AVAILABLE"]


def is_healthy(server):
    """Whether a new connection of gRPC's is answered."""
    with server.channel() as channel:
        try:
            check_health(channel, HANG)
        except grpc.RpcError:
            return False
    return True


@pytest.mark.usefixtures("more_files")
def test_idle_grpc_connections(tmp_path, share, figures):
    number = itertools.count(2)
    kinds = st.lists(st.sampled_from(sorted(GREETINGS)), min_size=1, max_size=3)
    write_version(tmp_path, 1)
    options = ("--model_base_path", tmp_path, "--model_name", "toy")
    with (
        figures.attack("idle_grpc_connections") as attack,
        Served(*options, limit_files=FILES) as server,
        server.channel() as channel,
    ):

        @attacking(share(10))
        @given(kinds)
        def crowds(names):
            # A client that was there before.
            wait_for(lambda: is_healthy(server), 60)
            check_health(channel, HANG)
            with contextlib.ExitStack() as stack:
                for index in range(CROWD):
                    data = GREETINGS[names[index % len(names)]]
                    connection = greeted(server.port, data)
                    stack.enter_context(contextlib.closing(connection))
                with attack.one():
                    server.check(HANG)
                check_health(channel, HANG)
                version = next(number)
                write_version(tmp_path, version)
                wait_for(lambda: available(server) == [version], 20)
                server.check(HANG)
            server.check_log()

        crowds()
        # Those that their clients keep are closed, and others served again.
        with contextlib.ExitStack() as stack:
            for data in list(GREETINGS.values()) * 40:
                connection = greeted(server.port, data)
                stack.enter_context(contextlib.closing(connection))
            wait_for(lambda: is_healthy(server), 60)
        attack.mib = server.memory()
