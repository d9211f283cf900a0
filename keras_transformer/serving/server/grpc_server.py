"""The gRPC server: its services, its threads and its limits."""

import functools
import logging
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import grpc
from grpc_health.v1 import health, health_pb2_grpc
from tensorflow_serving.apis import (
    model_service_pb2_grpc,
    prediction_service_pb2_grpc,
)

from keras_transformer.serving.server.core import Core
from keras_transformer.serving.server.grpc_services import (
    ModelService,
    PredictionService,
)

# Calls beside those to predict: of health and status, which a busy server
# answers, too, and those that are refused.
_SPARE = 32


def grpc_server(core: Core, health_service: "HealthService") -> grpc.Server:
    """A `grpc.Server` without a port.

    Args:
        core: the parts that answer requests.
        health_service: the standard one.
    """
    # It logs a traceback for bytes that are no message.
    logging.getLogger("grpc").setLevel(logging.CRITICAL)
    calls = core.limits.max_requests + _SPARE
    server = grpc.server(
        ThreadPoolExecutor(calls, "grpc"),
        interceptors=(_Receiving(core.limits.receive_seconds),),
        maximum_concurrent_rpcs=calls,
        options=[
            ("grpc.so_reuseport", 0),
            ("grpc.max_receive_message_length", core.limits.max_request_bytes),
            ("grpc.max_send_message_length", -1),
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


class HealthService(health.HealthServicer):
    """The standard health service, whose watchers can be let go.

    A server that stops would wait for them as for any call.
    """

    def __init__(self):
        super().__init__()
        self._ends = set()

    def Watch(self, request, context, send_response_callback=None):  # noqa: N802
        end = functools.partial(send_response_callback, None)
        self._ends.add(end)
        context.add_callback(lambda: self._ends.discard(end))
        return super().Watch(request, context, send_response_callback)

    def end_watching(self):
        """Ends all calls to watch."""
        for end in list(self._ends):
            end()


class _Receiving(grpc.ServerInterceptor):
    """Ends calls whose message doesn't arrive in time.

    gRPC has a thread wait for it, for ever, unless the method takes a stream
    of messages. On the wire that is the same.
    """

    def __init__(self, seconds):
        self._seconds = seconds
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

        # The health service says by attributes how it is to be called.
        @functools.wraps(behaviour)
        def receive(messages, context, *more):
            message = self._first(messages, context)
            return behaviour(message, context, *more)

        return make(
            receive, handler.request_deserializer, handler.response_serializer
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
        context.abort(grpc.StatusCode.UNIMPLEMENTED, "There is no message")

    def _set_timer(self):
        """One for all calls, with the lock held: each is a thread."""
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
