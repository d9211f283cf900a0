"""REST API of TensorFlow Serving, as Starlette routes.

Paths are matched as they are sent. Requests are refused with a `ServingError`,
which `middleware` turns into the contract's answer.
"""

import asyncio
import re
import time
import urllib.parse
import zlib

from google.protobuf.json_format import MessageToDict
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route, Router
from tensorflow_serving.apis import get_model_metadata_pb2

from keras_transformer.contract.layout import (
    BEAM,
    METRICS_PATH,
    OPENAPI,
    OPENAPI_PATH,
)
from keras_transformer.contract.status import (
    Code,
    ServingError,
    invalid_argument,
)
from keras_transformer.serving.page.files import Page
from keras_transformer.serving.server import admission, json_tensors
from keras_transformer.serving.server.core import SIGNATURE_DEF, Core
from keras_transformer.serving.server.json_text import parse_body, to_json
from keras_transformer.serving.server.middleware import (
    METHODS,
    AllowedHosts,
    Middleware,
    malformed,
)
from keras_transformer.serving.server.monitoring import CONTENT_TYPE
from keras_transformer.serving.server.request_terms import annotated_inputs
from keras_transformer.serving.server.signature_tensors import count_rows
from keras_transformer.system.files import read_yaml

# Paths of the contract; names are still percent-encoded.
_MODEL = re.compile(
    r"/v1/models(?:/(?P<model>[^/:]+))?"
    r"(?:/versions/(?P<version>[0-9]+)|/labels/(?P<label>[^/:]+))?"
    r"(?:/(?P<about>metadata)|:(?P<method>classify|regress|predict))?",
    re.IGNORECASE,
)
_MAX_VERSION = 2**63 - 1
# Bytes of JSON whose parsing or writing would delay other requests.
_LARGE = 65536
# Commas in a shorter body that would do so, too.
_MANY = 4096


def rest_application(
    core: Core, hosts: AllowedHosts, page: bool = True
) -> Middleware:
    """Creates the application of the REST port.

    Args:
        core: the parts that answer requests.
        hosts: the hosts that requests may name.
        page: bool, whether to serve a web page at `/`.
    """
    files = Page(core.models) if page else None
    return Middleware(Router(_Api(core, files).routes()), core, hosts)


class _Api:
    """The endpoints, which add to `request.state.entry` what is requested."""

    def __init__(self, core, page):
        self._core = core
        self._page = page
        self._description = to_json(read_yaml(OPENAPI))
        self._slots = admission.RequestSlots(core.limits.max_requests)
        self._bytes = admission.BytesInFlight(core.limits)

    def routes(self):
        return [
            Route(METRICS_PATH, self.metrics),
            Route(OPENAPI_PATH, self.description),
            *(
                Route(p, self.page)
                for p in (self._page.paths if self._page else ())
            ),
            Route("/{path:path}", self.model, methods=METHODS),
        ]

    async def model(self, request: Request) -> Response:
        """Answers requests for a model, and refuses unknown paths."""
        path, entry = request.scope["path"], request.state.entry
        if not path.lower().startswith("/v1/"):
            raise ServingError(Code.NOT_FOUND, f"Not found: {path}")
        match = _MODEL.fullmatch(path)
        # As in TensorFlow Serving, paths match in any case, but methods must be
        # in lower case, and anything but "metadata" requests the status.
        method = match and match["method"]
        if not match or request.method != ("POST" if method else "GET"):
            raise malformed(request.method, path)
        if not match["model"]:
            if method:
                raise malformed(request.method, path)
            raise invalid_argument("Missing model name in request.")
        spec = _model_spec(match, entry)
        if match["about"] == "metadata":
            entry.api = "GetModelMetadata"
            return _json(to_json(_metadata(self._core.metadata(*spec))))
        if not method:
            entry.api = "GetModelStatus"
            return _json(to_json(_as_dict(self._core.status(*spec))))
        if not method.islower():
            raise malformed(request.method, path)
        entry.api = method.capitalize()
        if method != "predict":
            raise ServingError(
                Code.UNIMPLEMENTED, f"{method} is not implemented"
            )
        return await self.predict(request, spec)

    async def predict(self, request: Request, spec: tuple) -> Response:
        entry = request.state.entry
        # Checked before the body is read, and again after, so that slow clients
        # occupy no slot.
        with self._slots.refuse_if_full():
            pass
        with self._bytes.one_body() as count_bytes:
            body = await _body(request, self._core.limits, entry, count_bytes)
            with self._slots.refuse_if_full():
                arguments = self._core, request, spec, body, entry, count_bytes
                return _json(await _predict(*arguments))

    async def metrics(self, request: Request) -> Response:
        return Response(self._core.metrics.page(), media_type=CONTENT_TYPE)

    async def description(self, request: Request) -> Response:
        request.state.entry.api = "OpenAPI"
        return _json(self._description)

    async def page(self, request: Request) -> Response:
        request.state.entry.api = "Page"
        return self._page.answer(request.scope["path"], request.headers)


def _json(body):
    return Response(body, media_type="application/json")


def _model_spec(match, entry):
    """Returns name, version and label in a path; adds them to the entry."""
    entry.model = urllib.parse.unquote(match["model"])
    if match["version"]:
        digits = match["version"].lstrip("0") or "0"
        entry.version = int(digits) if len(digits) < 20 else _MAX_VERSION + 1
        if entry.version > _MAX_VERSION:
            raise invalid_argument(
                f"Failed to convert version: {match['version'][:40]} to "
                "numeric."
            )
    return (
        entry.model,
        entry.version,
        urllib.parse.unquote(match["label"] or ""),
    )


async def _body(request, limits, entry, count_bytes):
    """Reads the body and expands it, within the limits of time and size."""
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > limits.max_request_bytes:
        # Refused before the body is sent, for clients that expect 100-continue.
        raise admission.body_too_large(limits.max_request_bytes)
    encoding = request.headers.get("content-encoding", "").lower()
    parts = []
    try:
        async with asyncio.timeout(limits.receive_seconds):
            async for part in request.stream():
                entry.bytes_in += len(part)
                if entry.bytes_in > limits.max_request_bytes:
                    raise admission.body_too_large(limits.max_request_bytes)
                count_bytes(len(part))
                parts.append(part)
    except TimeoutError:
        message = (
            f"The request did not arrive within {limits.receive_seconds:g} s"
        )
        raise ServingError(Code.DEADLINE_EXCEEDED, message, 408) from None
    except ClientDisconnect:
        raise admission.client_gone() from None
    body = b"".join(parts)
    if "gzip" in encoding:
        body = await asyncio.to_thread(_expanded, body, limits)
        count_bytes(len(body))
    return body


def _expanded(body, limits):
    """Expands one gzip member, up to the size limit."""
    inflater = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    try:
        text = inflater.decompress(body, limits.max_request_bytes + 1)
    except zlib.error:
        text = b""
    if len(text) > limits.max_request_bytes:
        raise admission.body_too_large(limits.max_request_bytes)
    if not inflater.eof or inflater.unused_data:
        raise invalid_argument("The body is not one whole gzip member")
    return text


async def _predict(core, request, spec, body, entry, count_bytes):
    """Returns the body of the answer to a request to predict."""
    limits = core.limits
    deadline = time.monotonic() + limits.timeout_seconds
    size = _LARGE if body.count(b",") > _MANY else len(body)
    document = await _offload_if_large(
        size, parse_body, body, limits.max_values
    )
    handle = core.store.acquire(*spec)
    try:
        entry.version = handle.servable.version
        signature = document.get("signature_name") or BEAM
        entry.signature = signature
        inputs, by_rows = await _offload_if_large(
            size,
            json_tensors.read_inputs,
            document,
            _definition(handle, signature),
            limits.max_sentences,
        )
        if "glossary" in document:
            # Searching for many terms takes long even in a short request.
            inputs = await asyncio.to_thread(
                annotated_inputs,
                *(document, signature, inputs, handle.servable.has_terms),
                *(handle.servable.patterns, limits, deadline),
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
    seconds = max(0.0, deadline - time.monotonic())
    future = core.submit(handle, signature, inputs, (), seconds)
    outputs = await _wait(future, request, seconds)
    size = sum(array.nbytes for array in outputs.values())
    # A short text may have an answer with very many numbers.
    count_bytes(size)
    return await _offload_if_large(
        size, json_tensors.predict_body, outputs, by_rows
    )


def _definition(handle, name):
    if name not in handle.servable.signatures:
        # gRPC has another message and code for this error.
        raise ServingError(
            Code.INVALID_ARGUMENT,
            f'Serving signature name: "{name}" not found in signature def',
        )
    return handle.servable.signatures[name]


async def _offload_if_large(size, function, *arguments):
    """Calls a function, in a thread if `size` is at least `_LARGE`."""
    if size < _LARGE:
        return function(*arguments)
    return await asyncio.to_thread(function, *arguments)


async def _wait(future, request, seconds):
    """Waits for the outputs, until a timeout or a disconnect."""
    answer = asyncio.wrap_future(future)
    gone = asyncio.ensure_future(_disconnected(request))
    try:
        done, _ = await asyncio.wait(
            {answer, gone}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED
        )
        if answer in done:
            return answer.result()
        if gone in done:
            raise admission.client_gone()
        raise admission.deadline_exceeded()
    finally:
        # Drops the request if it is still queued.
        answer.cancel()
        gone.cancel()


async def _disconnected(request):
    while (await request.receive())["type"] != "http.disconnect":
        pass


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
