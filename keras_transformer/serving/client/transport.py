"""Transports: where a client's requests go, and what sends them."""

import dataclasses
import urllib.parse
from typing import NamedTuple, Protocol

from keras_transformer.errors import InputError, shown

# The scheme, whether it is encrypted, and TensorFlow Serving's usual port.
_SCHEMES = {
    "http": (False, 8501),
    "https": (True, 443),
    "grpc": (False, 8500),
    "grpcs": (True, 443),
}
# Of what a server asks for, in seconds: a day is longer than any call.
LONGEST_WAIT = 86_400.0
# Bytes of an answer: what is read in any case, and for each text. Most take
# "align" of long texts, which has a number for each two tokens: of a text with
# 512 tokens, and the translation as many, JSON has at most 4 MiB.
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
        port: its number.
        path: in front of `/v1`, for a server behind a proxy; "" for none.
        model: its name.
        version: its number; None: the label's or the latest.
        label: of a version; "" for none.
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
        """`host:port`, with brackets around an address of IPv6."""
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
        message: why it isn't available; "" if all is well.
    """

    version: int
    state: str
    message: str


def longest_answer(texts: int) -> int:
    """Bytes that are read of an answer; one with more is refused.

    They count once it is decompressed. So a broken server can't fill the memory
    of its clients by an answer that never ends, or that gzip has made small.

    Args:
        texts: in the request.
    """
    return max(_LEAST_READ, texts * _READ_FOR_A_TEXT)


class Transport(Protocol):
    """Sends single requests, from any number of threads."""

    def predict(
        self, signature: str, inputs: dict, deadline: float
    ) -> dict[str, list]:
        """Outputs by name, nested lists, from inputs, lists of str.

        Args:
            signature: its name.
            inputs: lists of the same length, by name.
            deadline: of `time.monotonic`, seconds.

        Raises:
            RequestError: there is no good answer.
        """

    def versions(self, deadline: float) -> list[VersionStatus]:
        """The versions of the model; see `predict`."""

    def close(self) -> None:
        """Ends all connections."""


def seconds_of(text: str | None, parts: int = 1) -> float | None:
    """The time that a server asks to wait, in seconds.

    Args:
        text: what it says.
        parts: how many of its units are a second.

    Returns:
        at most `LONGEST_WAIT`; None: it doesn't say, or it is no number of
        ASCII's digits.
    """
    digits = (text or "").strip()
    if not (digits.isascii() and digits.isdecimal()):
        return None
    return min(float(digits) / parts, LONGEST_WAIT)


def parse_target(
    url: str, model: str, version: int | None = None, label: str | None = None
) -> Target:
    """The target of a URL.

    Args:
        url: scheme, host, and port unless it is the usual one.
        model: its name.
        version: its number.
        label: of a version.

    Raises:
        InputError: something isn't as accepted.
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
