"""Health: gRPC's standard health service, with limits."""

from __future__ import annotations

import functools
import queue
import threading
from collections.abc import Callable, Iterator
from typing import cast

import grpc
from grpc_health.v1 import health, health_pb2

# The names under which clients ask; "" is the server as a whole.
_SERVICES = (
    "",
    "tensorflow.serving.PredictionService",
    "tensorflow.serving.ModelService",
)
# Calls to watch that stay open at once.
_MOST_WATCHERS = 200

_Status = health_pb2.HealthCheckResponse


class HealthService(health.HealthServicer):
    """The standard health service: NOT_SERVING until `start`.

    Its watchers can be let go: a server that stops would wait for them as for
    any call. Each is told by a thread of its own, as it may never read, and all
    others would wait for it.
    """

    def __init__(self) -> None:
        super().__init__()
        self._ends: set = set()
        self._set(_Status.NOT_SERVING)

    def Watch(
        self,
        request: health_pb2.HealthCheckRequest,
        context: grpc.ServicerContext,
        send_response_callback: Callable | None = None,
    ) -> Iterator | None:
        """Tells each change of the status, until the call is ended."""
        send = cast(Callable, send_response_callback)
        messages: queue.SimpleQueue = queue.SimpleQueue()
        end = functools.partial(messages.put, None)
        if len(self._ends) >= _MOST_WATCHERS:
            context.abort(
                grpc.StatusCode.RESOURCE_EXHAUSTED,
                f"{_MOST_WATCHERS} calls watch already",
            )
        self._ends.add(end)

        def forget():
            self._ends.discard(end)
            end()

        if not context.add_callback(forget):
            forget()  # It has ended.
            return None
        threading.Thread(
            target=_tell, args=(messages, send), name="watch", daemon=True
        ).start()
        if request.service not in _SERVICES:
            # The parent would never forget the name.
            messages.put(_Status(status=_Status.SERVICE_UNKNOWN))
            return None
        return super().Watch(request, context, messages.put)

    def start(self) -> None:
        """Says SERVING."""
        self._set(_Status.SERVING)

    def end_watching(self) -> None:
        """Ends all calls to watch."""
        for end in list(self._ends):
            end()

    def _set(self, status):
        for service in _SERVICES:
            self.set(service, status)


def _tell(messages, send):
    """Sends messages until one is None, which ends the call."""
    while (message := messages.get()) is not None:
        send(message)
    send(None)
