"""Server core: what REST and gRPC share, from the models to the log."""

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
        batcher: the queues before them.
        limits: of a request.
        metrics: counts what was done.
        log: of requests.
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
            handle: of the servable; it is released when the request is done
                or refused.
            signature: name of the signature.
            inputs: arrays by name.
            outputs: names of the requested ones; all if there are none.
            seconds: after which the client gives up.

        Returns:
            of arrays by name.

        Raises:
            ServingError: it is refused.
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
        """`GetModelStatusResponse` of a model's versions.

        Raises:
            ServingError: there are none.
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
        """`GetModelMetadataResponse` with the signatures of a version.

        Raises:
            ServingError: it isn't available.
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
        """What is served: `models`, their names, and `languages`.

        These are the tags of source and target by model, as the latest
        versions say.
        """
        names, languages = self.store.names(), {}
        for name in names:
            # Without a version there is nothing to be said.
            with (
                contextlib.suppress(ServingError),
                self.store.acquire(name) as handle,
            ):
                if handle.servable.languages:
                    languages[name] = handle.servable.languages
        return {"models": names, "languages": languages}

    def record(self, entry: Entry) -> None:
        """Counts and logs a request that was answered."""
        if entry.model in self.store.names():
            self.metrics.request(
                entry.model, entry.api, entry.entry, entry.code, entry.seconds
            )
        self.log.write(entry)
