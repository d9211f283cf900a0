"""Admission: limits of requests, and the errors of refused ones.

A server that is full refuses requests in three ways: `RequestSlots` those
beyond `max_requests` of their protocol (HTTP 429), `BytesInFlight` those whose
body or answer would exceed `max_bytes_in_flight` (429), and `Batcher` those
whose model's queue is full (503).
"""

import contextlib
import dataclasses
import re
import sys
import threading
from collections.abc import Callable, Iterator, Mapping

from keras_transformer.contract.status import (
    Code,
    ServingError,
    invalid_argument,
)
from keras_transformer.errors import InputError

# Bytes of each request that don't count as in flight, so that short requests
# are accepted while long ones fill the server.
_UNCOUNTED = 16384
# Ends of sentences in UTF-8.
_ENDS = re.compile(r"[.!?]+(?=\s|\Z)|[\n\r]+|。|！|？|｡|।".encode())
# gRPC has 32 bits for the first, and for the second in milliseconds.
_MOST = {"max_request_bytes": 2**31 - 1, "receive_seconds": 10**6}


@dataclasses.dataclass(frozen=True)
class Limits:
    """Limits above which a request is refused.

    Attributes:
        max_request_bytes: size of a request's body.
        max_sentences: rows of a request (the size of any input's first axis),
            and sentences of a text, counted by their punctuation and line
            ends.
        max_text_bytes: UTF-8 bytes of one string.
        max_requests: concurrent requests to predict, for REST and gRPC each;
            without batching, also the length of a queue.
        receive_seconds: time for a request to arrive completely.
        timeout_seconds: time for a REST request to be answered.
        max_values: numbers, strings, lists and objects of a JSON body, and
            elements of a tensor of strings over gRPC.
        max_bytes_in_flight: total bytes of concurrent bodies and answers'
            arrays, for REST and gRPC each; if less than `max_request_bytes`,
            that counts.
    """

    max_request_bytes: int = 4 * 2**20
    max_sentences: int = 1024
    max_text_bytes: int = 16384
    max_requests: int = 256
    receive_seconds: float = 10.0
    timeout_seconds: float = 30.0
    max_values: int = 2**17
    max_bytes_in_flight: int = 64 * 2**20

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            most = _MOST.get(field.name, sys.maxsize)
            if not 0 < value <= most:
                raise InputError(
                    f"{field.name} must be greater than 0 and at most {most}. "
                    f"Received: {value}"
                )

    def check(self, inputs: Mapping) -> None:
        """Refuses arrays that are too large.

        Args:
            inputs: arrays by name.

        Raises:
            ServingError: INVALID_ARGUMENT: an array is too large.
        """
        for name, array in inputs.items():
            check_rows(
                name, array.shape[0] if array.ndim else 1, self.max_sentences
            )
            if array.dtype != object or not array.size:
                continue
            longest = max(map(len, array.reshape(-1)))
            if longest > self.max_text_bytes:
                raise invalid_argument(
                    f"Input {name} has a text of {longest} bytes; at most "
                    f"{self.max_text_bytes} are accepted"
                )
            if longest <= 2 * self.max_sentences:
                continue  # A sentence has at least two bytes.
            most = max(len(_ENDS.findall(t)) for t in array.reshape(-1))
            if most > self.max_sentences:
                raise invalid_argument(
                    f"Input {name} has a text of {most} sentences; at most "
                    f"{self.max_sentences} are accepted"
                )


class RequestSlots:
    """Limits the number of concurrent requests over one protocol.

    Args:
        count: maximum number of requests.
    """

    def __init__(self, count: int) -> None:
        self._free = threading.BoundedSemaphore(count)

    @contextlib.contextmanager
    def refuse_if_full(self) -> Iterator[None]:
        """Occupies a slot for the duration of the block.

        Raises:
            ServingError: RESOURCE_EXHAUSTED: no slot is free.
        """
        if not self._free.acquire(blocking=False):
            raise ServingError(Code.RESOURCE_EXHAUSTED, "Too many requests")
        try:
            yield
        finally:
            self._free.release()


class BytesInFlight:
    """Limits the total bytes of concurrent requests.

    Args:
        limits: has `max_bytes_in_flight` and `max_request_bytes`.
    """

    def __init__(self, limits: Limits) -> None:
        self._free = max(limits.max_bytes_in_flight, limits.max_request_bytes)
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def one_body(self) -> Iterator[Callable[[int], None]]:
        """Counts the bytes of one request for the duration of the block.

        Yields:
            `add(count)`, which raises a `ServingError`, RESOURCE_EXHAUSTED, if
            `count` more bytes exceed the limit.
        """
        size = 0

        def add(count):
            nonlocal size
            more = max(0, size + count - _UNCOUNTED) - max(0, size - _UNCOUNTED)
            with self._lock:
                if more > self._free:
                    raise ServingError(
                        Code.RESOURCE_EXHAUSTED, "Too many bytes in requests"
                    )
                self._free -= more
            size += count

        try:
            yield add
        finally:
            with self._lock:
                self._free += max(0, size - _UNCOUNTED)


def check_rows(name: str, rows: int, limit: int) -> None:
    """Refuses an input with too many rows.

    Args:
        name: the input's name.
        rows: the size of its first axis.
        limit: see `Limits.max_sentences`.

    Raises:
        ServingError: INVALID_ARGUMENT: there are more than `limit` rows.
    """
    if rows > limit:
        raise invalid_argument(
            f"Input {name} has {rows} rows; at most {limit} are accepted"
        )


def body_too_large(limit: int) -> ServingError:
    """Creates the error of a body above the limit; gRPC has its own."""
    message = f"The request is larger than {limit} bytes"
    return ServingError(Code.RESOURCE_EXHAUSTED, message, 413)


def deadline_exceeded() -> ServingError:
    """Creates the error of a request that waited too long."""
    return ServingError(Code.DEADLINE_EXCEEDED, "Timed out")


def client_gone() -> ServingError:
    """Creates the error of a request whose client has disconnected."""
    return ServingError(Code.CANCELLED, "The client has gone")


def server_stopping() -> ServingError:
    """Creates the error of requests that a stopping server can't answer."""
    return ServingError(Code.UNAVAILABLE, "The server is stopping")
