"""Request errors: the client's exception classes by status code."""

from typing import Any

from keras_transformer.contract.status import Code, ServingError


class RequestError(ServingError):
    """A request that failed.

    Args:
        code: a `Code`: the server's, or the closest one.
        message: the server's message, or a description of the failure.
        where: the server and the requested model.
        status: the HTTP status; None over gRPC, or without an answer.
        retry_after: seconds that the server asks to wait; None: unspecified.

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
        """Makes errors picklable, so that processes can exchange them."""
        given = (self.code, self.message, self.where, self.status)
        return type(self), (*given, self.retry_after)


class InvalidRequestError(RequestError):
    """A request that can't succeed: invalid input or signature, or too large.

    HTTP 400 or 413; gRPC INVALID_ARGUMENT, FAILED_PRECONDITION, OUT_OF_RANGE.
    """


class NotFoundError(RequestError):
    """The server has no such model or version, HTTP 404, gRPC NOT_FOUND."""


class OverloadedError(RequestError):
    """Too many requests at once, HTTP 429, gRPC RESOURCE_EXHAUSTED.

    Was retried.
    """


class UnavailableError(RequestError):
    """Queues are full, or no server answers, HTTP 502, 503, gRPC UNAVAILABLE.

    Also raised if a connection is refused, or lost before the answer was
    complete. Was retried.
    """


class DeadlineError(RequestError):
    """The client's or the server's time limit passed (HTTP 408, 504)."""


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
    """Creates an error of the class that belongs to a code."""
    return _CLASSES.get(code, ServerFailedError)(code, message, *rest)


def deadline_error(where: str) -> DeadlineError:
    """Creates the error for a deadline of the client's own."""
    return DeadlineError(
        Code.DEADLINE_EXCEEDED, "no answer before the deadline", where
    )
