"""The warm-up requests of a version folder, run before it gets traffic."""

import os

import tensorflow as tf
from google.protobuf.message import DecodeError
from tensorflow_serving.apis import prediction_log_pb2

from keras_transformer.serving.status import Code, ServingError

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
    for record in tf.data.TFRecordDataset(os.fspath(path)):
        count += 1
        if count > MAX_RECORDS:
            raise ServingError(
                Code.INVALID_ARGUMENT,
                f"Number of warmup records exceeds the maximum ({MAX_RECORDS})"
                f" at {path}",
            )
        request = _request(record.numpy(), path, count)
        inputs = {
            name: tf.make_ndarray(tensor)
            for name, tensor in request.inputs.items()
        }
        servable.run(request.model_spec.signature_name, inputs)
    return count


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
