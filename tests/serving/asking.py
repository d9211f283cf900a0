"""A client of a few lines, for tests."""

import http.client
from typing import NamedTuple


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
