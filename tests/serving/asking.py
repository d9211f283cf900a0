"""A client of a few lines, for tests."""

import http.client
import json
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


def ask(server, path, body=None, method=None, timeout=20, headers=()) -> Answer:
    """One request over a connection of its own.

    Args:
        server: with a port of REST, or its `host:port`.
        path: of the URL.
        body: bytes, or what JSON says.
        method: where it isn't GET without a body and POST with one.
        timeout: in seconds.
        headers: of the request.
    """
    address = server if isinstance(server, str) else host(server)
    connection = http.client.HTTPConnection(address, timeout=timeout)
    try:
        method = method or ("GET" if body is None else "POST")
        if not isinstance(body, bytes | None):
            body = json.dumps(body).encode()
        connection.request(method, path, body, dict(headers))
        response = connection.getresponse()
        return Answer(response.status, response.headers, response.read())
    finally:
        connection.close()


def connect(server) -> socket.socket:
    """A connection to a server's port of REST."""
    return socket.create_connection(("127.0.0.1", server.rest_port), 20)


def request(method, target, host="localhost", more="") -> bytes:
    """The head of a request; `more` are lines of it."""
    return f"{method} {target} HTTP/1.1\r\nHost: {host}\r\n{more}\r\n".encode()


def post(body: bytes, more="") -> bytes:
    """A request to predict, as it is sent."""
    more += f"Content-Length: {len(body)}\r\n"
    return request("POST", PREDICT, more=more) + body


def spin(steps: int) -> bytes:
    """A body that has the toy model make so many additions."""
    return json.dumps({"signature_name": "spin", "inputs": [steps]}).encode()


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
