"""Request errors: the classes that the client raises, by status code."""

from typing import Any

from keras_transformer.contract.status import Code, ServingError


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
    ) -> None:
        super().__init__(code, message)
        self.where = where
        self.status = status
        self.retry_after = retry_after

    def __str__(self) -> str:
        status = [str(self.status)] if self.status else []
        answered = " ".join([*status, self.code.name])
        return f"{self.where}: {answered}: {self.message}"

    def __reduce__(self) -> tuple:
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
    """Queues are full, or no server answers, HTTP 502, 503, gRPC UNAVAILABLE.

    Also a connection that is refused, or lost before the answer was complete.
    Was retried.
    """


class DeadlineError(RequestError):
    """Time was over, the client's or the server's (HTTP 408, 504)."""


class ServerFailedError(RequestError):
    """Any other failure: HTTP 500, an unreadable answer or one too long."""


_CLASSES = {
    Code.INVALID_ARGUMENT: InvalidRequestError,
    Code.FAILED_PRECONDITION: InvalidRequestError,
    Code.OUT_OF_RANGE: InvalidRequestError,
    Code.NOT_FOUND: NotFoundError,
    Code.RESOURCE_EXHAUSTED: OverloadedError,
    Code.UNAVAILABLE: UnavailableError,
    Code.DEADLINE_EXCEEDED: DeadlineError,
}


def request_error(code: Code, message: str, *rest: Any) -> RequestError:
    """The error of the class that belongs to a code."""
    return _CLASSES.get(code, ServerFailedError)(code, message, *rest)


def deadline_error(where: str) -> DeadlineError:
    """The error of a client whose own time is over."""
    return DeadlineError(
        Code.DEADLINE_EXCEEDED, "no answer before the deadline", where
    )
