"""Warm-up requests, which the server runs when it loads a model.

The file is a TFRecord of `tensorflow.serving.PredictionLog`. It is read without
TensorFlow, as `c_api_checks` may not import it. A record is its length (8
bytes), a checksum of the length (4), its content, and a checksum of the content
(4), little-endian.

Source: the description in tensorflow/core/lib/io/record_writer.h.
"""

import os
import pathlib
import struct
from collections.abc import Iterator

from keras_transformer.contract.layout import SIGNATURES
from keras_transformer.contract.protobuf import message, string_tensor
from keras_transformer.system.crc32c import masked_crc32c

# The server refuses more than 1000 records; each signature has one for each
# text and one for a batch of them.
MAX_TEXTS = 1000 // len(SIGNATURES) - 1

# A server with batching refuses warm-up requests with more rows than
# `max_batch_size` in `exporting/templates/batching.config`, and then doesn't
# load the model.
MAX_BATCH = 32

_HEADER = struct.Struct("<QI")
_FOOTER = struct.Struct("<I")


def warmup_batches(inputs: dict[str, list[str]]) -> list[dict]:
    """Returns a batch for each row of the inputs, then one of several rows.

    The last batch has at most `MAX_BATCH` rows; a single row has none.
    """
    count = len(next(iter(inputs.values())))
    alone = [
        {name: values[row : row + 1] for name, values in inputs.items()}
        for row in range(count)
    ]
    if count == 1:
        return alone
    together = {name: values[:MAX_BATCH] for name, values in inputs.items()}
    return [*alone, together]


def write_warmup(
    path: str | os.PathLike, name: str, inputs: dict[str, dict]
) -> None:
    """Writes the requests of all signatures.

    Args:
        path: the file to write; its folder must exist.
        name: the model's name in requests.
        inputs: texts by signature and input name.
    """
    import tensorflow as tf

    with tf.io.TFRecordWriter(os.fspath(path)) as writer:
        for signature, all_values in inputs.items():
            for batch in warmup_batches(all_values):
                writer.write(_record(name, signature, batch))


def read_warmup(
    path: str | os.PathLike,
) -> Iterator[tuple[str, dict[str, list[bytes]]]]:
    """Reads the requests in a file, in order.

    Yields:
        The signature's name and `{input name: texts}`.

    Raises:
        ValueError: the file is damaged.
    """
    for record in read_records(path):
        request = message("PredictionLog").FromString(record)
        request = request.predict_log.request
        inputs = {
            name: list(tensor.string_val)
            for name, tensor in request.inputs.items()
        }
        yield request.model_spec.signature_name, inputs


def _record(name, signature, batch):
    """Returns one serialised request."""
    log = message("PredictionLog")()
    request = log.predict_log.request
    request.model_spec.name = name
    request.model_spec.signature_name = signature
    for key, values in batch.items():
        request.inputs[key].CopyFrom(string_tensor(values))
    return log.SerializeToString(deterministic=True)


def read_records(path: str | os.PathLike) -> Iterator[bytes]:
    """Reads the records of a file.

    Raises:
        ValueError: the file is cut off, or a checksum is wrong.
    """
    path = pathlib.Path(path)
    with path.open("rb") as file:
        number = 0
        while header := file.read(_HEADER.size):
            number += 1
            problem = ValueError(f"{path.name}: record {number} is damaged")
            if len(header) < _HEADER.size:
                raise problem
            length, check = _HEADER.unpack(header)
            if check != masked_crc32c(header[:8]):
                raise problem
            content = file.read(length)
            footer = file.read(_FOOTER.size)
            if len(footer) < _FOOTER.size or footer != _FOOTER.pack(
                masked_crc32c(content)
            ):
                raise problem
            yield content
