"""Server core: the parts that REST and gRPC share."""

import contextlib
import dataclasses
import time
from concurrent.futures import Future
from typing import Any

from tensorflow_serving.apis import get_model_metadata_pb2, get_model_status_pb2

from keras_transformer.contract.status import ServingError
from keras_transformer.serving.server.admission import Limits
from keras_transformer.serving.server.batching import Batcher
from keras_transformer.serving.server.model_store import Handle, ModelStore
from keras_transformer.serving.server.monitoring import (
    AccessLog,
    Entry,
    Metrics,
)

SIGNATURE_DEF = "signature_def"


@dataclasses.dataclass(frozen=True)
class Core:
    """The parts that answer requests.

    Attributes:
        store: the models.
        batcher: the queues in front of them.
        limits: limits of a request.
        metrics: counters of requests and batches.
        log: log of requests.
    """

    store: ModelStore
    batcher: Batcher
    limits: Limits
    metrics: Metrics
    log: AccessLog

    def submit(
        self,
        handle: Handle,
        signature: str,
        inputs: dict,
        outputs: tuple = (),
        seconds: float | None = None,
    ) -> Future:
        """Queues a request to predict.

        Args:
            handle: handle of the servable; it is released when the request is
                done or refused.
            signature: name of the signature.
            inputs: arrays by name.
            outputs: names of the requested outputs; empty: all of them.
            seconds: time after which the client gives up; None: unlimited.

        Returns:
            a future of arrays by name.

        Raises:
            ServingError: the request is refused.
        """
        deadline = None if seconds is None else time.monotonic() + seconds
        try:
            self.limits.check(inputs)
            future = self.batcher.submit(
                handle.servable, signature, inputs, outputs, deadline
            )
        except BaseException:
            handle.release()
            raise
        future.add_done_callback(lambda _: handle.release())
        return future

    def status(
        self, name: str, version: int | None = None, label: str = ""
    ) -> get_model_status_pb2.GetModelStatusResponse:
        """Returns the `GetModelStatusResponse` of a model's versions.

        Raises:
            ServingError: there is no such model, version or label.
        """
        response = get_model_status_pb2.GetModelStatusResponse()
        for number, state, error in self.store.states(name, version, label):
            added = response.model_version_status.add(
                version=number, state=state.value
            )
            added.status.error_code = error.code if error else 0
            added.status.error_message = error.message if error else ""
        return response

    def metadata(
        self, name: str, version: int | None = None, label: str = ""
    ) -> get_model_metadata_pb2.GetModelMetadataResponse:
        """Returns the `GetModelMetadataResponse` with a version's signatures.

        Raises:
            ServingError: the version isn't available.
        """
        response = get_model_metadata_pb2.GetModelMetadataResponse()
        signatures = get_model_metadata_pb2.SignatureDefMap()
        with self.store.acquire(name, version, label) as handle:
            response.model_spec.name = name
            response.model_spec.version.value = handle.servable.version
            for key, signature in handle.servable.signatures.items():
                signatures.signature_def[key].CopyFrom(signature)
        response.metadata[SIGNATURE_DEF].Pack(signatures)
        return response

    def models(self) -> dict[str, Any]:
        """Returns `models`, the names of the models, and `languages`.

        `languages` has the tags of source and target by model, for models
        whose latest version has them.
        """
        names, languages = self.store.names(), {}
        for name in names:
            # A model without an available version has no languages.
            with (
                contextlib.suppress(ServingError),
                self.store.acquire(name) as handle,
            ):
                if handle.servable.languages:
                    languages[name] = handle.servable.languages
        return {"models": names, "languages": languages}

    def record(self, entry: Entry) -> None:
        """Counts and logs an answered request."""
        if entry.model in self.store.names():
            self.metrics.request(
                entry.model, entry.api, entry.entry, entry.code, entry.seconds
            )
        self.log.write(entry)
