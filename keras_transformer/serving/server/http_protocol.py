"""HTTP/1.1 protocol of the REST port: uvicorn's, with limits.

Uvicorn has no limits on what clients send or how slowly they read, and no
public interface to add them, so its protocol class is subclassed: see
`compat.uvicorn_protocol`. Source: RFC 9112.
"""

import asyncio
import dataclasses
import functools
import http
from collections.abc import Callable
from typing import Any

import h11

from keras_transformer.compat import cancel_keep_alive, uvicorn_protocol
from keras_transformer.contract.status import Code, ServingError
from keras_transformer.serving.server.middleware import error_body
from keras_transformer.serving.server.monitoring import Entry

# States of the server in which an answer can be started.
_UNANSWERED = (h11.IDLE, h11.SEND_RESPONSE)
# States of the client in which it may have more to send.
_SENDING = (h11.SEND_BODY, h11.ERROR)
_BOTH_IDLE = {h11.CLIENT: h11.IDLE, h11.SERVER: h11.IDLE}
# Limits of a request's head: bytes and lines. Apache has the same line limit.
_MAX_HEAD, _MAX_LINES = 2**16, 100
# A body with more chunks than this needs that many bytes a chunk on average.
_MANY_CHUNKS, _CHUNK_BYTES = 2**14, 16
# Bytes read from a connection before others get their turn. As the smallest
# possible chunks they take 10 ms.
_READ_BYTES = 4096
# Characters kept of an error message and of a target.
_SHOWN = 1000


@dataclasses.dataclass(eq=False)
class ConnectionLimits:
    """Limits of connections, and the open connections.

    Attributes:
        seconds: time from connecting, or from the first byte of a later
            request, to the end of the head; time for the rest of a body; and
            time in which a client must read some part of an answer.
        max_connections: maximum number of open connections. A further one
            replaces the longest idle one, or is closed if none is idle.
        record: called with the entry of a request that doesn't reach the
            application.
        idle: protocols without a request, the longest idle first.
        open: all protocols except those that were closed to make room.
    """

    seconds: float
    max_connections: int
    record: Callable[[Entry], None]
    idle: dict = dataclasses.field(default_factory=dict)
    open: set = dataclasses.field(default_factory=set)


def limited_protocol(limits: ConnectionLimits) -> Callable:
    """Returns a factory of protocols that end connections of stalled clients.

    Uvicorn waits without limit for the end of a head, for the rest of a body
    that was answered already, and for an answer to be read, and counts the
    connection as open meanwhile. The time limit for a body before its answer
    is up to the application.

    The application finds the request's raw `target`, bytes, in its scope's
    "state". If the client breaks the protocol during a request, `broken`, a
    `ServingError`, is added there.

    Args:
        limits: shared by all connections.
    """
    return functools.partial(_LimitedProtocol, limits)


class _Connection(h11.Connection):
    """h11 connection that refuses ambiguous framing.

    Args:
        max_head: maximum bytes of a request's head.
        state: dict in which "target" and "method" are set for each request,
            as they were sent.

    Attributes:
        error: the error in the received data; None if there is none.
    """

    def __init__(self, max_head: int, state: dict):
        super().__init__(h11.SERVER, max_head)
        self.error: h11.RemoteProtocolError | None = None
        self._state = state
        self._chunks = self._bytes = 0

    def next_event(self):
        try:
            if self.their_state is h11.IDLE:
                self._state["target"] = b""
                _require_few_lines(self.trailing_data[0])
            event = super().next_event()
            if isinstance(event, h11.Request):
                self._chunks = self._bytes = 0
                self._state["target"] = event.target
                self._state["method"] = event.method
                _require_one_length(event)
            elif isinstance(event, h11.Data):
                self._count_chunk(event)
        except h11.RemoteProtocolError as error:
            self.error = error
            raise
        return event

    def _count_chunk(self, data):
        """Refuses a body with many small chunks, which take long to parse."""
        self._chunks += 1
        self._bytes += len(data.data)
        many = self._chunks > _MANY_CHUNKS
        if many and self._bytes < _CHUNK_BYTES * self._chunks:
            raise h11.RemoteProtocolError("Too many chunks of few bytes")


def _require_few_lines(data):
    """Refuses a head with very many lines before it is parsed."""
    lines = data.split(b"\n", _MAX_LINES + 2)[:-1]
    if len(lines) > _MAX_LINES + 1 and not {b"", b"\r"}.intersection(lines):
        raise h11.RemoteProtocolError(
            f"More than {_MAX_LINES} lines in a head", error_status_hint=431
        )


def _require_one_length(request):
    """Refuses a request that another server might read as two.

    Source: RFC 9112, 6.1: such a request ends the connection.
    """
    names = {name for name, _ in request.headers}
    if b"transfer-encoding" not in names:
        return
    if b"content-length" in names:
        raise h11.RemoteProtocolError(
            "Content-Length together with Transfer-Encoding"
        )
    if request.http_version < b"1.1":
        raise h11.RemoteProtocolError("Transfer-Encoding in HTTP/1.0")


class _Transport:
    """Transport that closes only after the client has sent everything.

    Closing a connection with unread bytes resets it, so that the answer to an
    upload that is too large would be lost. A timeout limits the wait.

    Args:
        transport: the transport to wrap.
        protocol: a `_LimitedProtocol`, which discards the remaining bytes.
    """

    def __init__(self, transport, protocol):
        self._transport = transport
        self._protocol = protocol

    def __getattr__(self, name):
        return getattr(self._transport, name)

    def is_closing(self):
        return self._protocol.is_draining or self._transport.is_closing()

    def close(self):
        if not self._protocol.drains():
            self._transport.close()


# Type checkers don't accept a function's return value as a base class.
class _LimitedProtocol(uvicorn_protocol()):  # type: ignore[misc]
    def __init__(self, limits: ConnectionLimits, config, *arguments, **options):
        super().__init__(config, *arguments, **options)
        # Each request's state is a copy of this dict.
        self.app_state: dict[str, Any] = {}
        self.conn = _Connection(_MAX_HEAD, self.app_state)
        self.is_draining = False
        self._limits = limits
        self._is_counted = True
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def connection_made(self, transport):
        # asyncio's transports have this attribute; the server uses its loop.
        transport.max_size = _READ_BYTES
        opened, idle = self._limits.open, self._limits.idle
        is_full = len(opened) >= self._limits.max_connections
        if is_full and not idle:
            # File descriptors would run out. No request has been sent yet, so
            # none remains unanswered.
            self._is_counted = False
            transport.abort()
            return
        if is_full:
            longest = next(iter(idle))
            longest.transport.close()
            longest.give_way()
        super().connection_made(_Transport(transport, self))
        self._hang_up_later()
        opened.add(self)
        idle[self] = None  # Until data arrives.

    def data_received(self, data):
        if self.is_draining:
            return
        self._limits.idle.pop(self, None)
        super().data_received(data)
        self._check_client()
        if self._awaits_request():
            # This was the end of a request that had been answered early. The
            # data cancelled the keep-alive timer, so it is started again.
            self._limits.idle[self] = None
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def on_response_complete(self):
        super().on_response_complete()
        if self.transport.is_closing():
            return
        # A pipelined request may be running already.
        if self.cycle.response_complete:
            self._limits.idle[self] = None
        self._check_client()

    def send_400_response(self, msg):
        """Answers invalid HTTP with an error in the contract's format."""
        error = ServingError(
            Code.INVALID_ARGUMENT,
            f"Malformed HTTP: {self.conn.error or msg}"[:_SHOWN],
            getattr(self.conn.error, "error_status_hint", 400),
        )
        if self.cycle is not None and not self.cycle.response_complete:
            # The application ends and records the current request.
            self.scope["state"]["broken"] = error
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        else:
            self._record(error)
        if self.conn.our_state in _UNANSWERED:
            self._answer(error)
        self.transport.close()

    def shutdown(self):
        if self.is_draining:
            self.transport.abort()
        else:
            super().shutdown()

    def pause_writing(self):
        super().pause_writing()
        self._check_reader()

    def resume_writing(self):
        super().resume_writing()
        self._cancel("reading")

    def connection_lost(self, exc):
        if not self._is_counted:
            return
        self.give_way()
        for name in list(self._timers):
            self._cancel(name)
        super().connection_lost(exc)
        cancel_keep_alive(self)

    def give_way(self) -> None:
        """Stops counting the connection as open."""
        self._limits.idle.pop(self, None)
        self._limits.open.discard(self)

    def drains(self) -> bool:
        """Starts to drain the client's data; True if that is necessary."""
        if self.is_draining or self.transport.is_closing():
            return self.is_draining
        refused = self.conn.error is not None
        self.is_draining = refused or self.conn.their_state in _SENDING
        if self.is_draining:
            self._limits.idle.pop(self, None)
            self.flow.resume_reading()
            # Sent after the pending data, so that the client sees the end.
            try:
                self.transport.write_eof()
            except OSError:  # The client has closed it.
                self.transport.abort()
            self._cancel("sending")
            self._hang_up_later()
        return self.is_draining

    def _answer(self, error):
        body, status = error_body(error), error.http_status
        headers = {
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            "Connection": "close",
        }
        # Without a request, "method" is still that of the previous one.
        is_request = self.conn.our_state is h11.SEND_RESPONSE
        if is_request and self.app_state["method"] == b"HEAD":
            body = b""  # An answer to HEAD has no body (RFC 9110, 9.3.2).
        for event in (
            h11.Response(
                status_code=status,
                headers=list(headers.items()),
                reason=http.HTTPStatus(status).phrase,
            ),
            h11.Data(data=body),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event))

    def _record(self, error):
        entry = Entry(
            "REST",
            path=self.app_state["target"][:_SHOWN].decode("ascii", "replace"),
            peer=(self.client or [""])[0],
            status=error.http_status,
            code=error.code,
            error=error.message,
            bytes_out=len(error_body(error)),
        )
        entry.end()
        self._limits.record(entry)

    def _awaits_request(self):
        """True if all requests are answered, and no data of another is here."""
        return (
            self.cycle is not None
            and self.cycle.response_complete
            and self.conn.states == _BOTH_IDLE
            and not self.conn.trailing_data[0]
            and not self.transport.is_closing()
        )

    def _check_client(self):
        """Starts or cancels the timeout for the rest of a request."""
        if self._client_is_sending():
            self._hang_up_later()
        elif not self.is_draining:
            self._cancel("sending")

    def _client_is_sending(self):
        """True if a request has arrived only in part."""
        if self.conn.their_state is h11.IDLE:
            # Unparsed data is part of the next head.
            return bool(self.conn.trailing_data[0])
        answered = self.conn.our_state is h11.DONE
        return answered and self.conn.their_state is h11.SEND_BODY

    def _hang_up_later(self):
        if "sending" not in self._timers:
            # `close` would wait for the client again.
            self._timers["sending"] = self.loop.call_later(
                self._limits.seconds, self.transport.abort
            )

    def _check_reader(self, before=None):
        """Aborts unless the client keeps reading its answer."""
        left = self.transport.get_write_buffer_size()
        if before is not None and left >= before:
            # `close` would wait for the rest to be read.
            self.transport.abort()
            return
        self._timers["reading"] = self.loop.call_later(
            self._limits.seconds, self._check_reader, left
        )

    def _cancel(self, name):
        timer = self._timers.pop(name, None)
        if timer is not None:
            timer.cancel()
