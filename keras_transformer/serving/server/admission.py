"""Admission: which requests are refused, and with which error.

A server that is full refuses in three ways: a request beyond `max_requests` of
its protocol by `RequestSlots.refuse_if_full` (HTTP 429), one whose body or
answer is too much beside the others' by `BytesInFlight` (429), and one whose
model's queue is full by `Batcher` (503).
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

# Bytes of each request that don't count among those in flight: a short one is
# taken while long ones fill the server.
_UNCOUNTED = 16384
# Ends of sentences, in UTF-8.
_ENDS = re.compile(r"[.!?]+(?=\s|\Z)|[\n\r]+|。|！|？|｡|।".encode())
# gRPC has 32 bits for the one in bytes, and for the other in milliseconds.
_MOST = {"max_request_bytes": 2**31 - 1, "receive_seconds": 10**6}


@dataclasses.dataclass(frozen=True)
class Limits:
    """Sizes above which a request is refused.

    Attributes:
        max_request_bytes: of a request's body.
        max_sentences: rows of a request: the size of any input's first axis;
            and sentences of a text, as its stops and lines tell.
        max_text_bytes: of one string, in UTF-8.
        max_requests: to predict that are in the server at once, each over
            REST and over gRPC; without batching, also those that wait for a
            worker.
        receive_seconds: within which a request has to arrive whole.
        timeout_seconds: within which a REST request is answered.
        max_values: of a JSON body: numbers, strings, lists and objects; and
            of a tensor of strings over gRPC.
        max_bytes_in_flight: of bodies and of answers' arrays in the server at
            once, each over REST and over gRPC; at least one of
            `max_request_bytes` is taken.
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
            ServingError: INVALID_ARGUMENT.
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
                continue  # Each has two bytes at least.
            most = max(len(_ENDS.findall(t)) for t in array.reshape(-1))
            if most > self.max_sentences:
                raise invalid_argument(
                    f"Input {name} has a text of {most} sentences; at most "
                    f"{self.max_sentences} are accepted"
                )


class RequestSlots:
    """Bounds the requests that are in the server at once, over one protocol.

    Args:
        count: of requests, at most.
    """

    def __init__(self, count: int) -> None:
        self._free = threading.BoundedSemaphore(count)

    @contextlib.contextmanager
    def refuse_if_full(self) -> Iterator[None]:
        """Takes a slot for the time of the block, if one is free.

        Raises:
            ServingError: RESOURCE_EXHAUSTED: none is free.
        """
        if not self._free.acquire(blocking=False):
            raise ServingError(Code.RESOURCE_EXHAUSTED, "Too many requests")
        try:
            yield
        finally:
            self._free.release()


class BytesInFlight:
    """Bounds the bytes of requests that are in the server at once.

    Args:
        limits: with `max_bytes_in_flight`.
    """

    def __init__(self, limits: Limits) -> None:
        self._free = max(limits.max_bytes_in_flight, limits.max_request_bytes)
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def one_body(self) -> Iterator[Callable[[int], None]]:
        """Counts the bytes of one request for the time of the block.

        Yields:
            `add(count)`, which raises a `ServingError`, RESOURCE_EXHAUSTED, if
            there is no capacity for so many more bytes.
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
    """Refuses an input of too many rows.

    Args:
        name: of the input.
        rows: the size of its first axis.
        limit: see `Limits.max_sentences`.

    Raises:
        ServingError: INVALID_ARGUMENT.
    """
    if rows > limit:
        raise invalid_argument(
            f"Input {name} has {rows} rows; at most {limit} are accepted"
        )


def body_too_large(limit: int) -> ServingError:
    """The error of a body of more bytes; gRPC has its own."""
    message = f"The request is larger than {limit} bytes"
    return ServingError(Code.RESOURCE_EXHAUSTED, message, 413)


def deadline_exceeded() -> ServingError:
    """The error of a request that waited too long."""
    return ServingError(Code.DEADLINE_EXCEEDED, "Timed out")


def client_gone() -> ServingError:
    """The error of a request whose client doesn't wait for the answer."""
    return ServingError(Code.CANCELLED, "The client has gone")


def server_stopping() -> ServingError:
    """The error of a request that came, or is unanswered, at the end."""
    return ServingError(Code.UNAVAILABLE, "The server is stopping")
