"""Servable: one version of a model, loaded as TensorFlow Serving loads it.

What runs it is a session: of a SavedModel, or of another kind of export with
the same signatures. Loading includes the warm-up requests of its folder, which
run before it gets traffic.
"""

from __future__ import annotations

import concurrent.futures
import functools
import os
import pathlib
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import tensorflow as tf
from google.protobuf.message import DecodeError
from tensorflow_serving.apis import prediction_log_pb2

from keras_transformer.contract.layout import (
    ALIGN,
    BEAM,
    DESCRIPTION,
    SCORING,
    TRANSLATING,
    WARMUP,
)
from keras_transformer.contract.status import Code, ServingError
from keras_transformer.exporting.ctranslate2_folder import (
    CTRANSLATE2_DESCRIPTION,
)
from keras_transformer.exporting.session import SavedModelSession
from keras_transformer.serving.server.loading import stated_data
from keras_transformer.serving.server.masking import (
    masked_pairs,
    masked_texts,
    run_masked,
)
from keras_transformer.serving.server.signature_tensors import (
    complete_inputs,
    tensor_array,
)
from keras_transformer.translation.stream import has_learned_terms

if TYPE_CHECKING:
    from tensorflow.core.protobuf.meta_graph_pb2 import SignatureDef


# More, and TensorFlow Serving refuses to load the model.
MAX_RECORDS = 1000


class Servable:
    """A version in a session of its own.

    The process decides if XLA may compile: `keras-transformer serve`
    forbids it. Of a SavedModel, nothing of Keras and none of the project's
    models is needed: what runs is the graph. `run` may be called by many
    threads at once.

    Args:
        name: of the model.
        version: its number.
        folder: the version folder.
        intra_op_threads: that one operation uses; 0: TensorFlow's choice.
        open_session: `(folder, intra_op_threads)` to a session, with `run`,
            `signatures` and `close` as those of `SavedModelSession`.

    Attributes:
        name, version, folder: as given.
        signatures: `SignatureDef` by name.
        languages: tags of source and target; None: its folder doesn't say.
        patterns: regular expressions of markup, in which no term is.
        has_terms: whether its folder says that it has learned of terms.
        placeholders: regular expressions of markup; None: the model has no
            symbols for it.

    Raises:
        ServingError, InputError, tf.errors.OpError, OSError, ValueError: it
            can't be loaded, or a warm-up record fails.
    """

    def __init__(
        self,
        name: str,
        version: int,
        folder: str | os.PathLike,
        intra_op_threads: int = 0,
        open_session: Callable = SavedModelSession,
    ) -> None:
        self.name = name
        self.version = version
        self.folder = pathlib.Path(folder)
        data = stated_data(self.folder, DESCRIPTION)
        self._session = open_session(self.folder, intra_op_threads)
        self.signatures = self._session.signatures
        self.placeholders = None
        if data is not None and data.symbols:
            self.placeholders = data.markup_patterns
        # One of CTranslate2's masks by itself.
        data = data or stated_data(self.folder, CTRANSLATE2_DESCRIPTION)
        self.languages = data.languages if data else None
        self.patterns = data.markup_patterns if data else ()
        self.has_terms = has_learned_terms(data)
        try:
            warmup = self.folder / WARMUP
            if warmup.is_file():
                for signature, inputs, _ in _requests(warmup):
                    self.run(signature, inputs)
        except BaseException:
            self.close()
            raise

    def signature(self, name: str) -> SignatureDef:
        """The `SignatureDef` of a name; "" is the default one.

        Raises:
            ServingError: there is none.
        """
        name = name or BEAM
        if name not in self.signatures:
            raise ServingError(
                Code.FAILED_PRECONDITION,
                f'Serving signature key "{name}" not found.',
            )
        signature = self.signatures[name]
        if not signature.method_name:
            # An initializer of tables is listed among the signatures.
            raise ServingError(
                Code.INVALID_ARGUMENT, f'"{name}" is no signature to predict'
            )
        return signature

    def run(self, name: str, inputs: dict, outputs: tuple = ()) -> dict:
        """Checks and completes inputs, then runs a signature.

        Args:
            name: of the signature; "" is the default one.
            inputs: arrays by name.
            outputs: names of the requested ones; all if there are none.

        Returns:
            see `run_batch`.

        Raises:
            ServingError: there is no such signature, or an input isn't what
                it takes.
            tf.errors.OpError: the graph failed.
        """
        inputs = complete_inputs(self.signature(name), inputs)
        return self.run_batch(name, inputs, outputs)

    def run_batch(self, name: str, inputs: dict, outputs: tuple = ()) -> dict:
        """Runs a signature on inputs that `complete_inputs` returned.

        Args:
            name, outputs: as those of `run`.
            inputs: arrays by name, one for each of the signature's.

        Returns:
            arrays by name; those of strings are of `bytes` objects.

        Raises:
            ServingError: there is no such signature.
            tf.errors.OpError: the graph failed.
        """
        self.signature(name)
        name = name or BEAM
        run = functools.partial(self._session.run, name)
        if self.placeholders is None:
            return run(inputs, outputs)
        if name == SCORING:
            return run(masked_pairs(inputs, self.placeholders), outputs)
        if name == ALIGN:
            return run(masked_texts(inputs, self.placeholders), outputs)
        if name not in TRANSLATING:
            return run(inputs, outputs)
        return run_masked(run, inputs, outputs, self.placeholders)

    def close(self) -> None:
        """Frees what was loaded."""
        self._session.close()


def replay_full_batches(
    path: str | os.PathLike, servable: Servable, rows: int, threads: int
) -> None:
    """Runs the largest record of each signature as full batches, side by side.

    TensorFlow keeps what memory its largest batches took: taken before there
    is traffic, it doesn't grow under the first heavy load. A signature whose
    rows can't be many is left alone.

    Args:
        path: of a TFRecord of `PredictionLog`, which was run.
        servable: whose `run(signature, inputs)` many threads may call.
        rows: of a batch.
        threads: batches at a time.
    """
    largest: dict = {}
    for name, inputs, size in _requests(path):
        if size > largest.get(name, (0, None))[0]:
            largest[name] = size, inputs
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        for name, (_, inputs) in largest.items():
            if not all(array.ndim for array in inputs.values()):
                continue
            batch = {key: _repeat(v, rows) for key, v in inputs.items()}
            # Results don't matter: the record was checked by itself.
            concurrent.futures.wait(
                pool.submit(servable.run, name, batch) for _ in range(threads)
            )


def _requests(path):
    """Signature, inputs (arrays by name) and bytes of each record."""
    records = tf.data.TFRecordDataset(os.fspath(path))
    for number, record in enumerate(records.as_numpy_iterator(), 1):
        if number > MAX_RECORDS:
            raise ServingError(
                Code.INVALID_ARGUMENT,
                f"Number of warmup records exceeds the maximum ({MAX_RECORDS})"
                f" at {path}",
            )
        request = _predict_request(record, f"record {number} of {path}")
        inputs = {
            name: tensor_array(tensor)
            for name, tensor in request.inputs.items()
        }
        yield request.model_spec.signature_name, inputs, len(record)


def _repeat(array, rows):
    """The rows of an array again and again, up to a number."""
    return np.resize(array, (max(rows, len(array)), *array.shape[1:]))


def _predict_request(record, where):
    try:
        log = prediction_log_pb2.PredictionLog.FromString(record)
    except DecodeError as error:
        raise ServingError(
            Code.DATA_LOSS, f"Failed to parse warmup {where}: {error}"
        ) from None
    kind = log.WhichOneof("log_type")
    if kind != "predict_log":
        raise ServingError(
            Code.UNIMPLEMENTED,
            f"Unsupported log_type for warmup: {kind} ({where}); predict_log "
            "is supported",
        )
    return log.predict_log.request
