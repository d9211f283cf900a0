"""HTTP/1.1 protocol of the REST port: uvicorn's, with limits.

Uvicorn has neither limits on what a client sends and reads nor a public place
for them, so that its protocol class is subclassed: see
`compat.uvicorn_protocol`. Source: RFC 9112.
"""

import asyncio
import dataclasses
import functools
import http
from collections.abc import Callable
from typing import Any

import h11

from keras_transformer.compat import uvicorn_protocol
from keras_transformer.contract.status import Code, ServingError
from keras_transformer.serving.server.middleware import error_body
from keras_transformer.serving.server.monitoring import Entry

# An answer can be begun in these states of the server.
_UNANSWERED = (h11.IDLE, h11.SEND_RESPONSE)
# A client in these states may have more to send.
_SENDING = (h11.SEND_BODY, h11.ERROR)
_BOTH_IDLE = {h11.CLIENT: h11.IDLE, h11.SERVER: h11.IDLE}
# Bytes and lines of a request's head. Apache takes as many lines.
_MAX_HEAD, _MAX_LINES = 2**16, 100
# Chunks of a body, and bytes of each on an average, if there are more.
_MANY_CHUNKS, _CHUNK_BYTES = 2**14, 16
# Bytes that are read of a connection before others have their turn. In the
# smallest chunks they take 10 ms.
_READ_BYTES = 4096
# Characters of what was wrong, and of a target, that are kept.
_SHOWN = 1000


@dataclasses.dataclass(eq=False)
class ConnectionLimits:
    """Limits of connections, and those that are open.

    Attributes:
        seconds: from connecting, or from the first byte of a later request,
            to the end of the head; for the rest of a body; and for any part
            of an answer to be read.
        max_connections: that are open; for another one the longest idle is
            closed, or itself if none is idle.
        record: takes the entry of a request that never gets to the
            application.
        idle: protocols without a request, the longest idle first.
        open: all protocols, without those that were closed to make way.
    """

    seconds: float
    max_connections: int
    record: Callable[[Entry], None]
    idle: dict = dataclasses.field(default_factory=dict)
    open: set = dataclasses.field(default_factory=set)


def limited_protocol(limits: ConnectionLimits) -> Callable:
    """Makes the protocols of connections, which end when a client stalls.

    Uvicorn waits without limit for the end of a head, for the rest of a body
    that was answered already, and for an answer to be read, and counts the
    connection all the while. The time for a body before its answer is up to
    the application.

    The application finds in its scope's "state" the request's `target` as it
    was sent, bytes, and, once its client has gone, `broken`, a `ServingError`,
    if it sent what is no HTTP.

    Args:
        limits: shared by all connections.
    """
    return functools.partial(_LimitedProtocol, limits)


class _Connection(h11.Connection):
    """h11's connection, which refuses ambiguous framing.

    Args:
        max_head: bytes of a request's head.
        state: whose "target" and "method" become those of each request, as
            they were sent.

    Attributes:
        error: what was wrong with what was received; None so far.
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
        """Refuses a body whose chunks would take all of the server's time."""
        self._chunks += 1
        self._bytes += len(data.data)
        many = self._chunks > _MANY_CHUNKS
        if many and self._bytes < _CHUNK_BYTES * self._chunks:
            raise h11.RemoteProtocolError("Too many chunks of few bytes")


def _require_few_lines(data):
    """Refuses a head of very many lines before they are looked at."""
    lines = data.split(b"\n", _MAX_LINES + 2)[:-1]
    if len(lines) > _MAX_LINES + 1 and not {b"", b"\r"}.intersection(lines):
        raise h11.RemoteProtocolError(
            f"More than {_MAX_LINES} lines in a head", error_status_hint=431
        )


def _require_one_length(request):
    """Refuses what another server might take for two requests.

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
    """A transport that is closed when the client has sent all, or soon after.

    A connection that is closed while bytes of its client are unread is reset,
    and the answer to an upload that is too large is lost with it.

    Args:
        transport: to wrap.
        protocol: a `_LimitedProtocol`, which drops what still comes.
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


# No checker sees a class in what a function returns.
class _LimitedProtocol(uvicorn_protocol()):  # type: ignore[misc]
    def __init__(self, limits: ConnectionLimits, config, *arguments, **options):
        super().__init__(config, *arguments, **options)
        # A request's state is a copy of it.
        self.app_state: dict[str, Any] = {}
        self.conn = _Connection(_MAX_HEAD, self.app_state)
        self.is_draining = False
        self._limits = limits
        self._is_counted = True
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def connection_made(self, transport):
        # Of asyncio's loop, which is the one that the server runs.
        transport.max_size = _READ_BYTES
        opened, idle = self._limits.open, self._limits.idle
        is_full = len(opened) >= self._limits.max_connections
        if is_full and not idle:
            # Files would run out. Nothing was sent yet that needs an answer.
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
        idle[self] = None  # Until something comes.

    def data_received(self, data):
        if self.is_draining:
            return
        self._limits.idle.pop(self, None)
        super().data_received(data)
        self._check_client()
        if self._awaits_request():
            # The end of a request that was answered before it. What came has
            # ended the time for which the connection is kept.
            self._limits.idle[self] = None
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def on_response_complete(self):
        super().on_response_complete()
        if self.transport.is_closing():
            return
        # Another request may have been sent ahead.
        if self.cycle.response_complete:
            self._limits.idle[self] = None
        self._check_client()

    def send_400_response(self, msg):
        """Refuses what is no HTTP, in the contract's words and in the log."""
        error = ServingError(
            Code.INVALID_ARGUMENT,
            f"Malformed HTTP: {self.conn.error or msg}"[:_SHOWN],
            getattr(self.conn.error, "error_status_hint", 400),
        )
        if self.cycle is not None and not self.cycle.response_complete:
            # The application ends its request, and records it.
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

    def give_way(self) -> None:
        """Stops counting the connection among those that are open."""
        self._limits.idle.pop(self, None)
        self._limits.open.discard(self)

    def drains(self) -> bool:
        """Keeps the connection for what its client still sends; True if so."""
        if self.is_draining or self.transport.is_closing():
            return self.is_draining
        refused = self.conn.error is not None
        self.is_draining = refused or self.conn.their_state in _SENDING
        if self.is_draining:
            self._limits.idle.pop(self, None)
            self.flow.resume_reading()
            # After what is written, so that the client reads to its end.
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
        # Of a request, not of bytes that are none: the method is the latest's.
        is_request = self.conn.our_state is h11.SEND_RESPONSE
        if is_request and self.app_state["method"] == b"HEAD":
            body = b""  # Its answer has no body (RFC 9110, 9.3.2).
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
        """True if all was answered, and nothing of a request has arrived."""
        return (
            self.cycle is not None
            and self.cycle.response_complete
            and self.conn.states == _BOTH_IDLE
            and not self.conn.trailing_data[0]
            and not self.transport.is_closing()
        )

    def _check_client(self):
        """Waits for the client if it has begun what it hasn't ended."""
        if self._client_is_sending():
            self._hang_up_later()
        elif not self.is_draining:
            self._cancel("sending")

    def _client_is_sending(self):
        """True if a request has arrived only in part."""
        if self.conn.their_state is h11.IDLE:
            # A part of the next head, unless a whole request was read.
            return bool(self.conn.trailing_data[0])
        answered = self.conn.our_state is h11.DONE
        return answered and self.conn.their_state is h11.SEND_BODY

    def _hang_up_later(self):
        if "sending" not in self._timers:
            # Closing would wait for the client again.
            self._timers["sending"] = self.loop.call_later(
                self._limits.seconds, self.transport.abort
            )

    def _check_reader(self, before=None):
        """Waits for the reader of an answer while it takes part of it."""
        left = self.transport.get_write_buffer_size()
        if before is not None and left >= before:
            # Closing would wait for the rest to be read.
            self.transport.abort()
            return
        self._timers["reading"] = self.loop.call_later(
            self._limits.seconds, self._check_reader, left
        )

    def _cancel(self, name):
        timer = self._timers.pop(name, None)
        if timer is not None:
            timer.cancel()
