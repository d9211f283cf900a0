"""Health: gRPC's standard health service, with limits."""

from __future__ import annotations

import functools
import queue
import threading
from collections.abc import Callable, Iterator
from typing import cast

import grpc
from grpc_health.v1 import health, health_pb2

# Names of services in health checks; "" is the server as a whole.
_SERVICES = (
    "",
    "tensorflow.serving.PredictionService",
    "tensorflow.serving.ModelService",
)
# Maximum number of open calls to Watch.
_MOST_WATCHERS = 200

_Status = health_pb2.HealthCheckResponse


class HealthService(health.HealthServicer):
    """The standard health service: NOT_SERVING until `start`.

    Calls to Watch can be ended, as a stopping server would wait for them. Each
    has its own thread, so that a client that doesn't read can't block the
    others.
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
        """Sends each change of the status until the call ends."""
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
            forget()  # The call has ended already.
            return None
        threading.Thread(
            target=_tell, args=(messages, send), name="watch", daemon=True
        ).start()
        if request.service not in _SERVICES:
            # The parent class would keep unknown names forever.
            messages.put(_Status(status=_Status.SERVICE_UNKNOWN))
            return None
        return super().Watch(request, context, messages.put)

    def start(self) -> None:
        """Sets the status to SERVING."""
        self._set(_Status.SERVING)

    def end_watching(self) -> None:
        """Ends all calls to Watch."""
        for end in list(self._ends):
            end()

    def _set(self, status):
        for service in _SERVICES:
            self.set(service, status)


def _tell(messages, send):
    """Sends messages up to None, which ends the call."""
    while (message := messages.get()) is not None:
        send(message)
    send(None)
