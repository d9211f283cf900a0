"""Middleware of REST: refuses wrong requests, and records each one.

Refused is what is wrong before any endpoint is looked for: the target, the
method, the host. Under DNS rebinding the owner of a domain has it resolve to
this machine, so that a page of that domain may read the server's answers; its
requests name the domain as their host.
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
# Statuses of requests of which not all is read.
_UNREAD = (408, 413)
# Source: RFC 3986, 3.3 to 3.5. TensorFlow Serving refuses other targets, too.
_CHARACTER = r"[\w.~!$&'()*+,;=:@/-]|%[0-9a-fA-F]{2}"
_PATH = re.compile(
    rf"/(?:{_CHARACTER})*+(?:\?(?:{_CHARACTER}|\?)*+)?"
    rf"(?:#(?:{_CHARACTER}|\?)*+)?",
    re.ASCII,
)
# Port and brackets of an address are no part of the name.
_HOST = re.compile(r"\[([^\[\]]*)\](?::\d*)?|([^:\[\]]*)(?::\d*)?")
_NAME = re.compile(r"(\*?\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?|\*")
# Types of a form, which a page may send anywhere.
_FORMS = (
    "",
    "application/x-www-form-urlencoded",
    "multipart/form-data",
    "text/plain",
)
# Characters of a target and of a host that are kept.
_SHOWN, _HOST_SHOWN = 1000, 100


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
                    f"--allowed_hosts: {name[:_HOST_SHOWN]!r} is no name of a "
                    "host. Accepted: names such as translate.example.com, "
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
        if not match or (name and not self._accepts(name)):
            raise ServingError(
                Code.PERMISSION_DENIED,
                f"This server is not asked as {host[:_HOST_SHOWN]!r}. "
                "Accepted: addresses, localhost, and the names that "
                "--allowed_hosts has",
            )

    def _accepts(self, name):
        return _is_address(name) or any(
            _matches(name, allowed)
            for allowed in ("localhost", ".localhost", *self._names)
        )


def default_hosts(bound_to: str, host: str) -> tuple[str, ...]:
    """Names that are accepted where none are given.

    Args:
        bound_to: address that the server listens on.
        host: by which that was named.

    Returns:
        this machine's names, if only it can ask; otherwise any name, as those
        that the network has for this machine aren't known.
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
        hosts: that may be asked.
    """

    def __init__(self, app: ASGIApp, core: Core, hosts: AllowedHosts) -> None:
        self._app = app
        self._core = core
        self._hosts = hosts

    async def __call__(
        self, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Answers a request as the application does, and records it."""
        method, state = scope["method"], scope["state"]
        host, path = split_target(state["target"].decode("ascii", "replace"))
        entry = Entry(
            "REST",
            method=method[:_SHOWN],
            path=path[:_SHOWN],
            peer=(scope.get("client") or [""])[0],
        )
        # Names are matched as they are sent: one may hold an escaped slash.
        scope.update(path=path, state={**state, "entry": entry})
        is_scrape = path == METRICS_PATH and method in ("GET", "HEAD")

        async def record_and_send(message):
            if message["type"] == "http.response.start":
                entry.status = message["status"]
                length = dict(message["headers"]).get(b"content-length", 0)
                entry.bytes_out = int(length)
                if broken := scope["state"].get("broken"):
                    # It has been answered already.
                    entry.status = broken.http_status
                    entry.code, entry.error = broken.code, broken.message
                entry.end()
                if not is_scrape:
                    self._core.record(entry)
            await send(message)

        try:
            self._check(scope, host)
            await self._app(scope, receive, record_and_send)
        # Whatever it is, the client gets an answer without a traceback.
        except (Exception, asyncio.CancelledError) as error:
            if entry.status is not None:
                raise
            if isinstance(error, asyncio.CancelledError):
                # The time that the server gives to those in flight is over.
                error = admission.server_stopping()
            response = _error_response(Request(scope), error)
            await response(scope, receive, record_and_send)

    def _check(self, scope, host):
        """Refuses what no endpoint is to see."""
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
    """The host that a request's target names, and its path with the query.

    Of the API, the query is a part of what is asked for, as in TensorFlow
    Serving; of all else it is left out. Source: RFC 9112, 3.2.

    Args:
        target: as it was sent.

    Returns:
        "" for the host of what isn't absolute.
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
    """The error of a request for what there can't be."""
    return invalid_argument(f"Malformed request: {method[:40]} {path[:_SHOWN]}")


def error_body(error: ServingError) -> bytes:
    """The body of the answer to a request that failed."""
    return to_json({"error": error.message})


def _error_response(request, error):
    """The answer to a request that failed, noted in its entry."""
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
    """True if a page of another site sends what a form could.

    It gets no answer, but what it asks for would be computed. Before a script
    sends JSON the browser asks by a preflight request, which isn't allowed.
    """
    if b"origin" not in headers:
        return False  # It isn't a browser's.
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
