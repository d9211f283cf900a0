"""Tensors of `torch.save` and of NumPy's `.npz`, read without running code.

Every size that a file claims is checked against the file before memory is
allocated. The pickle in PyTorch's files could call any function, and could keep
Python's unpickler busy forever. So it is interpreted here, with only the
opcodes and the three functions that a dictionary of tensors needs; all others
are refused.
"""

import contextlib
import io
import math
import pathlib
import pickletools
import tokenize
import zipfile
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from keras_transformer.errors import InputError, shown
from keras_transformer.importing.raw_tensors import (
    as_array,
    as_float32,
    reading,
)

_STORAGES = {
    "FloatStorage": "<f4",
    "HalfStorage": "<f2",
    "DoubleStorage": "<f8",
    "LongStorage": "<i8",
    "IntStorage": "<i4",
    "BFloat16Storage": "bfloat16",
}
# Trained weights hardly compress, and few names share a tensor.
_LARGEST_RATIO = 20
# Limits of a pickle, which has names, shapes and offsets of tensors: bytes,
# opcodes, and axes of a tensor (NumPy's limit).
_LARGEST_PICKLE, _MOST_OPCODES, _MOST_AXES = 1 << 25, 1 << 20, 64
# Files of PyTorch before 1.6, as of many OPUS-MT models on the hub, begin with
# a pickle of this number; more pickles follow, then the storages.
_BEFORE_1_6 = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."
_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def read_npz(path: pathlib.Path) -> dict[str, np.ndarray]:
    """Reads the arrays of an `.npz` file by name.

    Raises:
        InputError: the file can't be read, is damaged, or claims more than it
            contains.
    """
    with reading(path, "an .npz file"), _open_archive(path) as archive:
        return {
            name.removesuffix(".npy"): _npy(name, _read(archive, name))
            for name in archive.namelist()
        }


def _npy(name, content):
    file = io.BytesIO(content)
    version = np.lib.format.read_magic(file)
    read = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }[version]
    try:
        shape, by_columns, dtype = read(file)
    except (MemoryError, tokenize.TokenError):  # from Python's parser
        raise ValueError(f"{shown(name)} has no header") from None
    if dtype.kind not in "fiu":
        raise ValueError(f"{shown(name)} is {shown(str(dtype))}")
    rest = np.frombuffer(content, np.uint8, offset=file.tell())
    order = shape[::-1] if by_columns else shape
    values = as_array(name, rest, dtype.str, order, len(rest))
    return values.T if by_columns else values


def read_state_dict(path: pathlib.Path) -> dict[str, np.ndarray]:
    """Reads the tensors of a file of `torch.save` by name.

    Raises:
        InputError: the file can't be read, is damaged, or calls a function that
            tensors don't need.
    """
    with reading(path, "a state dictionary that torch.save wrote"):
        with path.open("rb") as file:
            if file.read(len(_BEFORE_1_6)) == _BEFORE_1_6:
                return _in_sequence(file)
        return _in_archive(path)


def _in_archive(path):
    with _open_archive(path) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith("/data.pkl"))
        if archive.getinfo(name).file_size > _LARGEST_PICKLE:
            raise ValueError(f"a pickle of more than {_LARGEST_PICKLE} bytes")
        root = name.removesuffix("data.pkl")
        return _tensors(
            _Unpickler().load(io.BytesIO(_read(archive, name))),
            lambda storage: _read(archive, f"{root}data/{storage.name}"),
            sum(entry.file_size for entry in archive.infolist()),
        )


def _in_sequence(file):
    """Reads the tensors of a file of PyTorch before 1.6."""
    content = np.memmap(file, np.uint8, "r")
    pickles = io.BytesIO(content[:_LARGEST_PICKLE].tobytes())
    pickles.seek(len(_BEFORE_1_6))
    for _ in range(2):  # Skips the version and the writing machine.
        for _ in _opcodes(pickles):
            pass
    state = _Unpickler().load(pickles)
    dtypes = dict(tensor.storage for tensor in state.values())
    names = [text for name, text in _opcodes(pickles) if name == "BINUNICODE"]
    places, end = {}, pickles.tell()
    for name in names:
        begin = end + 8
        count = int.from_bytes(content[end:begin].tobytes(), "little")
        dtype = dtypes[name].replace("bfloat16", "<u2")
        end = begin + count * np.dtype(dtype).itemsize
        places[name] = slice(begin, end)
    return _tensors(
        state, lambda storage: content[places[storage.name]], len(content)
    )


def _tensors(state, read, size):
    """Reads the tensors that a pickle describes.

    Args:
        state: `_Tensor` by name.
        read: function that returns the bytes of a `_Storage`.
        size: upper bound of the bytes of all storages.
    """
    left = _LARGEST_RATIO * size
    storages: dict[_Storage, np.ndarray] = {}
    values = {}
    for name, tensor in state.items():
        storage = tensor.storage
        if storage not in storages:
            data = np.frombuffer(read(storage), np.uint8)
            storages[storage] = as_float32(data, storage.dtype)
        values[name] = tensor.of(storages[storage])
        left -= values[name].nbytes
        if left < 0:
            raise ValueError("tensors that share what is there too often")
    return values


def _opcodes(file) -> Iterator[tuple[str, Any]]:
    """Yields the opcodes of a pickle and their arguments, to its end."""
    steps = enumerate(pickletools.genops(file))
    for count, (opcode, argument, _) in steps:
        if count > _MOST_OPCODES:
            raise ValueError(f"a pickle of more than {_MOST_OPCODES} steps")
        yield opcode.name, argument


class _Storage(NamedTuple):
    """Storage of tensors' numbers: its name in the file, and dtype."""

    name: str
    dtype: str


class _Tensor(NamedTuple):
    """A tensor as described by the pickle, before its numbers are read."""

    storage: _Storage
    offset: int
    shape: tuple
    strides: tuple

    def of(self, values: np.ndarray) -> np.ndarray:
        """Returns the tensor; refuses strides that reach beyond the storage."""
        offset, shape, strides = self[1:]
        count = math.prod(shape)
        steps = zip(shape, strides, strict=True)
        last = offset + sum((n - 1) * stride for n, stride in steps)
        if count > len(values) or (count and last >= len(values)):
            raise ValueError(
                f"a tensor of shape {shown(shape)} beyond its storage"
            )
        width = values.itemsize
        return np.lib.stride_tricks.as_strided(
            values[offset:], shape, [stride * width for stride in strides]
        ).copy()


class _Unpickler:
    """Reads a dictionary of tensors, and nothing else.

    Values are never compared, hashed or printed before their types are checked:
    a few opcodes can build tuples for which that takes years.
    """

    def __init__(self):
        self._stack: list[Any] = []
        self._marks: list[int] = []
        self._kept: dict[int, Any] = {}

    def load(self, file) -> dict[str, _Tensor]:
        """Returns the dictionary of tensors in a pickle.

        Raises:
            ValueError: it has another value.
        """
        for name, argument in _opcodes(file):
            self._step(name, argument)
        state = self._stack.pop()
        if type(state) is not dict or not all(
            type(value) is _Tensor for value in state.values()
        ):
            raise ValueError("no dictionary of tensors")
        return state

    def _step(self, opcode, argument):
        """Runs an opcode; refuses those that torch.save doesn't write."""
        stack = self._stack
        match opcode:
            case "PROTO" | "STOP":
                pass
            case "BINUNICODE" | "BININT" | "BININT1" | "BININT2" | "LONG1":
                stack.append(argument)
            case "NONE" | "NEWFALSE" | "NEWTRUE":
                stack.append({"NEWFALSE": False, "NEWTRUE": True}.get(opcode))
            case "EMPTY_DICT":
                stack.append({})
            case "MARK":
                self._marks.append(len(stack))
            case "EMPTY_TUPLE":
                stack.append(())
            case "TUPLE1" | "TUPLE2" | "TUPLE3":
                stack.append(self._popped(len(stack) - int(opcode[-1])))
            case "TUPLE":
                stack.append(self._popped(self._marks.pop()))
            case "SETITEM":
                self._set_items(self._popped(len(stack) - 2))
            case "SETITEMS":
                self._set_items(self._popped(self._marks.pop()))
            case "GLOBAL":
                stack.append(self.find_class(*argument.split(" ", 1)))
            case "BINPERSID":
                stack.append(_storage(stack.pop()))
            case "REDUCE":
                arguments = stack.pop()
                stack.append(_called(stack.pop(), arguments))
            case "BUILD":
                stack.pop()  # attributes, such as PyTorch's _metadata
            case "BINPUT" | "LONG_BINPUT":
                self._kept[argument] = stack[-1]
            case "BINGET" | "LONG_BINGET":
                stack.append(self._kept[argument])
            case _:
                raise ValueError(
                    f"{opcode} in a pickle, which no dictionary of tensors has"
                )

    def _popped(self, begin):
        """Pops all values of the stack from an index on, as a tuple."""
        if begin < 0:
            raise ValueError("a pickle that takes what isn't there")
        values = tuple(self._stack[begin:])
        del self._stack[begin:]
        return values

    def _set_items(self, items):
        target = self._stack[-1]
        if type(target) is not dict:
            raise ValueError("a pickle that fills what is no dictionary")
        for key, value in zip(items[::2], items[1::2], strict=True):
            if type(key) is not str:
                raise ValueError("a dictionary whose keys aren't text")
            target[key] = value

    def find_class(self, module, name):
        """Returns the stand-in for an allowed function or class."""
        functions: dict[tuple[str, str], Callable] = {
            ("collections", "OrderedDict"): dict,
            ("torch._utils", "_rebuild_tensor_v2"): _tensor,
            ("torch._utils", "_rebuild_parameter"): lambda data, *_: data,
        }
        if (module, name) in functions:
            return functions[module, name]
        if module == "torch" and name in _STORAGES:
            return _STORAGES[name]
        raise ValueError(f"it asks for {module}.{name}, which no tensor needs")


def _called(function, arguments):
    if not callable(function) or type(arguments) is not tuple:
        raise ValueError("a pickle that calls what is no function")
    if function is dict and arguments:
        raise ValueError("a dictionary that is made of something")
    return function(*arguments)


def _storage(key):
    _, dtype, name, _, _, *_ = key
    if type(dtype) is not str or type(name) is not str:
        raise ValueError("a storage without a name")
    if dtype not in _STORAGES.values():
        raise ValueError(f"a storage of {shown(dtype)}")
    return _Storage(name, dtype)


def _tensor(storage, offset, shape, strides, *_):
    if type(storage) is not _Storage:
        raise ValueError("a tensor of what is no storage")
    if type(shape) is not tuple or type(strides) is not tuple:
        raise ValueError("a tensor without a shape")
    if not len(shape) == len(strides) <= _MOST_AXES or any(
        type(n) is not int or n < 0 for n in (offset, *shape, *strides)
    ):
        raise ValueError("a tensor of shape or strides that can't be")
    return _Tensor(storage, offset, shape, strides)


def _read(archive, name):
    """Reads a member of an archive, at most one byte more than it claims."""
    with archive.open(name) as member:
        return member.read(archive.getinfo(name).file_size + 1)


@contextlib.contextmanager
def _open_archive(path) -> Iterator[zipfile.ZipFile]:
    """Opens a zip file that doesn't expand to much more than its size.

    Raises:
        InputError: the file expands to more than 20 times its size.
        ValueError: it has another compression than PyTorch and NumPy use, or a
            name occurs more than once.
        zipfile.BadZipFile: it isn't a zip file.
    """
    size = pathlib.Path(path).stat().st_size
    with zipfile.ZipFile(path) as archive:
        entries, names = archive.infolist(), archive.namelist()
        unpacked = sum(entry.file_size for entry in entries)
        if unpacked > _LARGEST_RATIO * size:
            raise InputError(
                f"{path}: {size} bytes that unpack to {unpacked}. Accepted: at "
                f"most {_LARGEST_RATIO} times as many"
            )
        if any(e.compress_type not in _COMPRESSIONS for e in entries):
            raise ValueError("compressed otherwise than zip files mostly are")
        if len(set(names)) < len(names):
            # Reading by name would read the last one several times.
            raise ValueError("a name that occurs more than once")
        yield archive
