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

from keras_transformer.contract.layout import BEAM
from keras_transformer.contract.status import (
    Code,
    ServingError,
    as_serving_error,
    invalid_argument,
)
from keras_transformer.serving.page.files import Page
from keras_transformer.serving.server.admission import (
    RequestSlots,
    client_gone,
    deadline_exceeded,
    server_stopping,
)
from keras_transformer.serving.server.core import SIGNATURE_DEF, Core
from keras_transformer.serving.server.json_tensors import (
    parse_body,
    predict_body,
    read_inputs,
    to_json,
)
from keras_transformer.serving.server.monitoring import CONTENT_TYPE, Entry
from keras_transformer.serving.server.signature_tensors import count_rows

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
# Bytes whose reading or writing as JSON would hold up other requests.
_LARGE = 65536


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
        self._slots = RequestSlots(core.limits.max_requests)

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
        with self._slots.slot_or_refuse():
            body = await _body(request, self._core.limits, entry)
            return _json(await _predict(self._core, request, spec, body, entry))

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
    response = _json(to_json({"error": error.message}))
    response.status_code = error.http_status
    if isinstance(error, _TooLarge | _TooSlow):
        # The rest of the body is never read.
        response.headers["connection"] = "close"
    return response


async def _predict(
    core: Core, request: Request, spec: tuple, body: bytes, entry: Entry
) -> bytes:
    """Answers a request to predict.

    Args:
        core: the parts that answer requests.
        request: to see whether the client goes away.
        spec: name, version or None, label or "".
        body: whole.
        entry: of the log; filled in.

    Returns:
        the body of the answer.

    Raises:
        ServingError: the request is wrong, refused or too late.
    """
    size = len(body)
    document = await _call(size, parse_body, body)
    handle = core.store.acquire(*spec)
    try:
        entry.version = handle.servable.version
        signature = document.get("signature_name") or BEAM
        entry.signature = signature
        inputs, by_rows = await _call(
            size, read_inputs, document, _definition(handle, signature)
        )
    except BaseException:
        handle.release()
        raise
    entry.rows = count_rows(inputs)
    if core.log.with_text:
        entry.text = {
            key: document[key]
            for key in ("instances", "inputs")
            if key in document
        }
    seconds = core.limits.timeout_seconds
    future = core.submit(handle, signature, inputs, (), seconds)
    outputs = await _wait(future, request, seconds)
    size = sum(array.nbytes for array in outputs.values())
    return await _call(size, predict_body, outputs, by_rows)


def _definition(handle, name):
    if name not in handle.servable.signatures:
        # gRPC has other words and another code for it.
        raise ServingError(
            Code.INVALID_ARGUMENT,
            f'Serving signature name: "{name}" not found in signature def',
        )
    return handle.servable.signatures[name]


async def _call(size, function, *arguments):
    """Calls a function, in a thread if there are so many bytes to it."""
    if size < _LARGE:
        return function(*arguments)
    return await asyncio.to_thread(function, *arguments)


async def _wait(future, request, seconds):
    """The outputs; gives up when time is over or the client has gone."""
    answer = asyncio.wrap_future(future)
    gone = asyncio.ensure_future(_disconnected(request))
    try:
        done, _ = await asyncio.wait(
            {answer, gone},
            timeout=seconds,
            return_when=asyncio.FIRST_COMPLETED,
        )
        if answer in done:
            return answer.result()
        if gone in done:
            raise client_gone()
        raise deadline_exceeded()
    finally:
        # Drops the request from its queue, if it is still there.
        answer.cancel()
        gone.cancel()


async def _disconnected(request):
    while (await request.receive())["type"] != "http.disconnect":
        pass
