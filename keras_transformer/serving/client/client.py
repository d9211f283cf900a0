"""Client of TensorFlow Serving, and of this package's own server.

Texts are split into requests of a fixed size, several of which are in flight at
once; results are returned in order.
"""

import collections
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Self

from keras_transformer.contract import layout
from keras_transformer.contract.status import Code
from keras_transformer.errors import InputError
from keras_transformer.serving.client.backoff import Backoff
from keras_transformer.serving.client.request_errors import (
    ServerFailedError,
    deadline_error,
)
from keras_transformer.serving.client.transport import (
    Target,
    Transport,
    VersionStatus,
    parse_target,
)
from keras_transformer.translation.request import Truncations
from keras_transformer.translation.texts import text_list


class Client:
    """Translates with a server, in batches, several requests at a time.

    Thread-safe. Needs neither TensorFlow nor NumPy; REST needs urllib3, gRPC
    needs grpcio. Requests that an overloaded server refuses, and those without
    an answer, are retried: see `Backoff.attempts`.

    Args:
        url: `http://HOST:8501` for REST, `grpc://HOST:8500` for gRPC;
            `https` and `grpcs` for TLS.
        model: the model's name on the server.
        version: number of a version; None: the label's, or the latest.
        label: label of a version, such as "stable".
        batch_size: texts in a request; at most the server's
            `max_batch_size`.
        in_flight: maximum number of concurrent requests.
        timeout: seconds for a call, including all its requests and waits.
        backoff: when and how often a request is retried.

    Attributes:
        target: the model on its server, a `Target`.

    Raises:
        InputError: an argument is invalid, or grpcio isn't installed.

    Example:
        >>> with Client("http://127.0.0.1:8501", "en-zh") as client:
        ...     translations, scores, _ = client.translate(["Good morning."])
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        version: int | None = None,
        label: str | None = None,
        batch_size: int = 32,
        in_flight: int = 4,
        timeout: float = 60.0,
        backoff: Backoff | None = None,
    ) -> None:
        self.target = parse_target(url, model, version, label)
        for name, value in (
            ("batch_size", batch_size),
            ("in_flight", in_flight),
            ("timeout", timeout),
        ):
            _require_finite(name, value)
        self._batch_size = batch_size
        self._in_flight = in_flight
        self._timeout = timeout
        self._backoff = backoff or Backoff()
        self._transport = _transport(self.target)
        self._closed = threading.Event()
        self._executor = ThreadPoolExecutor(in_flight, "client")

    def translate(
        self,
        texts: Sequence[str],
        signature: str = layout.BEAM,
        timeout: float | None = None,
    ) -> tuple[list[str], list[float], list[bool]]:
        """Translates texts.

        Args:
            texts: any number of texts, including none.
            signature: `serving_default` (beam search) or `greedy`.
            timeout: seconds for the whole call; None: the client's.

        Returns:
            for each text a translation, its score (a length-normalised
            log-probability), and whether the text was truncated. A
            `UserWarning` has the number of truncated texts.

        Raises:
            RequestError: a request failed; the subclass says how.
        """
        names = (layout.TRANSLATION, layout.SCORE, layout.TRUNCATED)
        found = self._columns(names, signature, timeout, text=texts)
        Truncations(found[2]).warn()
        return found

    def nbest(
        self, texts: Sequence[str], timeout: float | None = None
    ) -> tuple[list[list[str]], list[list[float]], list[bool]]:
        """Returns the K best translations of each text, the best first.

        Returns:
            for each text a list of K translations, a list of their scores, and
            whether the text was truncated, as in `translate`. Lists with
            fewer translations are padded with "" and a score of -1e9.

        Raises:
            RequestError: see `translate`.
        """
        names = (layout.TRANSLATIONS, layout.SCORES, layout.TRUNCATED)
        found = self._columns(names, layout.NBEST, timeout, text=texts)
        Truncations(found[2]).warn()
        return found

    def score(
        self,
        texts: Sequence[str],
        translations: Sequence[str],
        timeout: float | None = None,
    ) -> dict[str, list]:
        """Scores given translations.

        Returns:
            lists by name, with an element for each text: `log_probability`,
            natural logarithms; `score`, these divided by the length penalty;
            `tokens`, the number of tokens; `truncated` and
            `translation_truncated`.

        Raises:
            InputError: the numbers of texts and translations differ.
            RequestError: see `translate`.
        """
        inputs = {layout.TEXT: texts, layout.TRANSLATION: translations}
        return self.predict(inputs, layout.SCORING, timeout)

    def tokenize(
        self, texts: Sequence[str], timeout: float | None = None
    ) -> list[list[int]]:
        """Returns the ids of each text, without start and end, untruncated.

        Raises:
            RequestError: see `translate`.
        """
        names = (layout.IDS, layout.LENGTH)
        rows, lengths = self._columns(
            names, layout.TOKENIZE, timeout, text=texts
        )
        return [row[:length] for row, length in zip(rows, lengths, strict=True)]

    def predict(
        self,
        inputs: Mapping[str, Sequence[str]],
        signature: str = layout.BEAM,
        timeout: float | None = None,
    ) -> dict[str, list]:
        """Returns the outputs of any signature whose inputs are strings.

        Args:
            inputs: lists of texts by input name, all of the same length.
            signature: the signature's name.
            timeout: seconds for the whole call; None: the client's.

        Returns:
            nested lists by output name, with an element for each text; an
            empty dict if there are no texts.

        Raises:
            InputError: the inputs have different lengths, or one is a string.
            RequestError: see `translate`.
        """
        inputs = {key: text_list(v, "a Client") for key, v in inputs.items()}
        deadline = time.monotonic() + self._seconds(timeout)
        batches = _split_inputs(inputs, self._batch_size)
        outputs: dict = {}
        for part in self._send_all(batches, signature, deadline=deadline):
            for name, values in part.items():
                outputs.setdefault(name, []).extend(values)
        return outputs

    def predict_batches(
        self,
        batches: Iterable[Mapping[str, Sequence[str]]],
        signature: str = layout.BEAM,
        timeout: float | None = None,
    ) -> Iterator[dict[str, list]]:
        """Yields the outputs of each batch, in order, with bounded memory.

        Args:
            batches: the inputs of one request each. As many are read ahead as
                are in flight. A batch without texts isn't sent.
            signature: the signature's name.
            timeout: seconds for each batch; None: the client's.

        Raises:
            RequestError: see `translate`.
        """
        seconds = self._seconds(timeout)
        yield from self._send_all(batches, signature, seconds=seconds)

    def versions(self, timeout: float | None = None) -> list[VersionStatus]:
        """Requests the status of the model's versions, without retries.

        Raises:
            RequestError: see `translate`.
        """
        deadline = time.monotonic() + self._seconds(timeout)
        return self._transport.versions(deadline)

    def close(self) -> None:
        """Closes all connections and cancels pending requests."""
        self._closed.set()
        self._transport.close()
        self._executor.shutdown(cancel_futures=True)

    def __repr__(self) -> str:
        return f"Client({str(self.target)!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _seconds(self, timeout):
        if timeout is not None:
            _require_finite("timeout", timeout)
        return self._timeout if timeout is None else timeout

    def _columns(self, names, signature, timeout, **inputs):
        """Returns some of a signature's outputs; raises if one is missing."""
        outputs = self.predict(inputs, signature, timeout)
        if not outputs:
            return tuple([] for _ in names)
        missing = [name for name in names if name not in outputs]
        if missing:
            raise ServerFailedError(
                Code.UNKNOWN,
                f"signature {signature} has no output {missing[0]}; it has "
                f"{', '.join(sorted(outputs))}",
                str(self.target),
            )
        return tuple(outputs[name] for name in names)

    def _send_all(self, batches, signature, *, deadline=None, seconds=0.0):
        """Yields the outputs of each batch, in order.

        Without a common `deadline`, each batch has its own `seconds`.
        """
        if self._closed.is_set():
            raise InputError(f"{self.target}: the client is closed")
        waiting: collections.deque = collections.deque()
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

    def _result(self, future, deadline):
        if deadline is None:
            return future.result()
        try:
            return future.result(max(0.0, deadline - time.monotonic()))
        except FutureTimeoutError:
            # Other calls may occupy all threads.
            future.cancel()
            raise deadline_error(str(self.target)) from None

    def _send(self, batch, signature, deadline, seconds):
        inputs = {name: list(texts) for name, texts in batch.items()}
        count = len(next(iter(inputs.values()), []))
        # Servers refuse requests without texts.
        if not count:
            return {}
        if deadline is None:
            deadline = time.monotonic() + seconds
        outputs = self._backoff.attempts(
            lambda: self._transport.predict(signature, inputs, deadline),
            deadline,
            self._closed.wait,
        )
        for name, values in outputs.items():
            if not isinstance(values, list) or len(values) != count:
                raise ServerFailedError(
                    Code.UNKNOWN,
                    f"output {name} doesn't have {count} rows like the inputs",
                    str(self.target),
                )
        return outputs


def _split_inputs(inputs, batch_size):
    """Yields the inputs of each request, at most `batch_size` texts."""
    sizes = {name: len(texts) for name, texts in inputs.items()}
    if len(set(sizes.values())) > 1:
        given = ", ".join(f"{name} {size}" for name, size in sizes.items())
        raise InputError(
            f"all inputs must have the same number of texts: {given}"
        )
    for begin in range(0, max(sizes.values(), default=0), batch_size):
        yield {
            name: texts[begin : begin + batch_size]
            for name, texts in inputs.items()
        }


def _transport(target: Target) -> Transport:
    # Imported late, as each has dependencies that the other doesn't need.
    if target.scheme.startswith("grpc"):
        from keras_transformer.serving.client.grpc_transport import (
            GrpcTransport,
        )

        return GrpcTransport(target)
    from keras_transformer.serving.client.rest_transport import RestTransport

    return RestTransport(target)


def _require_finite(name, value):
    # Also refuses infinity and NaN, which can't be waited for.
    if not 0 < value <= threading.TIMEOUT_MAX:
        raise InputError(
            f"{name} must be greater than 0 and finite. Received: {value}"
        )
