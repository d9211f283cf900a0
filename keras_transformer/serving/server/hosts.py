"""Hosts: the names by which the server may be asked, and by whose pages.

A browser lets a page ask its own site only. Yet who owns a name decides what
address it has: a page of such a name may ask a server on this machine under
it (DNS rebinding), and then reads the answers. Its requests name its own host,
which nobody but its owner would.
"""

import ipaddress
import re
import socket
from collections.abc import Iterable

from keras_transformer.contract.status import Code, ServingError
from keras_transformer.errors import InputError

# Port and brackets of an address are no part of the name.
_HOST = re.compile(r"\[([^\[\]]*)\](?::\d*)?|([^:\[\]]*)(?::\d*)?")
_NAME = re.compile(r"(\*?\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?|\*")
# What a form can send, or a script without being asked about.
_FORMS = (
    "",
    "application/x-www-form-urlencoded",
    "multipart/form-data",
    "text/plain",
)
_SHOWN = 100


class AllowedHosts:
    """Hosts that requests may name.

    Addresses can't be made to mean another machine, and `localhost` and names
    below it mean this one: they are always accepted, and so is a request that
    names no host, as no browser sends it.

    Args:
        names: accepted, in any case; ".example.com" and "*.example.com" are
            all names below it, "*" is any name.

    Raises:
        InputError: one is no name of a host.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = [name.strip().lower() for name in names]
        for name in self._names:
            if not (_NAME.fullmatch(name) or _is_address(name)):
                raise InputError(
                    f"--allowed_hosts: {name[:_SHOWN]!r} is no name of a host. "
                    "Accepted: names such as translate.example.com, "
                    ".example.com for all below it, or *, without scheme and "
                    "port, separated by commas"
                )

    def check(self, host: str) -> None:
        """Refuses a request for another host.

        Args:
            host: as in the header `Host`, with or without a port.

        Raises:
            ServingError: PERMISSION_DENIED.
        """
        match = _HOST.fullmatch(host)
        name = (match[1] or match[2] or "") if match else host
        name = name.lower().removesuffix(".")
        if match and (not name or self._accepts(name)):
            return
        raise ServingError(
            Code.PERMISSION_DENIED,
            f"This server is not asked as {host[:_SHOWN]!r}. Accepted: "
            "addresses, localhost, and the names that --allowed_hosts has",
        )

    def _accepts(self, name):
        return (
            name == "localhost"
            or name.endswith(".localhost")
            or _is_address(name)
            or any(_matches(name, allowed) for allowed in self._names)
        )


def default_hosts(bound_to: str, host: str) -> tuple[str, ...]:
    """Names that are accepted where none are given.

    Args:
        bound_to: address that the server listens on.
        host: by which that was named.

    Returns:
        this machine's names, if nobody else can ask; otherwise any name, as
        those that the network has for this machine aren't known.
    """
    address = ipaddress.ip_address(bound_to.partition("%")[0])
    if not address.is_loopback:
        return ("*",)
    names = {host, socket.gethostname(), socket.gethostname().split(".")[0]}
    return tuple(sorted(n for n in names if _NAME.fullmatch(n.lower())))


def is_foreign_form(headers: dict, host: str) -> bool:
    """Whether a page of another site sends what a form could.

    It gets no answer, but what it asks for would be computed. A script's JSON
    is another thing: browsers ask beforehand, and who allows it is a proxy.

    Args:
        headers: bytes by name in lower case.
        host: that the request names.
    """
    if b"origin" not in headers:
        return False  # It isn't a browser's.
    origin = headers[b"origin"].decode("latin-1").lower()
    kind = headers.get(b"content-type", b"").decode("latin-1").lower()
    own = origin.partition("://")[2] == host.lower()
    return not own and kind.partition(";")[0].strip() in _FORMS


def _matches(name, allowed):
    allowed = allowed.removesuffix(".")
    if allowed.startswith(("*.", ".")):
        return name.endswith(allowed.removeprefix("*"))
    return allowed in ("*", name)


def _is_address(name):
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
