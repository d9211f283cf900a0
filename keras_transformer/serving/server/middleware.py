"""Middleware of REST: refuses invalid requests, and records all requests.

Targets, methods and hosts are checked before routing. The check of the host
prevents DNS rebinding: the owner of a domain makes it resolve to this machine,
so that a page of that domain could read the server's answers; its requests have
the domain as their host.
"""

import asyncio
import ipaddress
import re
import socket
from collections.abc import Iterable

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from keras_transformer.contract.layout import METRICS_PATH
from keras_transformer.contract.status import (
    Code,
    ServingError,
    as_serving_error,
    invalid_argument,
)
from keras_transformer.errors import InputError
from keras_transformer.serving.server import admission
from keras_transformer.serving.server.core import Core
from keras_transformer.serving.server.json_text import to_json
from keras_transformer.serving.server.monitoring import Entry

# TensorFlow Serving answers 501 to others, and 400 or 404 to most of these.
METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH")
# Statuses of requests whose bodies aren't read completely.
_UNREAD = (408, 413)
# Source: RFC 3986, 3.3 to 3.5. TensorFlow Serving refuses other targets, too.
_CHARACTER = r"[\w.~!$&'()*+,;=:@/-]|%[0-9a-fA-F]{2}"
_PATH = re.compile(
    rf"/(?:{_CHARACTER})*+(?:\?(?:{_CHARACTER}|\?)*+)?"
    rf"(?:#(?:{_CHARACTER}|\?)*+)?",
    re.ASCII,
)
# The name is without the port and the brackets of an address.
_HOST = re.compile(r"\[([^\[\]]*)\](?::\d*)?|([^:\[\]]*)(?::\d*)?")
_NAME = re.compile(r"(\*?\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?|\*")
# Content types of forms, which pages may send to other sites.
_FORMS = (
    "",
    "application/x-www-form-urlencoded",
    "multipart/form-data",
    "text/plain",
)
# Characters kept of a target and of a host.
_SHOWN, _HOST_SHOWN = 1000, 100


class AllowedHosts:
    """Hosts that requests may name.

    Always accepted are addresses, as DNS can't redirect them, `localhost` and
    names below it, which mean this machine, and requests without a host, which
    browsers don't send.

    Args:
        names: accepted names, case-insensitive; ".example.com" and
            "*.example.com" match all names below example.com, "*" matches any
            name.

    Raises:
        InputError: a name isn't a valid host name.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = [name.strip().lower() for name in names]
        for name in self._names:
            if not (_NAME.fullmatch(name) or _is_address(name)):
                raise InputError(
                    f"--allowed_hosts: {name[:_HOST_SHOWN]!r} is no name of a "
                    "host. Accepted: names such as translate.example.com, "
                    ".example.com for all below it, or *, without scheme and "
                    "port, separated by commas"
                )

    def check(self, host: str) -> None:
        """Refuses a request for another host.

        Args:
            host: the header `Host`, with or without a port.

        Raises:
            ServingError: PERMISSION_DENIED: the host isn't accepted.
        """
        match = _HOST.fullmatch(host)
        name = (match[1] or match[2] or "") if match else host
        name = name.lower().removesuffix(".")
        if not match or (name and not self._accepts(name)):
            raise ServingError(
                Code.PERMISSION_DENIED,
                f"The host {host[:_HOST_SHOWN]!r} is not allowed. "
                "Accepted: addresses, localhost, and the names that "
                "--allowed_hosts has",
            )

    def _accepts(self, name):
        return _is_address(name) or any(
            _matches(name, allowed)
            for allowed in ("localhost", ".localhost", *self._names)
        )


def default_hosts(bound_to: str, host: str) -> tuple[str, ...]:
    """Returns the accepted hosts if none are configured.

    Args:
        bound_to: address that the server listens on.
        host: name or address that `bound_to` was resolved from.

    Returns:
        this machine's names, if only this machine can connect; otherwise any
        name, as the network's names for this machine aren't known.
    """
    if not ipaddress.ip_address(bound_to.partition("%")[0]).is_loopback:
        return ("*",)
    names = {host, socket.gethostname(), socket.gethostname().split(".")[0]}
    return tuple(sorted(n for n in names if _NAME.fullmatch(n.lower())))


class Middleware:
    """Middleware that counts and logs each request, and answers all errors.

    Args:
        app: the next application.
        core: the parts that answer requests.
        hosts: the hosts that requests may name.
    """

    def __init__(self, app: ASGIApp, core: Core, hosts: AllowedHosts) -> None:
        self._app = app
        self._core = core
        self._hosts = hosts

    async def __call__(
        self, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Passes a request to the application, and records it."""
        method, state = scope["method"], scope["state"]
        host, path = split_target(state["target"].decode("ascii", "replace"))
        entry = Entry(
            "REST",
            method=method[:_SHOWN],
            path=path[:_SHOWN],
            peer=(scope.get("client") or [""])[0],
        )
        # Paths are matched unescaped, as a name may have an escaped slash.
        scope.update(path=path, state={**state, "entry": entry})
        is_scrape = path == METRICS_PATH and method in ("GET", "HEAD")

        async def record_and_send(message):
            if message["type"] == "http.response.start":
                entry.status = message["status"]
                length = dict(message["headers"]).get(b"content-length", 0)
                entry.bytes_out = int(length)
                if broken := scope["state"].get("broken"):
                    # The protocol has answered the request already.
                    entry.status = broken.http_status
                    entry.code, entry.error = broken.code, broken.message
                entry.end()
                if not is_scrape:
                    self._core.record(entry)
            await send(message)

        try:
            self._check(scope, host)
            await self._app(scope, receive, record_and_send)
        # The client gets an answer without a traceback for any error.
        except (Exception, asyncio.CancelledError) as error:
            if entry.status is not None:
                raise
            if isinstance(error, asyncio.CancelledError):
                # The time for requests in flight of a stopping server is over.
                error = admission.server_stopping()
            response = _error_response(Request(scope), error)
            await response(scope, receive, record_and_send)

    def _check(self, scope, host):
        """Refuses requests with an invalid host, method or target."""
        method, path = scope["method"], scope["path"]
        headers = {k: v.decode("latin-1").lower() for k, v in scope["headers"]}
        host = host or headers.get(b"host", "")
        self._hosts.check(host)
        if method not in METHODS:
            raise ServingError(
                Code.UNIMPLEMENTED, f"{method[:40]} is not implemented"
            )
        if not _PATH.fullmatch(path):
            raise malformed(method, path)
        if method == "POST" and _is_foreign_form(headers, host):
            raise ServingError(
                Code.PERMISSION_DENIED,
                "Forms of other sites are not answered. Accepted: "
                "Content-Type: application/json",
            )


def split_target(target: str) -> tuple[str, str]:
    """Splits a request's target into host and path.

    Paths of the API keep their query, as in TensorFlow Serving; other paths
    lose it. Source: RFC 9112, 3.2.

    Args:
        target: the target as it was sent.

    Returns:
        host and path; the host is "" if the target isn't absolute.
    """
    host = ""
    absolute = re.match(r"https?://([^/?#]*)", target, re.IGNORECASE)
    if absolute:
        host, target = absolute[1], target[absolute.end() :]
        if not target.startswith("/"):
            target = f"/{target}"
    if not target.lower().startswith("/v1/"):
        target = target.partition("?")[0]
    return host.rpartition("@")[2], target


def malformed(method: str, path: str) -> ServingError:
    """Creates the error of a request with an invalid path or method."""
    return invalid_argument(f"Malformed request: {method[:40]} {path[:_SHOWN]}")


def error_body(error: ServingError) -> bytes:
    """Writes the body of the answer to a failed request."""
    return to_json({"error": error.message})


def _error_response(request, error):
    """Creates the answer to a failed request, and adds it to the entry."""
    error = as_serving_error(error)
    entry = request.state.entry
    entry.code, entry.error = error.code, error.message
    response = Response(
        error_body(error), error.http_status, media_type="application/json"
    )
    if error.http_status in _UNREAD:
        response.headers["connection"] = "close"
    return response


def _is_foreign_form(headers, host):
    """True if a page of another site sends a form.

    The page couldn't read the answer, but the server would compute it. Scripts
    that send JSON need a preflight request, which isn't allowed.
    """
    if b"origin" not in headers:
        return False  # Browsers send it with every POST.
    own = headers[b"origin"].partition("://")[2] == host.lower()
    kind = headers.get(b"content-type", "").partition(";")[0].strip()
    return not own and kind in _FORMS


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
