"""gRPC server: TensorFlow Serving's services, with threads and limits."""

from __future__ import annotations

import contextlib
import functools
import logging
import threading
import time
from concurrent.futures import CancelledError, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import TYPE_CHECKING

import grpc
from grpc_health.v1 import health_pb2_grpc
from tensorflow_serving.apis import (
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
)

from keras_transformer.contract.layout import BEAM
from keras_transformer.contract.status import as_serving_error, invalid_argument
from keras_transformer.serving.server import admission
from keras_transformer.serving.server.core import SIGNATURE_DEF, Core
from keras_transformer.serving.server.health import HealthService
from keras_transformer.serving.server.monitoring import Entry
from keras_transformer.serving.server.signature_tensors import (
    array_of_proto,
    check_dtype,
    check_names,
    count_rows,
    fill_proto,
)

if TYPE_CHECKING:
    from tensorflow_serving.apis import (
        get_model_metadata_pb2,
        get_model_status_pb2,
    )


# Calls in addition to `max_requests`: health and status, which a busy server
# answers, too, and requests to be refused.
_SPARE = 32
# Maximum number of a message's fields: inputs, outputs and others.
_MAX_FIELDS = 1000
# Clients have to reconnect after five minutes, and so discover new servers.
# Idle connections end sooner; gRPC announces it in advance, so no call is lost.
_CONNECTION_SECONDS, _IDLE_SECONDS = 300, 30
# Stands for a message with more fields. None would mean a damaged message.
_UNREAD = object()
_GRPC_CODES = {code.value[0]: code for code in grpc.StatusCode}


def grpc_server(
    core: Core, health_service: HealthService, max_connections: int
) -> grpc.Server:
    """Creates a `grpc.Server` without a port.

    Args:
        core: the parts that answer requests.
        health_service: the standard health service.
        max_connections: maximum number of open connections; further ones are
            closed at once.
    """
    # gRPC logs a traceback for bytes that aren't a valid message.
    logging.getLogger("grpc").setLevel(logging.CRITICAL)
    calls = core.limits.max_requests + _SPARE
    server = grpc.server(
        ThreadPoolExecutor(calls, "grpc"),
        interceptors=(_Receiving(core),),
        maximum_concurrent_rpcs=calls,
        options=[
            ("grpc.so_reuseport", 0),
            # For clients that connect and send nothing; 2 minutes by default.
            (
                "grpc.server_handshake_timeout_ms",
                int(core.limits.receive_seconds * 1000),
            ),
            ("grpc.max_allowed_incoming_connections", max_connections),
            ("grpc.max_receive_message_length", core.limits.max_request_bytes),
            ("grpc.max_send_message_length", -1),
            ("grpc.max_connection_age_ms", 1000 * _CONNECTION_SECONDS),
            # After that age, for clients that don't read their answers.
            (
                "grpc.max_connection_age_grace_ms",
                int(1000 * core.limits.timeout_seconds),
            ),
            ("grpc.max_connection_idle_ms", 1000 * _IDLE_SECONDS),
        ],
    )
    prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(
        PredictionService(core), server
    )
    model_service_pb2_grpc.add_ModelServiceServicer_to_server(
        ModelService(core), server
    )
    health_pb2_grpc.add_HealthServicer_to_server(health_service, server)
    return server


class _Receiving(grpc.ServerInterceptor):
    """Ends calls whose message doesn't arrive in time, or has many fields.

    For a unary method, a thread of gRPC waits for the message without a limit;
    so methods are registered as taking a stream, which is the same on the wire.
    Fields are counted before parsing, as a message with hundreds of thousands
    of inputs becomes a map while the parser blocks all other threads.
    """

    def __init__(self, core):
        self._core = core
        self._seconds = core.limits.receive_seconds
        self._lock = threading.Lock()
        self._due = {}  # by call, the oldest first
        self._timer = None

    def intercept_service(self, continuation, handler_call_details):
        handler = continuation(handler_call_details)
        if handler is None or handler.request_streaming:
            return handler
        make, behaviour = (
            (grpc.stream_stream_rpc_method_handler, handler.unary_stream)
            if handler.response_streaming
            else (grpc.stream_unary_rpc_method_handler, handler.unary_unary)
        )

        # The health service marks its methods with attributes that gRPC reads.
        @functools.wraps(behaviour)
        def receive(messages, context, *more):
            message = self._first(messages, context)
            if message is _UNREAD:
                self._refuse(handler_call_details.method, context)
            return behaviour(message, context, *more)

        def read(data):
            if _has_many_fields(data):
                return _UNREAD
            return handler.request_deserializer(data)

        return make(receive, read, handler.response_serializer)

    def _refuse(self, method, context):
        api, nothing = method.rpartition("/")[2], predict_pb2.PredictRequest()
        with _answering(self._core, api, nothing, context):
            raise invalid_argument(
                f"The request has more than {_MAX_FIELDS} fields"
            )

    def _first(self, messages, context):
        with self._lock:
            self._due[context] = time.monotonic() + self._seconds
            self._set_timer()
        try:
            for message in messages:
                return message
        finally:
            with self._lock:
                self._due.pop(context, None)
        context.abort(
            grpc.StatusCode.UNIMPLEMENTED, "The request message is missing"
        )

    def _set_timer(self):
        """Starts one timer for all calls, as each timer is a thread.

        Requires the lock.
        """
        if self._timer is None and self._due:
            seconds = next(iter(self._due.values())) - time.monotonic()
            self._timer = threading.Timer(seconds, self._cancel_late)
            self._timer.daemon = True
            self._timer.start()

    def _cancel_late(self):
        now = time.monotonic()
        with self._lock:
            late = [context for context, due in self._due.items() if due <= now]
            for context in late:
                del self._due[context]
            self._timer = None
            self._set_timer()
        for context in late:
            context.cancel()


def _has_many_fields(data):
    """True if a serialized message has more than `_MAX_FIELDS` fields.

    Damaged messages are left to the parser. Source: the wire format of protocol
    buffers.
    """
    index = 0
    try:
        for _ in range(_MAX_FIELDS):
            tag, index = _varint(data, index)
            if tag & 7 == 2:
                size, index = _varint(data, index)
                index += size
            elif tag & 7 == 0:
                _, index = _varint(data, index)
            else:
                index += {1: 8, 5: 4}[tag & 7]
    except (IndexError, KeyError):
        return False  # at the end of the message
    return index < len(data)


def _varint(data, index):
    """Decodes a varint; returns its value and the index after it."""
    value = shift = 0
    while True:
        byte = data[index]
        value |= (byte & 127) << shift
        index, shift = index + 1, shift + 7
        if byte < 128:
            return value, index
        if shift > 63:
            raise IndexError


class PredictionService(prediction_service_pb2_grpc.PredictionServiceServicer):
    """Predict and GetModelMetadata; other methods are UNIMPLEMENTED.

    Args:
        core: the parts that answer requests.
    """

    def __init__(self, core: Core) -> None:
        self._core = core
        self._slots = admission.RequestSlots(core.limits.max_requests)
        self._bytes = admission.BytesInFlight(core.limits)

    def Predict(
        self, request: predict_pb2.PredictRequest, context: grpc.ServicerContext
    ) -> predict_pb2.PredictResponse:
        """Answers like `predict` of REST."""
        with _answering(self._core, "Predict", request, context) as entry:
            seconds = _seconds(context)
            if not context.is_active() or seconds == 0:
                # The client gave up while the call waited for a thread.
                raise admission.deadline_exceeded()
            with (
                self._slots.refuse_if_full(),
                self._bytes.one_body() as count_bytes,
            ):
                count_bytes(entry.bytes_in)
                response = self._predict(request, context, entry, count_bytes)
            entry.bytes_out = response.ByteSize()
            return response

    def GetModelMetadata(
        self,
        request: get_model_metadata_pb2.GetModelMetadataRequest,
        context: grpc.ServicerContext,
    ) -> get_model_metadata_pb2.GetModelMetadataResponse:
        """See `Core.metadata`."""
        with _answering(self._core, "GetModelMetadata", request, context):
            if not request.metadata_field:
                raise invalid_argument(
                    "GetModelMetadataRequest must specify at least one "
                    "metadata_field"
                )
            for field in request.metadata_field:
                if field != SIGNATURE_DEF:
                    raise invalid_argument(
                        f"Metadata field {field} is not supported"
                    )
            return self._core.metadata(*_spec(request))

    def _predict(self, request, context, entry, count_bytes):
        handle = self._core.store.acquire(*_spec(request))
        try:
            entry.version = handle.servable.version
            signature = request.model_spec.signature_name or BEAM
            entry.signature = signature
            definition = handle.servable.signature(signature)
            outputs = _outputs(request.output_filter, definition)
            # Checked before any input is converted to an array.
            check_names(definition, request.inputs)
            for name, tensor in request.inputs.items():
                check_dtype(name, tensor.dtype, definition.inputs[name])
            inputs = {
                name: array_of_proto(name, tensor, self._core.limits)
                for name, tensor in request.inputs.items()
            }
            entry.rows = count_rows(inputs)
            if self._core.log.with_text:
                entry.text = _texts(inputs)
        except BaseException:
            handle.release()
            raise
        seconds = _seconds(context)
        future = self._core.submit(handle, signature, inputs, outputs, seconds)
        arrays = _result(future, context, seconds)
        count_bytes(sum(array.nbytes for array in arrays.values()))
        response = predict_pb2.PredictResponse()
        response.model_spec.name = request.model_spec.name
        response.model_spec.version.value = entry.version
        response.model_spec.signature_name = signature
        for name, array in arrays.items():
            dtype = definition.outputs[name].dtype
            fill_proto(response.outputs[name], array, dtype)
        return response


class ModelService(model_service_pb2_grpc.ModelServiceServicer):
    """GetModelStatus; reloading the configuration is UNIMPLEMENTED.

    Args:
        core: the parts that answer requests.
    """

    def __init__(self, core: Core) -> None:
        self._core = core

    def GetModelStatus(
        self,
        request: get_model_status_pb2.GetModelStatusRequest,
        context: grpc.ServicerContext,
    ) -> get_model_status_pb2.GetModelStatusResponse:
        """See `Core.status`."""
        with _answering(self._core, "GetModelStatus", request, context):
            return self._core.status(*_spec(request))


@contextlib.contextmanager
def _answering(core, api, request, context):
    """Records a call; if the block raises, ends it with the error's code."""
    entry = Entry("GRPC", api=api, peer=context.peer() or "")
    entry.bytes_in = request.ByteSize()
    entry.model = request.model_spec.name
    failure = None
    try:
        yield entry
    # The client gets an answer without a traceback for any error.
    except Exception as error:
        failure = as_serving_error(error)
        entry.code, entry.error = failure.code, failure.message
    entry.end()
    core.record(entry)
    if failure is not None:
        context.abort(_GRPC_CODES[failure.code], failure.message)


def _spec(request):
    """Returns name, version and label of a request."""
    if not request.HasField("model_spec"):
        raise invalid_argument("Missing ModelSpec")
    spec = request.model_spec
    version = spec.version.value if spec.HasField("version") else None
    return spec.name, version, spec.version_label


def _texts(inputs):
    """Returns the strings of a request, for the log."""
    return {
        name: [text.decode("utf-8", "replace") for text in array.reshape(-1)]
        for name, array in inputs.items()
        if array.dtype.kind == "O"
    }


def _seconds(context):
    """Returns the seconds until the client's deadline; None without one."""
    seconds = context.time_remaining()
    # Without a deadline, gRPC returns a time of centuries.
    return None if seconds is None or seconds > 1e6 else max(0.0, seconds)


def _result(future, context, seconds):
    """Waits for the outputs, until the client disconnects or times out."""
    context.add_callback(future.cancel)
    try:
        return future.result(seconds)
    except FutureTimeoutError:
        raise admission.deadline_exceeded() from None
    except CancelledError:
        # gRPC also calls the callback at the deadline.
        if context.time_remaining() > 0:
            raise admission.client_gone() from None
        raise admission.deadline_exceeded() from None


def _outputs(output_filter, signature):
    """Returns the names in an output filter; empty means all outputs."""
    names = tuple(output_filter)
    for name in names:
        if name not in signature.outputs:
            expected = ",".join(sorted(signature.outputs))
            raise invalid_argument(
                f"output tensor alias not found in signature: {name} Outputs "
                f"expected to be in the set {{{expected}}}."
            )
        if names.count(name) > 1:
            raise invalid_argument(f"duplicate output tensor alias: {name}")
    return names
