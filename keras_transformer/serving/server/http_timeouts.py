"""HTTP timeouts: uvicorn's HTTP/1.1, hanging up on clients that don't go on.

Uvicorn has no such limits and no public place for them, so that its protocol
class is subclassed: see `compat.uvicorn_protocol`.
"""

import asyncio

import h11

from keras_transformer.compat import uvicorn_protocol


def protocol_with_limit(seconds: float) -> type[asyncio.Protocol]:
    """A protocol that hangs up on clients that don't go on.

    Uvicorn waits for ever for a head that never ends, for the rest of a body
    that was answered already, and for an answer to be read, and counts the
    connection all the while. The time for a body before its answer is up to
    the application.

    Args:
        seconds: from connecting, or from the first byte of a later request,
            to the end of the head; for the rest of a body; and for any part
            of an answer to be read.
    """
    return type("LimitedProtocol", (_LimitedProtocol,), {"_seconds": seconds})


class _LimitedProtocol(uvicorn_protocol()):
    _seconds: float
    _sending_timer = None
    _reading_timer = None

    def connection_made(self, transport):
        super().connection_made(transport)
        self._wait_for_client()

    def data_received(self, data):
        super().data_received(data)
        if self._client_is_sending():
            self._wait_for_client()
        else:
            self._cancel("_sending_timer")

    def pause_writing(self):
        super().pause_writing()
        self._wait_for_reader()

    def resume_writing(self):
        super().resume_writing()
        self._cancel("_reading_timer")

    def connection_lost(self, exc):
        self._cancel("_sending_timer")
        self._cancel("_reading_timer")
        super().connection_lost(exc)

    def _client_is_sending(self):
        """Whether a part of something came that nobody else waits for."""
        if self.conn.their_state is h11.IDLE:
            # A part of the next head, unless a whole request was read.
            return bool(self.conn.trailing_data[0])
        answered = self.conn.our_state is h11.DONE
        return answered and self.conn.their_state is h11.SEND_BODY

    def _wait_for_client(self):
        if self._sending_timer is None:
            self._sending_timer = self.loop.call_later(
                self._seconds, self.transport.close
            )

    def _wait_for_reader(self):
        left = self.transport.get_write_buffer_size()
        self._reading_timer = self.loop.call_later(
            self._seconds, self._check_reader, left
        )

    def _check_reader(self, left):
        if self.transport.get_write_buffer_size() < left:
            self._wait_for_reader()
        else:
            # Closing would wait for the rest to be read.
            self.transport.abort()

    def _cancel(self, name):
        timer = getattr(self, name)
        if timer is not None:
            timer.cancel()
            setattr(self, name, None)
