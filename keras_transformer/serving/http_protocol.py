"""Uvicorn's HTTP/1.1, with a time limit on the head of a request."""

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol


def protocol_with_limit(seconds: float) -> type[H11Protocol]:
    """A protocol that hangs up on a client that doesn't finish a head.

    Uvicorn waits for ever for a first line or a header that never ends, and
    counts the connection all the while. The time for the body is up to the
    application.

    Args:
        seconds: from connecting, or from the first byte of a later request,
            to the end of the head.
    """

    class LimitedProtocol(H11Protocol):
        _head_timer = None

        def connection_made(self, transport):
            super().connection_made(transport)
            self._start_timer()

        def data_received(self, data):
            super().data_received(data)
            if self.conn.their_state is h11.IDLE:
                # A part of the next head, unless a whole request was read.
                if self.conn.trailing_data[0]:
                    self._start_timer()
            else:
                self._stop_timer()

        def connection_lost(self, exc):
            self._stop_timer()
            super().connection_lost(exc)

        def _start_timer(self):
            if self._head_timer is None:
                self._head_timer = self.loop.call_later(seconds, self._hang_up)

        def _stop_timer(self):
            if self._head_timer is not None:
                self._head_timer.cancel()
                self._head_timer = None

        def _hang_up(self):
            self._head_timer = None
            self.transport.close()

    return LimitedProtocol
