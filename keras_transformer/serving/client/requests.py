"""A client's requests: split, several at once, in order."""

import collections
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError

from keras_transformer.contract.status import Code
from keras_transformer.errors import InputError
from keras_transformer.serving.client.request_errors import (
    ServerFailedError,
    deadline_error,
)
from keras_transformer.serving.client.retries import Backoff
from keras_transformer.serving.client.transport import Target, Transport


class Requests:
    """Sends batches with a few threads.

    Args:
        target: the model.
        in_flight: requests at once.
        backoff: when a request is sent again.

    Attributes:
        transport: that sends single requests.

    Raises:
        InputError: a package is missing.
    """

    def __init__(self, target: Target, in_flight: int, backoff: Backoff):
        self.transport = _transport(target)
        self._target = target
        self._in_flight = in_flight
        self._backoff = backoff
        self._closed = threading.Event()
        self._executor = ThreadPoolExecutor(in_flight, "client")

    def run(
        self,
        batches: Iterable[Mapping[str, Sequence[str]]],
        signature: str,
        *,
        deadline: float | None = None,
        seconds: float = 0.0,
    ) -> Iterator[dict[str, list]]:
        """Yields the outputs of each batch, in order.

        Args:
            batches: of texts by input.
            signature: its name.
            deadline: of all, of `time.monotonic`, seconds.
            seconds: for each batch, where there is no deadline.

        Raises:
            InputError: the client is closed.
            RequestError: a request failed; the others are given up.
        """
        if self._closed.is_set():
            raise InputError(f"{self._target}: the client is closed")
        waiting = collections.deque()
        try:
            for batch in batches:
                waiting.append(
                    self._executor.submit(
                        self._send, batch, signature, deadline, seconds
                    )
                )
                if len(waiting) > self._in_flight:
                    yield self._result(waiting.popleft(), deadline)
            while waiting:
                yield self._result(waiting.popleft(), deadline)
        finally:
            for future in waiting:
                future.cancel()

    def close(self):
        """Ends all connections and waits."""
        self._closed.set()
        self.transport.close()
        self._executor.shutdown(cancel_futures=True)

    def _result(self, future, deadline):
        if deadline is None:
            return future.result()
        try:
            return future.result(max(0.0, deadline - time.monotonic()))
        except FutureTimeoutError:
            # Other calls may have all threads.
            future.cancel()
            raise deadline_error(str(self._target)) from None

    def _send(self, batch, signature, deadline, seconds):
        inputs = {name: list(texts) for name, texts in batch.items()}
        count = len(next(iter(inputs.values()), []))
        # A server takes no request without texts.
        if not count:
            return {}
        if deadline is None:
            deadline = time.monotonic() + seconds
        outputs = self._backoff.attempts(
            lambda: self.transport.predict(signature, inputs, deadline),
            deadline,
            self._closed.wait,
        )
        for name, values in outputs.items():
            if not isinstance(values, list) or len(values) != count:
                raise ServerFailedError(
                    Code.UNKNOWN,
                    f"output {name} has not the {count} rows of the inputs",
                    str(self._target),
                )
        return outputs


def split_inputs(
    inputs: Mapping[str, Sequence[str]], batch_size: int
) -> Iterator[dict[str, list[str]]]:
    """Yields the inputs of each request.

    Args:
        inputs: as many texts for each name.
        batch_size: texts in a request, at most.

    Raises:
        InputError: the inputs have different lengths, or are a text and not
            a list of them.
    """
    columns = {}
    for name, texts in inputs.items():
        if isinstance(texts, str | bytes):
            raise InputError(f"{name} must be a list of texts, not one text")
        columns[name] = list(texts)
    sizes = {name: len(texts) for name, texts in columns.items()}
    if len(set(sizes.values())) > 1:
        told = ", ".join(f"{name} {size}" for name, size in sizes.items())
        raise InputError(f"inputs must have as many texts each: {told}")
    for begin in range(0, max(sizes.values(), default=0), batch_size):
        yield {
            name: texts[begin : begin + batch_size]
            for name, texts in columns.items()
        }


def _transport(target: Target) -> Transport:
    # Each imports what the other needs not.
    if target.scheme.startswith("grpc"):
        from keras_transformer.serving.client.grpc_transport import (
            GrpcTransport,
        )

        return GrpcTransport(target)
    from keras_transformer.serving.client.rest_transport import RestTransport

    return RestTransport(target)
