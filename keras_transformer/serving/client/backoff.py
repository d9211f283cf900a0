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
    """Exponential backoff: waits that double, with half of each left to chance.

    Chance keeps clients that were refused together from coming back
    together.

    Attributes:
        first_seconds: the first wait, at most.
        longest_seconds: any wait, at most, unless the server asks for more.
        retries: after the first attempt; 0: none.
    """

    first_seconds: float = 0.1
    longest_seconds: float = 5.0
    retries: int = 8

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value < 0:
                raise InputError(
                    f"{field.name} must be 0 or more. Received: {value}"
                )

    def seconds(self, attempt: int, at_least: float | None = None) -> float:
        """Seconds to wait.

        Args:
            attempt: failures before this one.
            at_least: what the server asks for, in seconds.
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
        """Sends until it succeeds.

        Only what may pass is tried again: an overload (HTTP 429, gRPC
        RESOURCE_EXHAUSTED), and a server that isn't there (502, 503,
        UNAVAILABLE, a lost connection). A request to translate changes nothing
        on the server, so that a retry does no harm.

        Args:
            send: without arguments; raises a `RequestError`.
            deadline: of `time.monotonic`, seconds; a wait that would end
                later isn't begun.
            sleep: waits so many seconds.

        Returns:
            what `send` returned.

        Raises:
            RequestError: the last attempt's.
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
