"""Recording: each REST request gets an answer, and an entry in log and metrics.

Here it is refused, too, for what is wrong before any endpoint is looked for:
its target, its method, its host.
"""

import asyncio
import re

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
from keras_transformer.serving.server import admission
from keras_transformer.serving.server.core import Core
from keras_transformer.serving.server.hosts import (
    AllowedHosts,
    is_foreign_form,
)
from keras_transformer.serving.server.json_text import to_json
from keras_transformer.serving.server.monitoring import Entry

# TensorFlow Serving answers 501 to others, and 400 or 404 to most of these.
_METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH")
_ALLOWED = "GET, HEAD, POST, OPTIONS"
# Statuses of requests of which not all is read.
_UNREAD = (408, 413)
# What a path, a query and a fragment are of: libevent, which TensorFlow Serving
# uses, refuses others. Source: RFC 3986, 3.3 to 3.5.
_CHARACTER = r"[\w.~!$&'()*+,;=:@/-]|%[0-9a-fA-F]{2}"
_PATH = re.compile(
    rf"(?:{_CHARACTER})*+(?:\?(?:{_CHARACTER}|\?)*+)?(?:#(?:{_CHARACTER}|\?)*+)?",
    re.ASCII,
)
# Characters of a target that are kept, as of names.
_SHOWN = 1000


class Recorder:
    """Middleware that counts and logs each request, and leaves none unanswered.

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
        method = scope["method"]
        state = scope["state"]
        client = scope.get("client")
        host, path = split_target(state["target"].decode("ascii", "replace"))
        entry = Entry(
            "REST",
            method=method[:_SHOWN],
            path=path[:_SHOWN],
            peer=client[0] if client else "",
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
            self._check(scope, host, path)
            app = _about_itself if path == "*" else self._app
            await app(scope, receive, record_and_send)
        # Whatever it is, the client gets an answer without a traceback.
        except (Exception, asyncio.CancelledError) as error:
            if entry.status is not None:
                raise
            if isinstance(error, asyncio.CancelledError):
                # The time that the server gives to those in flight is over.
                error = admission.server_stopping()
            response = error_response(Request(scope), error)
            await response(scope, receive, record_and_send)

    def _check(self, scope, host, path):
        """Refuses what no endpoint is to see."""
        method = scope["method"]
        if scope["state"]["crowded"]:
            raise admission.too_many_connections()
        headers = dict(scope["headers"])
        named = headers.get(b"host", b"").decode("latin-1")
        self._hosts.check(host or named)
        if method not in _METHODS:
            raise ServingError(
                Code.UNIMPLEMENTED, f"{method[:40]} is not implemented"
            )
        whole = path.startswith("/") and _PATH.fullmatch(path)
        if not whole and (method, path) != ("OPTIONS", "*"):
            raise malformed(method, path)
        if method == "POST" and is_foreign_form(headers, host or named):
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
    scheme, separator, rest = target.partition("://")
    if separator and scheme.lower() in ("http", "https"):
        end = min((rest + mark).index(mark) for mark in "/?#")
        host, target = rest[:end], rest[end:]
        if not target.startswith("/"):
            target = f"/{target}"
    if not target.lower().startswith("/v1/"):
        target = target.partition("?")[0]
    return host.rpartition("@")[2], target


async def _about_itself(scope, receive, send):
    """The answer to `OPTIONS *`, by which clients see that it is there."""
    await Response(status_code=204, headers={"allow": _ALLOWED})(
        scope, receive, send
    )


def malformed(method: str, path: str) -> ServingError:
    """The error of a request for what there can't be."""
    return invalid_argument(f"Malformed request: {method[:40]} {path[:_SHOWN]}")


def error_response(request: Request, error: BaseException) -> Response:
    """The answer to a request that failed, noted in its entry.

    Args:
        request: whose `state` has the `entry`.
        error: any.
    """
    error = as_serving_error(error)
    entry = request.state.entry
    entry.code, entry.error = error.code, error.message
    response = Response(
        error_body(error), error.http_status, media_type="application/json"
    )
    if error.http_status in _UNREAD or request.state.crowded:
        response.headers["connection"] = "close"
    return response


def error_body(error: ServingError) -> bytes:
    """The body of the answer to a request that failed."""
    return to_json({"error": error.message})
