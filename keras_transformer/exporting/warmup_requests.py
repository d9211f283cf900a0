"""Warm-up requests, which the server runs when it loads a model.

The file is a TFRecord of `tensorflow.serving.PredictionLog`, written and read
without TensorFlow. A record is its length (8 bytes), a checksum of the length
(4), its content, and a checksum of the content (4), little-endian. Checksums
are CRC-32C, rotated and moved, so that a record may hold records.

Source: the description in tensorflow/core/lib/io/record_writer.h; CRC-32C:
RFC 3720, appendix B.4.
"""

import functools
import os
import pathlib
import struct
from collections.abc import Iterable, Iterator

from keras_transformer.contract.layout import SIGNATURES
from keras_transformer.contract.protobuf import message, string_tensor

# The server refuses more than 1000 records: each text alone and one batch,
# for each signature.
MAX_TEXTS = 1000 // len(SIGNATURES) - 1

# A server that joins requests refuses one with more rows than its batches
# have (see `max_batch_size` in `export/templates/batching.config`), and
# doesn't load the model then.
MAX_BATCH = 32

_POLYNOMIAL = 0x82F63B78  # Castagnoli's, its bits reversed
_MASK = 0xA282EAD8
_HEADER = struct.Struct("<QI")
_FOOTER = struct.Struct("<I")


def warmup_batches(inputs: dict[str, list[str]]) -> list[dict]:
    """Each row of a signature's inputs alone, then all of them together.

    Of many, `MAX_BATCH` are together.
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
) -> int:
    """Writes the requests of all signatures.

    Args:
        path: of the file to write; its folder is there.
        name: the model's name, as requests give it.
        inputs: by signature, then by input: texts.

    Returns:
        The number of records.
    """
    return write_records(
        path,
        (
            _record(name, signature, batch)
            for signature, all_values in inputs.items()
            for batch in warmup_batches(all_values)
        ),
    )


def read_warmup(
    path: str | os.PathLike,
) -> Iterator[tuple[str, dict[str, list[bytes]]]]:
    """The requests in a file, in order.

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
    """One request, serialised."""
    log = message("PredictionLog")()
    request = log.predict_log.request
    request.model_spec.name = name
    request.model_spec.signature_name = signature
    for key, values in batch.items():
        request.inputs[key].CopyFrom(string_tensor(values))
    return log.SerializeToString(deterministic=True)


def write_records(path: str | os.PathLike, records: Iterable[bytes]) -> int:
    """Writes a file of records.

    Returns:
        their number.
    """
    count = 0
    with pathlib.Path(path).open("wb") as file:
        for content in records:
            length = struct.pack("<Q", len(content))
            file.write(length + _FOOTER.pack(_masked(length)))
            file.write(content + _FOOTER.pack(_masked(content)))
            count += 1
    return count


def read_records(path: str | os.PathLike) -> Iterator[bytes]:
    """The records of a file.

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
            if check != _masked(header[:8]):
                raise problem
            content = file.read(length)
            footer = file.read(_FOOTER.size)
            if len(footer) < _FOOTER.size or footer != _FOOTER.pack(
                _masked(content)
            ):
                raise problem
            yield content


@functools.cache
def _table():
    """The checksum of each byte."""
    table = []
    for value in range(256):
        for _ in range(8):
            value = (value >> 1) ^ (_POLYNOMIAL if value & 1 else 0)
        table.append(value)
    return table


def crc32c(data: bytes) -> int:
    """The CRC-32C of bytes."""
    table = _table()
    crc = 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def _masked(data):
    crc = crc32c(data)
    return (((crc >> 15) | (crc << 17)) + _MASK) & 0xFFFFFFFF
