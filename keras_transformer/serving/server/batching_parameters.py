"""How requests are put together: TensorFlow Serving's batching file.

`tensorflow-serving-api` leaves the message `BatchingParameters` out, so its
fields are declared here. Source: session_bundle_config.proto of TensorFlow
Serving.
"""

import dataclasses
import functools
import os

from google.protobuf import (
    descriptor_pb2,
    descriptor_pool,
    message_factory,
    wrappers_pb2,
)

from keras_transformer.errors import InputError
from keras_transformer.machine import usable_cores
from keras_transformer.serving.server.model_config import read_text_proto

_FIELD = descriptor_pb2.FieldDescriptorProto
_PACKAGE = "keras_transformer.batching"
# Wrapped numbers, each with its field number.
_WRAPPED = {
    "max_batch_size": 1,
    "batch_timeout_micros": 2,
    "max_enqueued_batches": 3,
    "num_batch_threads": 4,
}


@dataclasses.dataclass(frozen=True)
class BatchingParameters:
    """Limits of the queues, with TensorFlow Serving's defaults.

    Attributes:
        max_batch_size: rows of a batch.
        batch_timeout_micros: how long a request waits for company, in
            microseconds, while a worker is free.
        max_enqueued_batches: that wait for a worker, for each signature of a
            version; what comes then is refused.
        num_batch_threads: workers; one a core if omitted.
    """

    max_batch_size: int = 1000
    batch_timeout_micros: int = 0
    max_enqueued_batches: int = 10
    num_batch_threads: int = dataclasses.field(default_factory=usable_cores)

    def __post_init__(self):
        for name in _WRAPPED:
            lowest = 0 if name == "batch_timeout_micros" else 1
            if getattr(self, name) < lowest:
                raise InputError(
                    f"{name} must be at least {lowest}. Received: "
                    f"{getattr(self, name)}"
                )


def read_batching_parameters(path: str | os.PathLike) -> BatchingParameters:
    """The parameters of a text proto; what it leaves out has its default.

    `allowed_batch_sizes` and `pad_variable_length_inputs` are read and have no
    effect: no shape is compiled, and requests of unlike shapes aren't joined.

    Raises:
        InputError: the file can't be read, or a value isn't accepted.
    """
    message = read_text_proto(path, _message_class()(), "BatchingParameters")
    values = {
        name: getattr(message, name).value
        for name in _WRAPPED
        if message.HasField(name)
    }
    try:
        return BatchingParameters(**values)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


@functools.cache
def _message_class():
    file = descriptor_pb2.FileDescriptorProto(
        name="keras_transformer/batching.proto",
        package=_PACKAGE,
        syntax="proto3",
        dependency=["google/protobuf/wrappers.proto"],
    )
    message = file.message_type.add(name="BatchingParameters")
    wrapped = {**dict.fromkeys(_WRAPPED, "Int64Value")}
    numbers = {**_WRAPPED, "thread_pool_name": 5}
    for name, number in numbers.items():
        kind = wrapped.get(name, "StringValue")
        message.field.add(
            name=name,
            number=number,
            label=_FIELD.LABEL_OPTIONAL,
            type=_FIELD.TYPE_MESSAGE,
            type_name=f".google.protobuf.{kind}",
        )
    message.field.add(
        name="allowed_batch_sizes",
        number=6,
        label=_FIELD.LABEL_REPEATED,
        type=_FIELD.TYPE_INT64,
    )
    message.field.add(
        name="pad_variable_length_inputs",
        number=7,
        label=_FIELD.LABEL_OPTIONAL,
        type=_FIELD.TYPE_BOOL,
    )
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(wrappers_pb2.DESCRIPTOR.serialized_pb)
    pool.Add(file)
    return message_factory.GetMessageClass(
        pool.FindMessageTypeByName(f"{_PACKAGE}.BatchingParameters")
    )
