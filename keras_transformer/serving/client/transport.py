"""Transports: targets of a client's requests, and the sending interface."""

import dataclasses
import urllib.parse
from typing import NamedTuple, Protocol

from keras_transformer.errors import InputError, shown

# By scheme: whether it is encrypted, and its default port.
_SCHEMES = {
    "http": (False, 8501),
    "https": (True, 443),
    "grpc": (False, 8500),
    "grpcs": (True, 443),
}
# Maximum of a wait that a server asks for, in seconds: longer than any call.
LONGEST_WAIT = 86_400.0
# Limits of an answer's bytes: in total at least, and for each text. "align"
# needs most, as it has a number for each pair of tokens: with 512 tokens in the
# text and in its translation, JSON has at most 4 MiB.
_LEAST_READ = 64 * 2**20
_READ_FOR_A_TEXT = 4 * 2**20
_ACCEPTED = (
    "Accepted: http://HOST:8501, https://HOST, grpc://HOST:8500 or grpcs://HOST"
)


@dataclasses.dataclass(frozen=True)
class Target:
    """A model on a server.

    Attributes:
        scheme: "http", "https", "grpc" or "grpcs".
        host: name or address, without brackets.
        port: port number.
        path: prefix of `/v1`, for a server behind a proxy; "" for none.
        model: the model's name.
        version: number of a version; None: the label's or the latest.
        label: label of a version; "" for none.
    """

    scheme: str
    host: str
    port: int
    path: str
    model: str
    version: int | None = None
    label: str = ""

    @property
    def encrypted(self) -> bool:
        """True if the connection uses TLS."""
        return _SCHEMES[self.scheme][0]

    @property
    def address(self) -> str:
        """`host:port`, with brackets around an IPv6 address."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    def __str__(self) -> str:
        which = f" version {self.version}" if self.version is not None else ""
        which = f" label {self.label}" if self.label else which
        return (
            f"{self.scheme}://{self.address}{self.path}, "
            f"model {self.model}{which}"
        )


class VersionStatus(NamedTuple):
    """Status of one version on a server.

    Attributes:
        version: its number.
        state: "START", "LOADING", "AVAILABLE", "UNLOADING" or "END".
        message: why it isn't available; "" if there is no error.
    """

    version: int
    state: str
    message: str


def longest_answer(texts: int) -> int:
    """Returns the limit of an answer's bytes after decompression.

    Longer answers are refused, so that a broken server can't exhaust a client's
    memory with an endless or a highly compressed answer.

    Args:
        texts: number of texts in the request.
    """
    return max(_LEAST_READ, texts * _READ_FOR_A_TEXT)


class Transport(Protocol):
    """Sends single requests. Thread-safe."""

    def predict(
        self, signature: str, inputs: dict, deadline: float
    ) -> dict[str, list]:
        """Runs a signature; returns its outputs as nested lists by name.

        Args:
            signature: the signature's name.
            inputs: lists of str by name, all of the same length.
            deadline: time in seconds, as of `time.monotonic`.

        Raises:
            RequestError: the request failed.
        """

    def versions(self, deadline: float) -> list[VersionStatus]:
        """Returns the status of the model's versions; see `predict`."""

    def close(self) -> None:
        """Closes all connections."""


def seconds_of(text: str | None, parts: int = 1) -> float | None:
    """Parses the time that a server asks to wait.

    Args:
        text: the header's value; None: there is no header.
        parts: number of the value's units in a second.

    Returns:
        seconds, at most `LONGEST_WAIT`; None if `text` is None or isn't a
        number of ASCII digits.
    """
    digits = (text or "").strip()
    if not (digits.isascii() and digits.isdecimal()):
        return None
    return min(float(digits) / parts, LONGEST_WAIT)


def parse_target(
    url: str, model: str, version: int | None = None, label: str | None = None
) -> Target:
    """Parses a URL to the target of a model.

    Args:
        url: scheme, host, and port unless it is the default one.
        model: the model's name.
        version: number of a version.
        label: label of a version.

    Raises:
        InputError: an argument is invalid.
    """
    if version is not None and label:
        raise InputError(
            f"either a version or a label. Received: version {version} and "
            f"label {label!r}"
        )
    for name in (model, label or ""):
        if name.encode("utf-8", "replace").decode() != name:
            raise InputError(f"a name that isn't UTF-8: {shown(name)}")
    if not model:
        raise InputError("the model's name is empty")
    if version is not None and not 0 <= version < 2**63:
        raise InputError(f"a version takes 0 to 2^63 - 1. Received: {version}")
    try:
        parts = urllib.parse.urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise InputError(f"{url!r}: {error}. {_ACCEPTED}") from None
    path = parts.path.rstrip("/")
    unknown = parts.username or parts.query or parts.fragment
    if parts.scheme not in _SCHEMES or not parts.hostname or unknown:
        raise InputError(f"{url!r} is not a server's URL. {_ACCEPTED}")
    if path and parts.scheme.startswith("grpc"):
        raise InputError(f"{url!r}: gRPC has no path. {_ACCEPTED}")
    if port is None:
        port = _SCHEMES[parts.scheme][1]
    where = (parts.scheme, parts.hostname, port, path)
    return Target(*where, model, version, label or "")
