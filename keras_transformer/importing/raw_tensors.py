"""Tensors stored as raw data with an index: safetensors and TensorFlow.

Every size that a file claims is checked against the file before memory is
allocated. TensorFlow isn't used to read its checkpoints, as it would end the
process if the index was forged.
"""

import collections
import contextlib
import json
import math
import pathlib
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator

import numpy as np

from keras_transformer.errors import InputError, shown
from keras_transformer.system.crc32c import masked_crc32c
from keras_transformer.system.files import read_bytes

_SAFETENSORS = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "BF16": "bfloat16",
    "I64": "<i8",
    "I32": "<i4",
}
# TensorFlow's DT_FLOAT, DT_DOUBLE, DT_BFLOAT16 and DT_HALF.
_CHECKPOINTS = {1: "<f4", 2: "<f8", 14: "bfloat16", 19: "<f2"}
# A header of 100 MB is the format's own limit.
_LARGEST_HEADER = 100_000_000
_MOST_AXES = 64  # NumPy's limit.
# Limits of a checkpoint's index: bytes, entries, and bytes of a name.
_LARGEST_INDEX, _MOST_ENTRIES, _LONGEST_NAME = 1 << 24, 1 << 17, 1 << 12
_MOST_BLOCKS = 1 << 13  # of the index; LevelDB's have 4 KiB, TensorFlow's more
_FOOTER, _MAGIC = 48, bytes.fromhex("57fb808b247547db")  # of LevelDB's tables
# Prefix and suffix of a model's variables in TensorFlow's checkpoints.
_MODEL, _VALUE = "model/", "/.ATTRIBUTES/VARIABLE_VALUE"
_SLOT = "/.OPTIMIZER_SLOT/"  # Marks an optimizer's state of a variable.
# Errors that Python and NumPy raise while reading a damaged file.
_DAMAGE = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)


def read_safetensors(path: pathlib.Path) -> dict[str, np.ndarray]:
    """Reads the tensors of a safetensors file.

    Returns:
        arrays by name, which are read from the disk when they are used;
        bfloat16 and float16 are converted to float32.

    Raises:
        InputError: the file can't be read, is damaged, or is quantised.
    """
    path = pathlib.Path(path)
    with reading(path, "a safetensors file"):
        size = path.stat().st_size
        with path.open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            if length > min(size - 8, _LARGEST_HEADER):
                raise ValueError(f"a header of {length} bytes in {size}")
            header = json.loads(file.read(length))
        header.pop("__metadata__", None)
        data = np.zeros(0, np.uint8)
        if size > 8 + length:
            data = np.memmap(path, np.uint8, "r", offset=8 + length)
        _check_apart(entry["data_offsets"] for entry in header.values())
        return {
            name: _safetensor(name, entry, data)
            for name, entry in header.items()
        }


def _safetensor(name, entry, data):
    begin, end = entry["data_offsets"]
    dtype = entry["dtype"]
    if dtype not in _SAFETENSORS:
        raise ValueError(
            f"{shown(name)} is {shown(dtype)}, as in quantised models"
        )
    return as_array(
        name, data[begin:end], _SAFETENSORS[dtype], entry["shape"], end - begin
    )


def _check_apart(ranges: Iterable) -> None:
    """Refuses tensors whose bytes overlap.

    Otherwise a small file could have any number of tensors, all of which are
    converted.

    Args:
        ranges: begin and end of each tensor.
    """
    last = 0
    for begin, end in sorted(tuple(offsets) for offsets in ranges):
        if type(begin) is not int or type(end) is not int or begin < 0:
            raise ValueError("a tensor whose place is no number")
        if begin < end:
            if begin < last:
                raise ValueError("tensors that overlap")
            last = end


def read_checkpoint(prefix: pathlib.Path) -> dict[str, np.ndarray]:
    """Reads the model's variables of a TensorFlow 2 checkpoint.

    Args:
        prefix: path of the checkpoint, for example `ckpt-1000`.

    Returns:
        float32 arrays by name, most of which stay on the disk until they are
        used.

    Raises:
        InputError: the checkpoint can't be read, or claims more than its files
            contain.
    """
    prefix = pathlib.Path(prefix)
    content = read_bytes(f"{prefix}.index", largest=_LARGEST_INDEX)
    with reading(prefix, "a checkpoint"):
        entries, shards = _entries(content)
        extents = collections.defaultdict(list)
        for name, entry in entries.items():
            if not 0 <= entry.shard_id < shards:
                raise ValueError(
                    f"{name} is in file {entry.shard_id}, of {shards} from 0"
                )
            extent = entry.offset, entry.offset + entry.size
            extents[entry.shard_id].append(extent)
        for of_file in extents.values():
            _check_apart(of_file)
        files = {}
        variables = {}
        for name, entry in entries.items():
            shard = f"{entry.shard_id:05}-of-{shards:05}"
            if shard not in files:
                files[shard] = np.memmap(f"{prefix}.data-{shard}", mode="r")
            variables[name] = _variable(name, entry, files[shard])
        return variables


def _entries(content):
    """Reads the index entries of the model's variables.

    Args:
        content: the index file, bytes.

    Returns:
        entries by the variables' short names, and the number of files.
    """
    # Imported late, as both imports are slow.
    from google.protobuf.message import DecodeError
    from tensorflow.core.protobuf import tensor_bundle_pb2

    entries = {}
    shards = 0
    for key, value in _table(content):
        name = key.decode()
        try:
            if not name:  # the header, the first entry
                header = tensor_bundle_pb2.BundleHeaderProto.FromString(value)
                if header.endianness != header.LITTLE:
                    raise ValueError(
                        "big-endian numbers, which aren't supported"
                    )
                shards = header.num_shards
            is_variable = name.startswith(_MODEL) and name.endswith(_VALUE)
            if is_variable and _SLOT not in name:
                entry = tensor_bundle_pb2.BundleEntryProto.FromString(value)
                entries[name[len(_MODEL) : -len(_VALUE)]] = entry
        except DecodeError:
            raise ValueError(f"no entry of a checkpoint: {name}") from None
    return entries, shards


def _variable(name, entry, data):
    if entry.dtype not in _CHECKPOINTS:
        raise ValueError(f"{name} isn't numbers of a model")
    if entry.slices or entry.shape.unknown_rank:
        raise ValueError(f"{name} is stored in parts")
    shape = [axis.size for axis in entry.shape.dim]
    own = data[entry.offset : entry.offset + entry.size]
    dtype = _CHECKPOINTS[entry.dtype]
    array = as_array(name, own, dtype, shape, entry.size)
    if masked_crc32c(own) != entry.crc32c:
        raise ValueError(f"{name} has another checksum")
    return array.astype(np.float32, copy=False)


def _table(content) -> Iterator[tuple[bytes, bytes]]:
    """Yields the keys and values of a LevelDB table."""
    footer = content[-_FOOTER:]
    if len(footer) < _FOOTER or not footer.endswith(_MAGIC):
        raise ValueError("no table at its end")
    at = 0
    for _ in range(2):  # Skips the handle of the metaindex, which isn't used.
        _, at = _varint(footer, at)
    count, left = 0, len(content)
    for number, (_, handle) in enumerate(_block(content, footer, at), 1):
        if number > _MOST_BLOCKS:
            raise ValueError(f"more than {_MOST_BLOCKS:,} parts of a list")
        left -= _varint(handle, _varint(handle, 0)[1])[0]
        if left < 0:
            raise ValueError("a list that is read more than once")
        for pair in _block(content, handle, 0):
            count += 1
            if count > _MOST_ENTRIES:
                raise ValueError(f"more than {_MOST_ENTRIES:,} entries")
            yield pair


def _block(content, handle, at):
    """Yields keys and values of the block whose handle begins at `at`."""
    begin, at = _varint(handle, at)
    size, _ = _varint(handle, at)
    end = begin + size
    block = content[begin:end]
    kind, checksum = struct.unpack_from("<BI", content, end)
    if kind or masked_crc32c(content[begin : end + 1]) != checksum:
        raise ValueError("a list that is compressed or has another checksum")
    (restarts,) = struct.unpack("<I", block[-4:])
    end = len(block) - 4 - 4 * restarts
    key, at = b"", 0
    while at < end:
        shared, at = _varint(block, at)
        own, at = _varint(block, at)
        length, at = _varint(block, at)
        if shared > len(key) or shared + own > _LONGEST_NAME:
            raise ValueError("a name that is too long")
        if at + own + length > end:
            raise ValueError("an entry beyond its list")
        key = key[:shared] + block[at : at + own]
        at += own
        yield key, block[at : at + length]
        at += length


def _varint(content, at) -> tuple[int, int]:
    """Decodes a varint, lowest bits first; returns it and its end."""
    number = 0
    for shift in range(0, 64, 7):
        byte = content[at]
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, at
    raise ValueError("a number without end")


def as_array(
    name: str, data: np.ndarray, dtype: str, shape: Iterable, size: int
) -> np.ndarray:
    """Converts bytes to an array of numbers.

    Args:
        name: the tensor's name, for errors.
        data: uint8 array.
        dtype: a NumPy dtype, or "bfloat16".
        shape: the shape that the file claims.
        size: the size that the file claims, in bytes.

    Raises:
        ValueError: the sizes don't match.
    """
    shape = tuple(shape)
    width = 2 if dtype == "bfloat16" else np.dtype(dtype).itemsize
    if len(shape) > _MOST_AXES or any(
        type(n) is not int or n < 0 for n in shape
    ):
        raise ValueError(f"{shown(name)} has the shape {shown([*shape], 60)}")
    expected = math.prod(shape) * width
    if not len(data) == size == expected:
        raise ValueError(
            f"{shown(name)} takes {shown(expected)} bytes, of which "
            f"{len(data)} are there"
        )
    return as_float32(data, dtype).reshape(shape)


def as_float32(data: np.ndarray, dtype: str) -> np.ndarray:
    """Converts uint8 to numbers; half precision becomes float32."""
    if dtype == "bfloat16":  # the upper half of a float32
        return (data.view("<u2").astype("<u4") << 16).view("<f4")
    values = data.view(dtype)
    return values.astype(np.float32) if values.dtype == "<f2" else values


@contextlib.contextmanager
def reading(path: pathlib.Path, kind: str) -> Iterator[None]:
    """Turns the errors of reading a file into an `InputError` that names it.

    Args:
        path: path of the file.
        kind: expected kind of file, for the message.
    """
    try:
        yield
    except OSError as error:
        name, reason = error.filename or path, error.strerror or str(error)
        raise InputError(f"{name}: {reason}") from None
    except _DAMAGE as error:
        said = "".join(c if c.isprintable() else " " for c in str(error)[:1000])
        reason = " ".join(said.split())[:200] or type(error).__name__
        raise InputError(f"{path}: damaged, or not {kind}: {reason}") from None
