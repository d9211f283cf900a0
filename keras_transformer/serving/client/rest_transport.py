"""REST transport: client of TensorFlow Serving's REST API.

urllib3 pools the connections. Its timeouts apply to each `recv`, so an answer
that trickles in would never time out: a watchdog ends an exchange at its
deadline. The length of an answer is limited, see `longest_answer`.
"""

import contextlib
import http.client
import json
import socket
import ssl
import threading
import time
import urllib.parse

import urllib3
from urllib3.exceptions import HTTPError, LocationParseError, NewConnectionError

from keras_transformer.contract.status import Code, code_of_http
from keras_transformer.errors import InputError
from keras_transformer.serving.client.request_errors import (
    ServerFailedError,
    deadline_error,
    request_error,
)
from keras_transformer.serving.client.transport import (
    Target,
    VersionStatus,
    longest_answer,
    seconds_of,
)

# Idle connections in the pool; clients seldom have more requests in flight.
_MOST_KEPT = 256
# Bytes read at a time.
_PIECE = 64 * 2**10


class RestTransport:
    """Requests over HTTP/1.1; see `Transport`.

    Args:
        target: the model.

    Raises:
        InputError: the target's host is invalid.
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        try:
            self._pool = _pool(target)
        except LocationParseError as error:
            raise InputError(f"{target}: {error}") from None
        self._exchanges: set[_Exchange] = set()
        self._output_names: dict[str, list[str]] = {}
        self._path = _path(target)

    def predict(
        self, signature: str, inputs: dict, deadline: float
    ) -> dict[str, list]:
        """See `Transport.predict`."""
        body = json.dumps(
            {"signature_name": signature, "inputs": inputs}, ensure_ascii=False
        )
        # Text read with surrogateescape has surrogates, which UTF-8 can't
        # encode.
        encoded = body.encode("utf-8", "replace")
        texts = max(map(len, inputs.values()), default=0)
        answer = self._ask("POST", ":predict", encoded, deadline, texts)
        if "outputs" not in answer:
            raise self._unreadable(answer)
        outputs = answer["outputs"]
        if isinstance(outputs, dict):
            return outputs
        # The API omits the name if a signature has only one output.
        return {self._output_name(signature, deadline): outputs}

    def versions(self, deadline: float) -> list[VersionStatus]:
        """See `Transport.versions`."""
        answer = self._ask("GET", "", None, deadline)
        try:
            return [
                VersionStatus(
                    int(row["version"]),
                    row["state"],
                    row.get("status", {}).get("error_message", ""),
                )
                for row in answer["model_version_status"]
            ]
        except (KeyError, TypeError, ValueError, OverflowError, AttributeError):
            raise self._unreadable(answer) from None

    def close(self) -> None:
        """See `Transport.close`."""
        self._pool.close()
        for exchange in self._exchanges.copy():
            exchange.hang_up()

    def _output_name(self, signature, deadline):
        """Looks up the name of a signature's only output in the metadata."""
        if signature not in self._output_names:
            answer = self._ask("GET", "/metadata", None, deadline)
            try:
                definition = answer["metadata"]["signature_def"]
                outputs = definition["signature_def"][signature]["outputs"]
                (self._output_names[signature],) = outputs.keys()
            except (KeyError, TypeError, ValueError, AttributeError):
                raise self._unreadable(answer) from None
        return self._output_names[signature]

    def _ask(self, method, what, body, deadline, texts=0):
        """Sends a request; returns the JSON object of a successful answer."""
        where = str(self._target)
        path, limit = self._path + what, longest_answer(texts)
        try:
            response, content = self._exchange(
                method, path, body, deadline, limit
            )
        except TimeoutError:
            raise deadline_error(where) from None
        except HTTPError as error:
            message = f"no answer: {_reason(error)}"
            raise request_error(Code.UNAVAILABLE, message, where) from None
        status, text = response.status, content.decode("utf-8", "replace")
        try:
            answer = json.loads(text)
        except (ValueError, RecursionError):
            answer = text
        if status == 200 and isinstance(answer, dict):
            return answer
        if status == 200:
            raise self._unreadable(answer)
        # The answer may be a proxy's error page, which isn't JSON.
        told = answer.get("error") if isinstance(answer, dict) else None
        message = told if isinstance(told, str) else _short(answer)
        if location := response.get_redirect_location():
            message = f"redirected to {_short(location)}: {message}"
        wait = seconds_of(response.headers.get("Retry-After"))
        code = code_of_http(status)
        raise request_error(code, message, where, status, wait)

    def _exchange(self, method, path, body, deadline, limit):
        """Sends a request and reads the whole answer.

        Returns:
            The response and its content.

        Raises:
            TimeoutError: the deadline has passed.
            HTTPError: the connection failed or was lost.
            ServerFailedError: the answer is too long.
        """
        exchange = _Exchange()
        seconds = deadline - time.monotonic()
        if seconds <= 0:
            raise TimeoutError
        watchdog = threading.Timer(seconds, exchange.hang_up)
        watchdog.daemon = True
        watchdog.start()
        self._exchanges.add(exchange)
        _running.exchange = exchange
        try:
            response = self._pool.urlopen(
                method,
                path,
                body,
                {"Content-Type": "application/json"} if body else {},
                retries=False,
                redirect=False,
                timeout=urllib3.Timeout(total=seconds),
                preload_content=False,
            )
            content = self._content(response, limit)
        except NewConnectionError:
            raise
        except urllib3.exceptions.TimeoutError:
            raise TimeoutError from None
        except HTTPError:
            if time.monotonic() >= deadline:
                raise TimeoutError from None
            raise
        finally:
            watchdog.cancel()
            self._exchanges.discard(exchange)
        # An answer without a length ends with the connection, so it looks
        # complete after the watchdog has shut that down.
        if exchange.ended:
            raise TimeoutError
        return response, content

    def _content(self, response, limit):
        """Reads and decompresses a response, then releases its connection."""
        content = bytearray()
        try:
            for piece in response.stream(_PIECE, decode_content=True):
                content += piece
                if len(content) > limit:
                    raise ServerFailedError(
                        Code.UNKNOWN,
                        f"the answer is longer than {limit // 2**20} MiB; a "
                        "request of fewer texts has a shorter one",
                        str(self._target),
                        response.status,
                    )
        except BaseException:
            # The next request would read the rest as its own answer.
            response.close()
            raise
        finally:
            response.release_conn()
        return content

    def _unreadable(self, answer):
        message = f"not an answer of TensorFlow Serving's: {_short(answer)}"
        where = str(self._target)
        return ServerFailedError(Code.UNKNOWN, message, where, 200)


class _Exchange:
    """A request and its answer, which another thread may interrupt."""

    def __init__(self):
        self.connection = None
        self.socket = None
        self.ended = False

    def hang_up(self):
        self.ended = True
        # While connecting, only the connection has the socket. A connection
        # that isn't kept alive drops it before the answer is read.
        sock = self.socket or getattr(self.connection, "sock", None)
        if sock is not None:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)


# The current exchange of each thread, to which connections register.
_running = threading.local()


class _Registered:
    """Mixin of urllib3 connections that register with the current exchange."""

    def connect(self):
        _running.exchange.connection = self
        super().connect()  # type: ignore[misc]  # A connection's.

    def request(self, *arguments, **options):
        exchange = _running.exchange
        exchange.connection = self
        # Of a connection, too.
        super().request(*arguments, **options)  # type: ignore[misc]
        # Of a connection, too.
        exchange.socket = self.sock  # type: ignore[attr-defined]


def _pool(target):
    """Creates a pool of direct connections, ignoring configured proxies."""
    where = (target.host, target.port)
    if target.encrypted:
        # Shared, as creating it reads the certificates of all authorities.
        context = ssl.create_default_context()
        pool: urllib3.HTTPConnectionPool = urllib3.HTTPSConnectionPool(
            *where, maxsize=_MOST_KEPT, ssl_context=context
        )
    else:
        pool = urllib3.HTTPConnectionPool(*where, maxsize=_MOST_KEPT)
    pool.ConnectionCls = type(
        "RegisteredConnection", (_Registered, pool.ConnectionCls), {}
    )
    return pool


def _reason(error):
    """Returns the underlying reason, without urllib3's wrapping."""
    causes = [error]
    while cause := causes[-1].__cause__ or causes[-1].__context__:
        causes.append(cause)
    for cause in reversed(causes):
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror
    if isinstance(causes[-1], http.client.BadStatusLine):
        return "what answers isn't HTTP: it may be the port of gRPC"
    return _short(causes[-1]) if str(causes[-1]) else type(causes[-1]).__name__


def _path(target):
    """Returns the URL's path up to the version or label."""
    parts = [target.path, "/v1/models/", _quoted(target.model)]
    if target.version is not None:
        parts.append(f"/versions/{target.version}")
    if target.label:
        parts.append(f"/labels/{_quoted(target.label)}")
    return "".join(parts)


def _quoted(name):
    return urllib.parse.quote(name, safe="")


def _short(answer):
    """Returns an answer in one line of at most 200 characters."""
    return " ".join(str(answer).split())[:200] or "nothing"
