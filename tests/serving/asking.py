"""A client of a few lines, for tests."""

import http.client
import socket
import time
from typing import NamedTuple

PREDICT = "/v1/models/toy:predict"
ONE = b'{"instances": ["a"]}'


class Answer(NamedTuple):
    """What came back.

    Attributes:
        status: of HTTP.
        headers: of HTTP.
        body: bytes.
    """

    status: int
    headers: http.client.HTTPMessage
    body: bytes


def ask(host, path, body=None, method=None, timeout=20, headers=()) -> Answer:
    """One request over a connection of its own."""
    connection = http.client.HTTPConnection(host, timeout=timeout)
    try:
        method = method or ("GET" if body is None else "POST")
        connection.request(method, path, body, dict(headers))
        response = connection.getresponse()
        return Answer(response.status, response.headers, response.read())
    finally:
        connection.close()


def host(server) -> str:
    """The REST address of a server of this process."""
    return f"127.0.0.1:{server.rest_port}"


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


def wait_for(condition, seconds=60):
    """Waits until a condition holds; a connection that fails is not yet."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if condition():
                return
        except OSError:
            pass
        time.sleep(0.02)
    raise AssertionError("it never happened")
