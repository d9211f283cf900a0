"""TFRecord files without TensorFlow.

A record is its length (8 bytes), a check sum of the length (4), its content,
and a check sum of the content (4), little-endian. Check sums are CRC-32C,
rotated and moved, so that a record may hold records.

Source: the description in tensorflow/core/lib/io/record_writer.h; CRC-32C:
RFC 3720, appendix B.4.
"""

import functools
import os
import struct
from collections.abc import Iterable, Iterator

_POLYNOMIAL = 0x82F63B78  # Castagnoli's, its bits reversed
_MASK = 0xA282EAD8
_HEADER = struct.Struct("<QI")
_FOOTER = struct.Struct("<I")


def write_records(path, records: Iterable[bytes]) -> int:
    """Writes a file of records.

    Returns:
        their number.
    """
    count = 0
    with open(path, "wb") as file:
        for content in records:
            length = struct.pack("<Q", len(content))
            file.write(length + _FOOTER.pack(_masked(length)))
            file.write(content + _FOOTER.pack(_masked(content)))
            count += 1
    return count


def read_records(path) -> Iterator[bytes]:
    """The records of a file.

    Raises:
        ValueError: the file is cut off, or a check sum is wrong.
    """
    name = os.path.basename(os.fspath(path))
    with open(path, "rb") as file:
        number = 0
        while header := file.read(_HEADER.size):
            number += 1
            problem = ValueError(f"{name}: record {number} is damaged")
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
    """The check sum of each byte."""
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
