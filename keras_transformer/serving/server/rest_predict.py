"""A REST request to predict, from its body to the body of the answer."""

import asyncio

from starlette.requests import Request

from keras_transformer.contract.errors import Code, ServingError
from keras_transformer.contract.tensors import count_rows
from keras_transformer.serving.server.access_log import Entry
from keras_transformer.serving.server.batch_task import (
    client_gone,
    deadline_exceeded,
)
from keras_transformer.serving.server.core import Core
from keras_transformer.serving.server.json_answer import predict_body
from keras_transformer.serving.server.json_request import (
    parse_body,
    read_inputs,
)

# Bytes whose reading or writing as JSON would hold up other requests.
_LARGE = 65536


async def predict(
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
        signature = document.get("signature_name") or "serving_default"
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
