"""Status codes, errors and version states of TensorFlow Serving's contract.

Shared by the server and the client. Doesn't need TensorFlow.
"""

import enum
import itertools
import re

from keras_transformer.errors import InputError

# Maximum bytes of an error's message. gRPC sends it in the answer's headers, of
# which clients accept 8 KiB, with three bytes for each that isn't ASCII.
LONGEST_MESSAGE = 2000


class Code(enum.IntEnum):
    """gRPC's canonical codes, which TensorFlow's errors share."""

    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


# As in TensorFlow Serving's http_server.cc; missing codes are 500.
_HTTP_OF_CODE = {
    Code.OK: 200,
    Code.INVALID_ARGUMENT: 400,
    Code.FAILED_PRECONDITION: 400,
    Code.OUT_OF_RANGE: 400,
    Code.UNAUTHENTICATED: 401,
    Code.PERMISSION_DENIED: 403,
    Code.NOT_FOUND: 404,
    Code.ALREADY_EXISTS: 409,
    Code.ABORTED: 409,
    Code.RESOURCE_EXHAUSTED: 429,
    Code.CANCELLED: 499,
    Code.UNIMPLEMENTED: 501,
    Code.UNAVAILABLE: 503,
    Code.DEADLINE_EXCEEDED: 504,
}
# By status, for clients. Includes the choice for statuses that several codes
# share, and statuses that only this package's server or proxies send.
_CODE_OF_HTTP = {
    **{status: code for code, status in reversed(_HTTP_OF_CODE.items())},
    408: Code.DEADLINE_EXCEEDED,
    409: Code.UNKNOWN,
    # Too large for the server, so a retry can't succeed.
    413: Code.INVALID_ARGUMENT,
    500: Code.INTERNAL,
    502: Code.UNAVAILABLE,  # From a proxy whose server restarts.
}


class VersionState(enum.IntEnum):
    """The states of a model's version, numbered as on the wire."""

    START = 10
    LOADING = 20
    AVAILABLE = 30
    UNLOADING = 40
    END = 50


class ServingError(Exception):
    """A request, or the loading of a version, failed.

    Args:
        code: a `Code`.
        message: one line for the client. It may be of any length and contain
            surrogates.
        http_status: status of an HTTP answer; None: the code's.

    Attributes:
        code, http_status: as given.
        message: valid and at most `LONGEST_MESSAGE` bytes, see `shortened`.
    """

    def __init__(
        self, code: Code, message: str, http_status: int | None = None
    ) -> None:
        message = shortened(message, LONGEST_MESSAGE)
        super().__init__(message)
        self.code = Code(code)
        self.message = message
        self.http_status = http_status or _HTTP_OF_CODE.get(self.code, 500)


def code_of_http(status: int) -> Code:
    """Returns the code of an HTTP status; UNKNOWN if it isn't listed."""
    return _CODE_OF_HTTP.get(status, Code.UNKNOWN)


def shortened(text: str, limit: int) -> str:
    """Returns a text as valid UTF-8, without its middle if it is long.

    Args:
        text: any text; surrogates stand for invalid UTF-8 and become U+FFFD.
        limit: maximum bytes in UTF-8, not counting the dots.
    """
    half = limit // 2
    if len(text) > limit:
        # Avoids encoding megabytes.
        text = f"{text[:limit]}{text[-limit:]}"
    try:
        data = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half of an escaped pair
        data = text.encode("utf-8", "replace")
    text = data.decode("utf-8", "replace")
    data = text.encode()
    if len(data) <= limit:
        return text
    ends = data[:half], data[-half:]
    return "...".join(end.decode("utf-8", "ignore") for end in ends)


def invalid_argument(message: str) -> ServingError:
    """Creates the error of a request that is invalid in any state."""
    return ServingError(Code.INVALID_ARGUMENT, message)


def as_serving_error(error: BaseException) -> ServingError:
    """Converts any exception to an error for clients, without a traceback.

    Args:
        error: a `ServingError`, an `InputError`, an error of TensorFlow's,
            or another.
    """
    if isinstance(error, ServingError):
        return error
    message = _first_line(error)
    if isinstance(error, InputError):
        return ServingError(Code.FAILED_PRECONDITION, message)
    code = getattr(error, "error_code", None)  # of tf.errors.OpError
    if isinstance(code, int):
        return ServingError(Code(code), message)
    if isinstance(error, MemoryError):
        return ServingError(Code.RESOURCE_EXHAUSTED, "out of memory")
    return ServingError(Code.INTERNAL, f"{type(error).__name__}: {message}")


def _first_line(error):
    """Returns the first line of a message, without nodes of the graph."""
    text = str(getattr(error, "message", error))
    text = re.sub(r"\{\{function_node [^{}]*\}\}", "", text).strip()
    lines = [line for line in text.splitlines() if line.strip()]
    for line, following in itertools.pairwise(lines):
        # In TensorFlow's errors, the node follows the operation's message.
        if following.strip().startswith("[[") and "{{node" in following:
            return line
    return lines[0] if lines else type(error).__name__
