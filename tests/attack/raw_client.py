"""An HTTP client that sends whatever it is given, and reads what comes."""

import contextlib
import http.client
import re
import socket

from tests.attack.report import HANG
from tests.attack.rest_grammar import Request
from tests.serving.asking import Answer


class RawClient:
    """A connection that is kept as long as the server keeps it.

    Args:
        port: on this machine.
    """

    def __init__(self, port: int):
        self._port = port
        self._socket = None

    def ask(self, request: Request) -> Answer:
        """The answer to a request.

        Raises:
            TimeoutError: it didn't come in `HANG` seconds.
            OSError, http.client.HTTPException: there was none, or one that
                isn't HTTP.
        """
        kept = self._socket is not None
        try:
            return self._ask(request)
        except (ConnectionError, http.client.RemoteDisconnected):
            self.close()
            if not kept:
                raise
        # The server may have closed what was kept, just before.
        return self._ask(request)

    def _ask(self, request):
        if self._socket is None:
            address = ("127.0.0.1", self._port)
            self._socket = socket.create_connection(address, timeout=HANG)
        # It may have answered before it had read all.
        with contextlib.suppress(ConnectionError):
            self._socket.sendall(encoded(request))
        response = http.client.HTTPResponse(self._socket, method=request.method)
        try:
            response.begin()
            answer = Answer(response.status, response.headers, response.read())
            if response.will_close:
                self.close()
            return answer
        except BaseException:
            self.close()
            raise
        finally:
            response.close()

    def close(self):
        """Ends the connection."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None


def encoded(request: Request) -> bytes:
    """A request as it is sent."""
    headers = {"Host": "127.0.0.1", **request.headers}
    if request.body is not None:
        headers["Content-Length"] = len(request.body)
    lines = [f"{request.method} {request.path} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    head = "\r\n".join([*lines, "", ""]).encode("latin-1")
    return head + (request.body or b"")


def exchange(port: int, parts: list[bytes]) -> bytes:
    """Sends bytes in parts, says that no more come, and reads to the end.

    Raises:
        TimeoutError: the end didn't come in `HANG` seconds.
    """
    received = []
    with socket.create_connection(("127.0.0.1", port), timeout=HANG) as one:
        try:
            for part in parts:
                one.sendall(part)
            one.shutdown(socket.SHUT_WR)
            while part := one.recv(65536):
                received.append(part)
        except TimeoutError:
            raise
        except OSError:
            pass  # The server has hung up.
    return b"".join(received)


def statuses(received: bytes) -> list[int]:
    """Those of all answers in what was received."""
    heads = re.findall(rb"(?:^|(?<=[\n}>]))HTTP/1\.[01] (\d{3}) ", received)
    return [int(status) for status in heads]
