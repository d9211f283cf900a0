"""HTTP/1.1 of the REST port: uvicorn's, stricter and with limits of time.

Uvicorn has neither limits on what a client sends and reads nor a public place
for them, so that its protocol class is subclassed: see
`compat.uvicorn_protocol`. Source: RFC 9112.
"""

import asyncio
import http
import re
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
_END_OF_HEAD = re.compile(rb"\n\r?\n")
# Chunks of a body, and bytes of each on an average, if there are more.
_MANY_CHUNKS, _CHUNK_BYTES = 2**14, 16
# Bytes that are read of a connection before others have their turn. In the
# smallest chunks they take 10 ms.
_READ_BYTES = 4096
# Characters of what was wrong, and of a target, that are kept.
_SHOWN = 1000


def limited_protocol(
    seconds: float, max_connections: int, record: Callable[[Entry], None]
) -> type[asyncio.Protocol]:
    """A protocol that hangs up on clients that don't go on.

    Uvicorn waits for ever for a head that never ends, for the rest of a body
    that was answered already, and for an answer to be read, and counts the
    connection all the while. The time for a body before its answer is up to
    the application.

    The application finds in its scope's "state" the request's `target` as it
    was sent, bytes; `crowded`, whether there are too many connections; and,
    once its client has gone, `broken`, a `ServingError`, if it sent what is no
    HTTP.

    Args:
        seconds: from connecting, or from the first byte of a later request,
            to the end of the head; for the rest of a body; and for any part
            of an answer to be read.
        max_connections: that are open; then those that are idle are closed,
            the longest idle first.
        record: takes the entry of a request that never gets to the
            application.
    """
    return type(
        "LimitedProtocol",
        (_LimitedProtocol,),
        {
            "_seconds": seconds,
            "_max_connections": max_connections,
            "_record": staticmethod(record),
            "_idle": {},
            "_open": set(),
        },
    )


class _Connection(h11.Connection):
    """h11's, which also refuses what may be framed in two ways.

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
    if data.count(b"\n") <= _MAX_LINES:
        return
    end = _END_OF_HEAD.search(data)
    if data.count(b"\n", 0, end.start() if end else None) > _MAX_LINES:
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
    and the answer with it: who uploads too much would never know why.

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
    _seconds: float
    _max_connections: int
    _record: Callable
    _idle: dict
    _open: set  # without those that have just been closed to make way
    _timers: dict

    def __init__(self, config, *arguments, **options):
        super().__init__(config, *arguments, **options)
        # A request's state is a copy of it.
        self.app_state: dict[str, Any] = {"crowded": False}
        self.conn = _Connection(_MAX_HEAD, self.app_state)
        self.is_draining = False
        self._is_counted = True
        self._timers = {}

    def connection_made(self, transport):
        # Of asyncio's loop, which is the one that the server runs.
        transport.max_size = _READ_BYTES
        most = self._max_connections + self._max_connections // 8 + 8
        if len(self._open) >= most:
            # Files would run out; who has sent nothing yet gets no answer.
            self._is_counted = False
            transport.abort()
            return
        super().connection_made(_Transport(transport, self))
        self._hang_up_later("sending")
        self._open.add(self)
        if len(self._open) > self._max_connections and self._idle:
            longest = next(iter(self._idle))
            longest.transport.close()
            longest.give_way()
        self._idle[self] = None  # Until something comes.

    def data_received(self, data):
        if self.is_draining:
            return
        self._idle.pop(self, None)
        crowded = len(self._open) > self._max_connections
        self.app_state["crowded"] = crowded
        super().data_received(data)
        self._check_client()
        if self._awaits_request():
            # The end of a request that was answered before it. What came has
            # ended the time for which the connection is kept.
            self._idle[self] = None
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def on_response_complete(self):
        super().on_response_complete()
        if self.transport.is_closing():
            return
        # Another request may have been sent ahead.
        if self.cycle.response_complete:
            self._idle[self] = None
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
            self._record(self._entry(error))
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
        self._wait_for_reader()

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
        """No longer counts among those that are open."""
        self._idle.pop(self, None)
        self._open.discard(self)

    def drains(self) -> bool:
        """Whether the connection stays for what its client still sends."""
        if self.is_draining or self.transport.is_closing():
            return self.is_draining
        refused = self.conn.error is not None
        self.is_draining = refused or self.conn.their_state in _SENDING
        if self.is_draining:
            self._idle.pop(self, None)
            self.flow.resume_reading()
            # After what is written, so that the client reads to its end.
            self.transport.write_eof()
            self._cancel("sending")
            self._hang_up_later("sending")
        return self.is_draining

    def _answer(self, error):
        body = error_body(error)
        headers = [
            ("Content-Type", "application/json"),
            ("Content-Length", str(len(body))),
            ("Connection", "close"),
        ]
        status = error.http_status
        events = [
            h11.Response(
                status_code=status,
                headers=headers,
                reason=http.HTTPStatus(status).phrase,
            ),
            h11.Data(data=body),
            h11.EndOfMessage(),
        ]
        # Of a request, not of bytes that are none: the method is the latest's.
        is_request = self.conn.our_state is h11.SEND_RESPONSE
        if is_request and self.app_state["method"] == b"HEAD":
            del events[1]  # Its answer has no body (RFC 9110, 9.3.2).
        for event in events:
            self.transport.write(self.conn.send(event))

    def _entry(self, error):
        target = self.app_state["target"][:_SHOWN]
        entry = Entry(
            "REST",
            path=target.decode("ascii", "replace"),
            peer=self.client[0] if self.client else "",
            status=error.http_status,
            code=error.code,
            error=error.message,
            bytes_out=len(error_body(error)),
        )
        entry.end()
        return entry

    def _awaits_request(self):
        """Whether all has been answered, and nothing of a request is there."""
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
            self._hang_up_later("sending")
        elif not self.is_draining:
            self._cancel("sending")

    def _client_is_sending(self):
        """Whether a part of something came that nobody else waits for."""
        if self.conn.their_state is h11.IDLE:
            # A part of the next head, unless a whole request was read.
            return bool(self.conn.trailing_data[0])
        answered = self.conn.our_state is h11.DONE
        return answered and self.conn.their_state is h11.SEND_BODY

    def _hang_up_later(self, name):
        if name not in self._timers:
            # Closing would wait for the client again.
            self._timers[name] = self.loop.call_later(
                self._seconds, self.transport.abort
            )

    def _wait_for_reader(self):
        left = self.transport.get_write_buffer_size()
        self._timers["reading"] = self.loop.call_later(
            self._seconds, self._check_reader, left
        )

    def _check_reader(self, left):
        if self.transport.get_write_buffer_size() < left:
            self._wait_for_reader()
        else:
            # Closing would wait for the rest to be read.
            self.transport.abort()

    def _cancel(self, name):
        timer = self._timers.pop(name, None)
        if timer is not None:
            timer.cancel()
