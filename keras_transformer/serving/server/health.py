"""Health: gRPC's health service, which also notices when REST doesn't answer.

A load balancer asks one of the ports for the server's health, and takes the
answer for both.
"""

from __future__ import annotations

import asyncio
import functools
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
_MOST_WATCHERS = 1000
# Seconds between two looks at REST, and that its event loop may take to react.
_INTERVAL, _PATIENCE = 1.0, 5.0

_Status = health_pb2.HealthCheckResponse


class HealthService(health.HealthServicer):
    """The standard health service: NOT_SERVING until `start`.

    Its watchers can be let go: a server that stops would wait for them as for
    any call.

    Args:
        log: takes a line for each change.
        patience: seconds without a reaction after which REST is said not to
            answer.
    """

    def __init__(
        self,
        log: Callable[[str], None] = lambda line: None,
        patience: float = _PATIENCE,
    ) -> None:
        super().__init__()
        self._log = log
        self._patience = patience
        self._ends: set = set()
        self._stopped = threading.Event()
        self._set(_Status.NOT_SERVING)

    def Watch(
        self,
        request: health_pb2.HealthCheckRequest,
        context: grpc.ServicerContext,
        send_response_callback: Callable | None = None,
    ) -> Iterator | None:
        """Tells each change of the status, until the call is ended."""
        send = cast(Callable, send_response_callback)
        end = functools.partial(send, None)
        if len(self._ends) >= _MOST_WATCHERS:
            context.abort(
                grpc.StatusCode.RESOURCE_EXHAUSTED,
                f"{_MOST_WATCHERS} calls watch already",
            )
        self._ends.add(end)
        if not context.add_callback(lambda: self._ends.discard(end)):
            self._ends.discard(end)  # It has ended.
            return None
        if request.service not in _SERVICES:
            # The parent would never forget the name.
            send(_Status(status=_Status.SERVICE_UNKNOWN))
            return None
        return super().Watch(request, context, send_response_callback)

    def start(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        """Says SERVING, and NOT_SERVING while an event loop doesn't react.

        Args:
            loop: REST's; None: there is no REST.
        """
        self._set(_Status.SERVING)
        if loop is not None:
            threading.Thread(
                target=self._keep_watching,
                args=(loop,),
                name="health",
                daemon=True,
            ).start()

    def stop(self) -> None:
        """Says NOT_SERVING from now on."""
        self._stopped.set()
        self.enter_graceful_shutdown()

    def end_watching(self) -> None:
        """Ends all calls to watch."""
        for end in list(self._ends):
            end()

    def _set(self, status, line=""):
        for service in _SERVICES:
            self.set(service, status)
        if line and not self._stopped.is_set():
            self._log(line)

    def _keep_watching(self, loop):
        while not self._stopped.wait(_INTERVAL):
            reacted = threading.Event()
            try:
                loop.call_soon_threadsafe(reacted.set)
            except RuntimeError:
                return self._set(_Status.NOT_SERVING, "REST has ended")
            if reacted.wait(self._patience):
                continue
            line = f"REST doesn't answer for {self._patience:g} s"
            self._set(_Status.NOT_SERVING, line)
            while not reacted.wait(_INTERVAL):
                if self._stopped.is_set():
                    return None
            self._set(_Status.SERVING, "REST answers again")
        return None
