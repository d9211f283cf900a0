"""Exponential backoff between the retries of a request."""

import dataclasses
import random
import time
from collections.abc import Callable
from typing import TypeVar

from keras_transformer.errors import InputError
from keras_transformer.serving.client.request_errors import (
    OverloadedError,
    UnavailableError,
)

T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class Backoff:
    """Exponential backoff with jitter: half of each wait is random.

    Jitter keeps clients that were refused at the same time from retrying at the
    same time.

    Attributes:
        first_seconds: maximum of the first wait; it doubles with each retry.
        longest_seconds: maximum of any wait, unless the server asks for more.
        retries: number of retries after the first attempt; 0: none.
    """

    first_seconds: float = 0.1
    longest_seconds: float = 5.0
    retries: int = 8

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if not value >= 0:  # Also refuses NaN.
                raise InputError(
                    f"{field.name} must be 0 or more. Received: {value}"
                )

    def seconds(self, attempt: int, at_least: float | None = None) -> float:
        """Returns the seconds to wait before the next attempt.

        Args:
            attempt: number of failures before the latest one.
            at_least: the wait that the server asks for, in seconds.
        """
        most = min(
            self.longest_seconds, self.first_seconds * 2.0 ** min(attempt, 99)
        )
        return max(at_least or 0.0, random.uniform(most / 2, most))

    def attempts(
        self,
        send: Callable[[], T],
        deadline: float,
        sleep: Callable[[float], object] = time.sleep,
    ) -> T:
        """Calls `send` until it succeeds.

        Only transient errors are retried: an overload (HTTP 429, gRPC
        RESOURCE_EXHAUSTED) and an unavailable server (502, 503, UNAVAILABLE, a
        lost connection). Requests to translate have no side effects, so
        retries are safe.

        Args:
            send: function without arguments that raises a `RequestError` if
                it fails.
            deadline: time in seconds, as of `time.monotonic`; there is no retry
                after it.
            sleep: function that waits for a number of seconds.

        Returns:
            the result of `send`.

        Raises:
            RequestError: the error of the last attempt.
        """
        attempt = 0
        while True:
            try:
                return send()
            except (OverloadedError, UnavailableError) as error:
                wait = self.seconds(attempt, error.retry_after)
                too_late = time.monotonic() + wait >= deadline
                if attempt >= self.retries or too_late:
                    raise
            sleep(wait)
            attempt += 1
