"""HTTP/1.1 connections that are kept, with a deadline for each exchange."""

import collections
import contextlib
import http.client
import io
import ssl
import threading
import time
from typing import NamedTuple

from keras_transformer.serving.client.transport import Target


class Exchange(NamedTuple):
    """An answer.

    Attributes:
        status: of HTTP.
        headers: of HTTP.
        body: whole.
    """

    status: int
    headers: http.client.HTTPMessage
    body: bytes


class Connections:
    """As many connections as there are requests at once.

    Args:
        target: gives the address.
    """

    def __init__(self, target: Target):
        self._target = target
        self._lock = threading.Lock()
        self._idle = collections.deque()
        self._busy = set()
        self._closed = False

    def exchange(
        self, method: str, path: str, body: bytes | None, deadline: float
    ) -> Exchange:
        """Sends a request and reads the answer.

        Args:
            method: of HTTP.
            path: of the URL.
            body: JSON; None: no body.
            deadline: of `time.monotonic`, seconds.

        Raises:
            TimeoutError: the deadline has passed.
            OSError, http.client.HTTPException: no connection, or it was lost.
        """
        connection, was_idle = self._take()
        try:
            return self._exchange(connection, method, path, body, deadline)
        except TimeoutError:
            raise
        except (OSError, http.client.HTTPException):
            if not was_idle:
                raise
        # The server hung up while nothing was asked, as it may. The others
        # that are idle have the same fate.
        self._close_idle()
        connection, _ = self._take()
        return self._exchange(connection, method, path, body, deadline)

    def close(self):
        """Closes all, also those that are waited on."""
        with self._lock:
            self._closed = True
            busy = list(self._busy)
        self._close_idle()
        for connection in busy:
            connection.hang_up()

    def _take(self):
        """A connection, and whether it was there."""
        with self._lock:
            if self._closed:
                raise ConnectionError("the client is closed")
            was_idle = bool(self._idle)
            # The last one back is the least likely to have been hung up on.
            connection = (
                self._idle.pop() if was_idle else _connection(self._target)
            )
            self._busy.add(connection)
            return connection, was_idle

    def _exchange(self, connection, method, path, body, deadline):
        done = False
        try:
            found = connection.exchange(method, path, body, deadline)
            done = connection.sock is not None
            return found
        finally:
            with self._lock:
                self._busy.discard(connection)
                if done and not self._closed:
                    self._idle.append(connection)
                else:
                    connection.close()

    def _close_idle(self):
        with self._lock:
            while self._idle:
                self._idle.pop().close()


class _Timed:
    """What is added to `HTTPConnection`; its own timeout is of one `recv`."""

    def exchange(self, method, path, body, deadline):
        self.timeout = _seconds_until(deadline)
        headers = {"Content-Type": "application/json"} if body else {}
        if self.sock is None:
            self.connect()
        self.sock.settimeout(_seconds_until(deadline))
        self.response_class = lambda sock, **options: http.client.HTTPResponse(
            _TimedSocket(sock, deadline), **options
        )
        # What is too large is answered before all of it is read.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.request(method, path, body, headers)
        response = self.getresponse()
        return Exchange(response.status, response.headers, response.read())

    def hang_up(self):
        """Ends what another thread waits for."""
        sock = self.sock
        if sock is not None:
            with contextlib.suppress(OSError):
                sock.shutdown(2)


class _HttpConnection(_Timed, http.client.HTTPConnection):
    pass


class _HttpsConnection(_Timed, http.client.HTTPSConnection):
    pass


class _TimedSocket:
    """Of a socket what `HTTPResponse` uses."""

    def __init__(self, sock, deadline):
        self._sock = sock
        self._deadline = deadline

    def makefile(self, mode):
        return io.BufferedReader(_TimedReader(self._sock, self._deadline))


class _TimedReader(io.RawIOBase):
    """Reads until a deadline, however slowly the bytes come."""

    def __init__(self, sock, deadline):
        self._sock = sock
        self._deadline = deadline
        # Keeps the socket open until the answer is read.
        self._raw = sock.makefile("rb", buffering=0)

    def readable(self):
        return True

    def readinto(self, buffer):
        self._sock.settimeout(_seconds_until(self._deadline))
        return self._raw.readinto(buffer)

    def close(self):
        self._raw.close()
        super().close()


def _seconds_until(deadline):
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise TimeoutError
    return seconds


def _connection(target):
    if not target.encrypted:
        return _HttpConnection(target.host, target.port)
    context = ssl.create_default_context()
    return _HttpsConnection(target.host, target.port, context=context)
