"""TensorFlow Serving's REST API, as an ASGI application."""

import asyncio
import re
import urllib.parse

from google.protobuf.json_format import MessageToDict
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from tensorflow_serving.apis import get_model_metadata_pb2

from keras_transformer.contract.errors import (
    Code,
    ServingError,
    as_serving_error,
    invalid_argument,
)
from keras_transformer.serving.page.files import Page
from keras_transformer.serving.server.access_log import Entry
from keras_transformer.serving.server.batch_task import (
    client_gone,
    server_stopping,
)
from keras_transformer.serving.server.core import SIGNATURE_DEF, Core
from keras_transformer.serving.server.json_answer import error_body, to_json
from keras_transformer.serving.server.limits import Slots
from keras_transformer.serving.server.metrics import CONTENT_TYPE
from keras_transformer.serving.server.rest_predict import predict

METRICS_PATH = "/monitoring/prometheus/metrics"

_MODEL = r"(?:/([^/:]+))"
_VERSION = r"(?:/versions/(\d+)|/labels/([^/:]+))?"
_PREDICT = re.compile(
    rf"/v1/models{_MODEL}{_VERSION}:(classify|regress|predict)", re.I | re.A
)
_STATUS = re.compile(
    rf"/v1/models{_MODEL}?{_VERSION}(?:/(metadata))?", re.I | re.A
)
_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
_MAX_VERSION = 2**63 - 1


def rest_application(core: Core, page: bool = True) -> Starlette:
    """The application that answers on the REST port.

    Args:
        core: the parts that answer requests.
        page: whether there is a page for people at `/`.
    """
    api = _Api(core, Page(core.store.names) if page else None)
    return Starlette(
        routes=[
            Route(METRICS_PATH, api.metrics, methods=["GET"]),
            # Also what no route has, so that it is logged.
            Route("/{path:path}", api.answer, methods=_METHODS),
        ]
    )


class _Api:
    def __init__(self, core, page):
        self._core = core
        self._page = page
        self._slots = Slots(core.limits.max_requests)

    async def metrics(self, request: Request) -> Response:
        return Response(self._core.metrics.page(), media_type=CONTENT_TYPE)

    async def answer(self, request: Request) -> Response:
        """Answers anything, and logs that it did."""
        path = request.scope.get("raw_path", b"").decode("ascii", "replace")
        entry = Entry("REST", path=path)
        entry.peer = request.client.host if request.client else ""
        try:
            response = await self._route(request, path, entry)
        except asyncio.CancelledError:
            # The time that the server gives to those in flight is over.
            response = _error_response(server_stopping(), entry)
        # Whatever it is, the client gets an answer without a traceback.
        except Exception as error:
            response = _error_response(error, entry)
        entry.status = response.status_code
        entry.bytes_out = len(response.body)
        entry.end()
        self._core.record(entry)
        return response

    async def _route(self, request, path, entry):
        if self._page is not None:
            response = self._page.answer(request.method, path)
            if response is not None:
                entry.api = "Page"
                return response
        if not path.lower().startswith("/v1/"):
            raise ServingError(Code.NOT_FOUND, f"Not found: {path}")
        found = _PREDICT.fullmatch(path) if request.method == "POST" else None
        if found:
            return await self._predict(request, found, entry)
        found = _STATUS.fullmatch(path) if request.method == "GET" else None
        if not found:
            raise invalid_argument(
                f"Malformed request: {request.method} {path}"
            )
        return self._describe(found, entry)

    async def _predict(self, request, found, entry):
        name, version, label, method = found.groups()
        spec = _model_spec(name, version, label, entry)
        entry.api = method.capitalize()
        if method.lower() != "predict":
            raise ServingError(
                Code.UNIMPLEMENTED, f"{method} is not implemented"
            )
        with self._slots.one():
            body = await _body(request, self._core.limits, entry)
            return _json(await predict(self._core, request, spec, body, entry))

    def _describe(self, found, entry):
        name, version, label, metadata = found.groups()
        if not name:
            raise invalid_argument("Missing model name in request.")
        spec = _model_spec(name, version, label, entry)
        if metadata:
            entry.api = "GetModelMetadata"
            return _json(to_json(_metadata(self._core.metadata(*spec))))
        entry.api = "GetModelStatus"
        return _json(to_json(_as_dict(self._core.status(*spec))))


async def _body(request, limits, entry):
    """The whole body, if it comes in time and isn't too large."""
    parts = []
    try:
        async with asyncio.timeout(limits.receive_seconds):
            async for part in request.stream():
                entry.bytes_in += len(part)
                if entry.bytes_in > limits.max_request_bytes:
                    raise _TooLarge(limits.max_request_bytes)
                parts.append(part)
    except TimeoutError:
        raise _TooSlow(limits.receive_seconds) from None
    except ClientDisconnect:
        raise client_gone() from None
    return b"".join(parts)


class _TooLarge(ServingError):
    """HTTP has a status of its own, and gRPC refuses by itself."""

    http_status = 413

    def __init__(self, limit):
        super().__init__(
            Code.RESOURCE_EXHAUSTED,
            f"The request is larger than {limit} bytes",
        )


class _TooSlow(ServingError):
    http_status = 408

    def __init__(self, seconds):
        super().__init__(
            Code.DEADLINE_EXCEEDED,
            f"The request wasn't whole after {seconds:g} s",
        )


def _model_spec(name, version, label, entry):
    """Name, version and label, decoded."""
    entry.model = urllib.parse.unquote(name)
    if version is not None:
        entry.version = int(version) if len(version) < 20 else _MAX_VERSION + 1
        if entry.version > _MAX_VERSION:
            raise invalid_argument(
                f"Failed to convert version: {version[:40]} to numeric."
            )
    return entry.model, entry.version, urllib.parse.unquote(label or "")


def _metadata(response):
    signatures = get_model_metadata_pb2.SignatureDefMap()
    response.metadata[SIGNATURE_DEF].Unpack(signatures)
    return {
        "model_spec": _as_dict(response.model_spec),
        "metadata": {SIGNATURE_DEF: _as_dict(signatures)},
    }


def _as_dict(message):
    return MessageToDict(
        message,
        preserving_proto_field_name=True,
        always_print_fields_with_no_presence=True,
    )


def _json(body):
    return Response(body, media_type="application/json")


def _error_response(error, entry):
    error = as_serving_error(error)
    entry.code, entry.error = error.code, error.message
    response = _json(error_body(error))
    response.status_code = error.http_status
    if isinstance(error, _TooLarge | _TooSlow):
        # The rest of the body is never read.
        response.headers["connection"] = "close"
    return response
