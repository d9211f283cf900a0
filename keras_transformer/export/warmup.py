"""Requests with which the server warms a model up when it loads it.

The file is a TFRecord of `tensorflow.serving.PredictionLog`. The few messages
that it takes are declared here with their field numbers, so that the package
`tensorflow-serving-api` isn't needed. Tensors are declared as bytes: on the
wire a message inside a message is just that.

Source of the numbers: tensorflow_serving/apis/{prediction_log,predict,
model}.proto of TensorFlow Serving, the same from 1.x to 2.21.
"""

import functools
import os
from collections.abc import Iterator

import tensorflow as tf
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from keras_transformer.export.layout import SIGNATURES

# The server refuses more than 1000 records: each text alone and one batch
# of all, for each signature.
MAX_TEXTS = 1000 // len(SIGNATURES) - 1

_PACKAGE = "keras_transformer.warmup"
_FIELD = descriptor_pb2.FieldDescriptorProto


@functools.cache
def _prediction_log():
    """The class of `PredictionLog` messages."""
    file = descriptor_pb2.FileDescriptorProto(
        name="keras_transformer/warmup.proto", package=_PACKAGE, syntax="proto3"
    )

    def message(name, parent=file.message_type):
        return parent.add(name=name)

    def field(owner, name, number, kind, many=False):
        added = owner.field.add(
            name=name,
            number=number,
            label=_FIELD.LABEL_REPEATED if many else _FIELD.LABEL_OPTIONAL,
        )
        if isinstance(kind, str):
            added.type = _FIELD.TYPE_MESSAGE
            added.type_name = f".{_PACKAGE}.{kind}"
        else:
            added.type = kind

    model = message("ModelSpec")
    field(model, "name", 1, _FIELD.TYPE_STRING)
    field(model, "signature_name", 3, _FIELD.TYPE_STRING)

    request = message("PredictRequest")
    entry = message("InputsEntry", request.nested_type)
    entry.options.map_entry = True
    field(entry, "key", 1, _FIELD.TYPE_STRING)
    field(entry, "value", 2, _FIELD.TYPE_BYTES)
    field(request, "model_spec", 1, "ModelSpec")
    field(request, "inputs", 2, "PredictRequest.InputsEntry", many=True)

    field(message("PredictLog"), "request", 1, "PredictRequest")
    field(message("PredictionLog"), "predict_log", 6, "PredictLog")

    # A pool of its own: the default one may hold the real messages as well.
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(
        pool.FindMessageTypeByName(f"{_PACKAGE}.PredictionLog")
    )


def warmup_batches(inputs: dict[str, list[str]]) -> list[dict]:
    """Each row of a signature's inputs alone, then all of them together."""
    count = len(next(iter(inputs.values())))
    alone = [
        {name: values[row : row + 1] for name, values in inputs.items()}
        for row in range(count)
    ]
    return [*alone, inputs] if count > 1 else alone


def write_warmup(path, name: str, inputs: dict[str, dict]) -> int:
    """Writes the requests of all signatures.

    Args:
        path: of the file to write; its folder is there.
        name: the model's name, as requests give it.
        inputs: by signature, then by input: texts.

    Returns:
        The number of records.
    """
    count = 0
    with tf.io.TFRecordWriter(os.fspath(path)) as writer:
        for signature, all_values in inputs.items():
            for batch in warmup_batches(all_values):
                log = _prediction_log()()
                request = log.predict_log.request
                request.model_spec.name = name
                request.model_spec.signature_name = signature
                for key, values in batch.items():
                    tensor = tf.constant(values, tf.string)
                    serialized = tf.io.serialize_tensor(tensor)
                    request.inputs[key] = serialized.numpy()
                writer.write(log.SerializeToString())
                count += 1
    return count


def read_warmup(path) -> Iterator[tuple[str, dict[str, list[bytes]]]]:
    """The requests in a file, in order.

    Yields:
        The signature's name and `{input name: texts}`.
    """
    for record in tf.data.TFRecordDataset(os.fspath(path)):
        log = _prediction_log().FromString(record.numpy())
        request = log.predict_log.request
        inputs = {
            name: tf.io.parse_tensor(tensor, tf.string).numpy().tolist()
            for name, tensor in request.inputs.items()
        }
        yield request.model_spec.signature_name, inputs
