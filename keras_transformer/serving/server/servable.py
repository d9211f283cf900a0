"""Servable: one version of a model, loaded as TensorFlow Serving loads it.

A session runs it: that of a SavedModel, or of another export format with the
same signatures. Loading includes running the warm-up requests of its folder,
before it gets traffic.
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
from keras_transformer.system.machine import give_back_memory
from keras_transformer.translation.stream import has_learned_terms

if TYPE_CHECKING:
    from tensorflow.core.protobuf.meta_graph_pb2 import SignatureDef


# With more records, TensorFlow Serving refuses to load the model.
MAX_RECORDS = 1000


class Servable:
    """A version of a model in its own session.

    Whether XLA may compile is a setting of the process: `keras-transformer
    serve` disables it. A SavedModel needs neither Keras nor this package's
    models: only the graph runs. `run` is thread-safe.

    Args:
        name: the model's name.
        version: its number.
        folder: the version folder.
        intra_op_threads: threads within one operation; 0: TensorFlow's choice.
        open_session: function from `(folder, intra_op_threads)` to a session
            with `run`, `signatures` and `close` as in `SavedModelSession`.

    Attributes:
        name, version, folder: as given.
        signatures: `SignatureDef` by name.
        languages: tags of source and target; None: unknown.
        patterns: regular expressions of markup, in which terms aren't searched
            for.
        has_terms: True if the model was trained with annotated terms, by its
            description.
        placeholders: regular expressions of markup to mask; None: the model
            has no symbols for it, or its session masks.

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
        # A session of CTranslate2 masks markup itself, so `placeholders` stays
        # None for its description.
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
        """Returns a `SignatureDef` by name; "" is the default signature.

        Raises:
            ServingError: there is no such signature, or it can't be called.
        """
        name = name or BEAM
        if name not in self.signatures:
            raise ServingError(
                Code.FAILED_PRECONDITION,
                f'Serving signature key "{name}" not found.',
            )
        signature = self.signatures[name]
        if not signature.method_name:
            # The initializer of tables is also listed as a signature.
            raise ServingError(
                Code.INVALID_ARGUMENT, f'"{name}" is not a predict signature'
            )
        return signature

    def run(self, name: str, inputs: dict, outputs: tuple = ()) -> dict:
        """Checks and completes inputs, then runs a signature.

        Args:
            name: the signature's name; "" is the default signature.
            inputs: arrays by name.
            outputs: names of the requested outputs; empty: all of them.

        Returns:
            see `run_batch`.

        Raises:
            ServingError: there is no such signature, or the inputs don't match
                it.
            tf.errors.OpError: the graph failed.
        """
        inputs = complete_inputs(self.signature(name), inputs)
        return self.run_batch(name, inputs, outputs)

    def run_batch(self, name: str, inputs: dict, outputs: tuple = ()) -> dict:
        """Runs a signature on inputs that `complete_inputs` returned.

        Args:
            name, outputs: see `run`.
            inputs: arrays by name, for all of the signature's inputs.

        Returns:
            arrays by name; strings are `bytes` objects.

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
        """Closes the session and returns its memory to the system.

        glibc would keep most of it for the thread that loaded the version.
        """
        self._session.close()
        give_back_memory()


def replay_full_batches(
    path: str | os.PathLike, servable: Servable, rows: int, threads: int
) -> None:
    """Runs the largest record of each signature as full batches in parallel.

    TensorFlow keeps the memory of its largest batches. If it is allocated
    before there is traffic, memory doesn't grow under the first heavy load.
    Signatures with scalar inputs, which have no rows, are skipped.

    Args:
        path: path of a TFRecord of `PredictionLog`, which was run already.
        servable: its `run(signature, inputs)` must be thread-safe.
        rows: number of rows in a batch.
        threads: number of batches in parallel.
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
            # Errors are ignored, as the record itself has run before.
            concurrent.futures.wait(
                pool.submit(servable.run, name, batch) for _ in range(threads)
            )


def _requests(path):
    """Yields signature, inputs (arrays by name) and bytes of each record."""
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
    """Repeats the rows of an array up to a number of rows."""
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
