"""The warm-up requests of a version folder, run before it gets traffic."""

import concurrent.futures
import os

import numpy as np
import tensorflow as tf
from google.protobuf.message import DecodeError
from tensorflow_serving.apis import prediction_log_pb2

from keras_transformer.contract.errors import Code, ServingError

# More, and TensorFlow Serving refuses to load the model.
MAX_RECORDS = 1000


def replay(path: str | os.PathLike, servable) -> int:
    """Runs every record of a file, in order.

    Args:
        path: of a TFRecord of `PredictionLog`.
        servable: whose `run(signature, inputs)` answers.

    Returns:
        the number of records.

    Raises:
        ServingError: a record can't be read, isn't a request to predict, or
            there are too many.
        tf.errors.OpError: a request failed.
    """
    count = 0
    for name, inputs, _ in _requests(path):
        servable.run(name, inputs)
        count += 1
    return count


def replay_full_batches(
    path: str | os.PathLike, servable, rows: int, threads: int
):
    """Runs the largest record of each signature as full batches, side by side.

    TensorFlow keeps what memory its largest batches took: taken before there
    is traffic, it doesn't grow under the first heavy load. A signature whose
    rows can't be many is left alone.

    Args:
        path: of records that `replay` has run.
        servable: whose `run(signature, inputs)` many threads may call.
        rows: of a batch.
        threads: batches at a time.
    """
    largest = {}
    for name, inputs, size in _requests(path):
        if size > largest.get(name, (0, None))[0]:
            largest[name] = size, inputs
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        for name, (_, inputs) in largest.items():
            if not all(array.ndim for array in inputs.values()):
                continue
            batch = {key: _repeat(v, rows) for key, v in inputs.items()}
            # That the record itself is answered has been shown.
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
        request = _request(record, path, number)
        inputs = {
            name: tf.make_ndarray(tensor)
            for name, tensor in request.inputs.items()
        }
        yield request.model_spec.signature_name, inputs, len(record)


def _repeat(array, rows):
    """The rows of an array again and again, up to a number."""
    return np.resize(array, (max(rows, len(array)), *array.shape[1:]))


def _request(record, path, number):
    try:
        log = prediction_log_pb2.PredictionLog.FromString(record)
    except DecodeError as error:
        raise ServingError(
            Code.DATA_LOSS,
            f"Failed to parse warmup record {number} of {path}: {error}",
        ) from None
    kind = log.WhichOneof("log_type")
    if kind != "predict_log":
        raise ServingError(
            Code.UNIMPLEMENTED,
            f"Unsupported log_type for warmup: {kind} (record {number} of "
            f"{path}); predict_log is supported",
        )
    return log.predict_log.request
