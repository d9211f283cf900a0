"""Clients that don't go on hold neither a connection nor a thread."""

import contextlib
import json
import socket
import threading
import time

import grpc
import pytest

from keras_transformer.serving.server import grpc_server
from keras_transformer.serving.server import server as module
from keras_transformer.serving.server.admission import Limits
from tests.serving.asking import ask, post
from tests.serving.rpc import channel_to

SECONDS = 0.4
SIZE = 6_000_000


@pytest.fixture(scope="module")
def server(serve):
    limits = Limits(
        receive_seconds=SECONDS, max_text_bytes=SIZE, max_request_bytes=2 * SIZE
    )
    return serve(limits=limits)


def large_answer(server):
    """A connection on which a request for a large answer was sent."""
    connection = socket.socket()
    # So that the system doesn't read for a client that doesn't.
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.settimeout(20)
    connection.connect(("127.0.0.1", server.rest_port))
    body = json.dumps({"instances": ["a" * SIZE]}).encode()
    connection.sendall(post(body, "Connection: close\r\n"))
    return connection


def read(connection, pause):
    """How many bytes come until the connection ends."""
    size = 0
    with contextlib.suppress(ConnectionError):
        while part := connection.recv(2**16):
            size += len(part)
            time.sleep(pause)
    return size


def test_an_answer_that_nobody_reads(server):
    with large_answer(server) as connection:
        time.sleep(4 * SECONDS)
        assert read(connection, 0) < SIZE


def test_a_slow_reader_gets_the_whole_answer(server):
    with large_answer(server) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2**18)
        began = time.monotonic()
        assert read(connection, SECONDS / 30) > SIZE
        assert time.monotonic() - began > 2 * SECONDS


def test_a_connection_to_grpc_that_says_nothing(server):
    began = time.monotonic()
    address = ("127.0.0.1", server.port)
    with socket.create_connection(address, timeout=20) as connection:
        read(connection, 0)  # What gRPC says of itself.
    assert time.monotonic() - began < 10


@pytest.mark.parametrize(
    "method",
    [
        "tensorflow.serving.PredictionService/Predict",
        "tensorflow.serving.ModelService/GetModelStatus",
        "grpc.health.v1.Health/Check",
        "grpc.health.v1.Health/Watch",
    ],
)
def test_a_grpc_call_without_its_message(server, method):
    stop = threading.Event()

    def messages():
        stop.wait(20)
        yield from ()

    with channel_to(server) as channel:
        call = channel.stream_unary(f"/{method}").future(messages())
        try:
            assert call.exception(5).code() is grpc.StatusCode.CANCELLED
        finally:
            stop.set()


def test_a_grpc_call_that_ends_without_a_message(server):
    method = "/tensorflow.serving.PredictionService/Predict"
    with channel_to(server) as channel:
        call = channel.stream_unary(method)
        with pytest.raises(grpc.RpcError) as raised:
            call(iter(()), timeout=20)
    assert raised.value.code() is grpc.StatusCode.UNIMPLEMENTED


def test_grpc_connections_are_limited(serve, monkeypatch):
    """Those that do nothing give way after a time, and REST doesn't wait."""
    monkeypatch.setattr(module, "_MAX_CONNECTIONS", 3)
    monkeypatch.setattr(grpc_server, "_IDLE_SECONDS", 1)
    server = serve()
    greeting = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"
    with contextlib.ExitStack() as stack:
        connections = []
        for _ in range(5):
            address = ("127.0.0.1", server.port)
            connection = socket.create_connection(address, timeout=20)
            stack.enter_context(connection)
            connection.sendall(greeting)
            connections.append(connection)
        served, refused = connections[:3], connections[3:]
        assert all(first_byte(connection) for connection in served)
        assert not any(first_byte(connection) for connection in refused)
        assert ask(server, "/v1/models/toy").status == 200
        for connection in served:
            read(connection, 0)
        options = [("grpc.use_local_subchannel_pool", 1)]
        channel = grpc.insecure_channel(f"127.0.0.1:{server.port}", options)
        with channel:
            grpc.channel_ready_future(channel).result(20)


def first_byte(connection):
    try:
        return connection.recv(1)
    except ConnectionError:
        return b""
