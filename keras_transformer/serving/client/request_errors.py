"""Request errors, and the exponential backoff between retries."""

import dataclasses
import random
import time
from collections.abc import Callable

from keras_transformer.contract.status import Code, ServingError
from keras_transformer.errors import InputError


class RequestError(ServingError):
    """A request that failed.

    Args:
        code: a `Code`: the server's, or the one that fits.
        message: what the server answered, or what happened instead.
        where: the server and what was asked of it.
        status: of the HTTP answer; None over gRPC, or without an answer.
        retry_after: seconds that the server asks to wait; None: it doesn't
            say.

    Attributes:
        code, message, where, status, retry_after: as given.
    """

    def __init__(
        self,
        code: Code,
        message: str,
        where: str = "",
        status: int | None = None,
        retry_after: float | None = None,
    ):
        super().__init__(code, message)
        self.where = where
        self.status = status
        self.retry_after = retry_after

    def __str__(self):
        answered = [str(self.status)] if self.status else []
        answered = " ".join([*answered, self.code.name])
        return f"{self.where}: {answered}: {self.message}"

    def __reduce__(self):
        """Processes hand errors on to each other."""
        given = (self.code, self.message, self.where, self.status)
        return type(self), (*given, self.retry_after)


class InvalidRequestError(RequestError):
    """The same request can't succeed: a wrong input or signature, or too much.

    HTTP 400 or 413; gRPC INVALID_ARGUMENT, FAILED_PRECONDITION, OUT_OF_RANGE.
    """


class NotFoundError(RequestError):
    """The server has no such model or version, HTTP 404, gRPC NOT_FOUND."""


class OverloadedError(RequestError):
    """Too much at once, HTTP 429, gRPC RESOURCE_EXHAUSTED; was retried."""


class UnavailableError(RequestError):
    """Queues are full, or nobody answers, HTTP 503, gRPC UNAVAILABLE.

    Also a connection that is refused, or lost before the answer was complete.
    Was retried.
    """


class DeadlineError(RequestError):
    """Time was over, the client's or the server's (HTTP 408, 504)."""


class ServerFailedError(RequestError):
    """Any other failure, such as HTTP 500, or an unreadable answer."""


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

    def __post_init__(self):
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value < 0:
                raise InputError(
                    f"{field.name} must be 0 or more. Received: {value}"
                )

    def seconds(self, attempt: int, at_least: float | None = None) -> float:
        """How long to wait.

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
        send: Callable,
        deadline: float,
        sleep: Callable[[float], object] = time.sleep,
    ):
        """Sends until it succeeds.

        Only what may pass is tried again: an overload (HTTP 429, gRPC
        RESOURCE_EXHAUSTED), and nobody there to answer (503, UNAVAILABLE, a
        lost connection). A request to translate changes nothing on the
        server, so that a retry does no harm.

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


_CLASSES = {
    Code.INVALID_ARGUMENT: InvalidRequestError,
    Code.FAILED_PRECONDITION: InvalidRequestError,
    Code.OUT_OF_RANGE: InvalidRequestError,
    Code.NOT_FOUND: NotFoundError,
    Code.RESOURCE_EXHAUSTED: OverloadedError,
    Code.UNAVAILABLE: UnavailableError,
    Code.DEADLINE_EXCEEDED: DeadlineError,
}


def request_error(code: Code, message: str, *rest) -> RequestError:
    """The error of the class that belongs to a code."""
    return _CLASSES.get(code, ServerFailedError)(code, message, *rest)


def deadline_error(where: str) -> DeadlineError:
    """The error of a client whose own time is over."""
    return DeadlineError(
        Code.DEADLINE_EXCEEDED, "no answer before the deadline", where
    )
