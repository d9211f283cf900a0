"""Tensors of zip files, read as data: nothing in them is run.

The files of `torch.save` and NumPy's `.npz`. Every size that a file claims is
checked against the file before memory is taken for it. The pickle in PyTorch's
files can call any function there is, and Python's own reader can be kept busy
without end. So it is read here, by the few opcodes and the three functions that
a dictionary of tensors needs; all others are refused.
"""

import io
import math
import pathlib
import pickletools
import tokenize
import zipfile
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from keras_transformer.errors import InputError, shown
from keras_transformer.importing.raw_tensors import (
    DAMAGE,
    as_array,
    as_float32,
    damaged,
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
# Of a pickle, which has names, shapes and places of tensors: bytes, opcodes,
# and axes of a tensor, NumPy's limit.
_LARGEST_PICKLE, _MOST_OPCODES, _MOST_AXES = 1 << 25, 1 << 20, 64
_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_DAMAGE = (*DAMAGE, zipfile.BadZipFile, zlib.error)


def read_npz(path: pathlib.Path) -> dict[str, np.ndarray]:
    """The arrays of an `.npz` file, by their names.

    Raises:
        InputError: it can't be read, is damaged, or claims more than it has.
    """
    try:
        with _open_archive(path) as archive:
            return {
                name.removesuffix(".npy"): _npy(name, archive.read(name))
                for name in archive.namelist()
            }
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    except _DAMAGE as error:
        raise damaged(path, "an .npz file", error) from None


def _npy(name, content):
    file = io.BytesIO(content)
    version = np.lib.format.read_magic(file)
    read = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }[version]
    try:
        shape, by_columns, dtype = read(file)
    except (MemoryError, tokenize.TokenError):  # Python's parser has these.
        raise ValueError(f"{shown(name)} has no header") from None
    if dtype.kind not in "fiu":
        raise ValueError(f"{shown(name)} is {shown(str(dtype))}")
    rest = np.frombuffer(content, np.uint8, offset=file.tell())
    order = shape[::-1] if by_columns else shape
    values = as_array(name, rest, dtype.str, order, len(rest))
    return values.T if by_columns else values


def read_state_dict(path: pathlib.Path) -> dict[str, np.ndarray]:
    """The tensors of a zip file of `torch.save`, by their names.

    Raises:
        InputError: it can't be read, is damaged, of the format before
            PyTorch 1.6, or calls what no tensor needs.
    """
    try:
        with _open_archive(path) as archive:
            (name,) = (n for n in archive.namelist() if n.endswith("/data.pkl"))
            if archive.getinfo(name).file_size > _LARGEST_PICKLE:
                raise ValueError(
                    f"a pickle of more than {_LARGEST_PICKLE} bytes"
                )
            root = name.removesuffix("data.pkl")
            state = _Unpickler(archive, root).load(archive.read(name))
            if type(state) is not dict or not all(
                type(value) is np.ndarray for value in state.values()
            ):
                raise ValueError("no dictionary of tensors")
            return state
    except zipfile.BadZipFile:
        raise InputError(
            f"{path}: no zip file. Files of torch.save before PyTorch 1.6 "
            "aren't read. Accepted: model.safetensors, or a file that a newer "
            "PyTorch saved"
        ) from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    except _DAMAGE as error:
        raise damaged(
            path, "a state dictionary that torch.save wrote", error
        ) from None


class _Storage(NamedTuple):
    """Numbers of which tensors are made, as the file has them.

    Nothing else is taken for one: a tensor may have a first axis of any
    length, without a number in it.
    """

    values: np.ndarray  # (n,)


class _Unpickler:
    """Reads tensors and their dictionary, and nothing else.

    Values are never compared, hashed or shown before their types are known:
    a few opcodes make tuples that would take years.
    """

    def __init__(self, archive, root):
        self._archive = archive
        self._root = root
        self._stack: list[Any] = []
        self._marks: list[int] = []
        self._kept: dict[int, Any] = {}
        self._storages: dict[tuple[str, str], _Storage] = {}
        unpacked = sum(entry.file_size for entry in archive.infolist())
        self._left = _LARGEST_RATIO * unpacked  # bytes of all tensors

    def load(self, content):
        """The value of a pickle."""
        steps = enumerate(pickletools.genops(content))
        for count, (opcode, argument, _) in steps:
            if count > _MOST_OPCODES:
                raise ValueError(f"a pickle of more than {_MOST_OPCODES} steps")
            self._step(opcode.name, argument)
        return self._stack.pop()

    def _step(self, opcode, argument):
        """Runs an opcode, of those that torch.save writes."""
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
                stack.append(self._storage(stack.pop()))
            case "REDUCE":
                arguments = stack.pop()
                stack.append(_called(stack.pop(), arguments))
            case "BUILD":
                stack.pop()  # Attributes, such as PyTorch's _metadata.
            case "BINPUT" | "LONG_BINPUT":
                self._kept[argument] = stack[-1]
            case "BINGET" | "LONG_BINGET":
                stack.append(self._kept[argument])
            case _:
                raise ValueError(
                    f"{opcode} in a pickle, which no dictionary of tensors has"
                )

    def _popped(self, begin):
        """The values from a place of the stack on, a tuple."""
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
        """Stand-in for a function or class."""
        functions: dict[tuple[str, str], Callable] = {
            ("collections", "OrderedDict"): dict,
            ("torch._utils", "_rebuild_tensor_v2"): self._tensor,
            ("torch._utils", "_rebuild_parameter"): lambda data, *_: data,
        }
        if (module, name) in functions:
            return functions[module, name]
        if module == "torch" and name in _STORAGES:
            return _STORAGES[name]
        raise ValueError(f"it asks for {module}.{name}, which no tensor needs")

    def _storage(self, key):
        _, dtype, name, _, _ = key
        if type(dtype) is not str or type(name) is not str:
            raise ValueError("a storage without a name")
        if dtype not in _STORAGES.values():
            raise ValueError(f"a storage of {shown(dtype)}")
        if (name, dtype) not in self._storages:
            content = self._archive.read(f"{self._root}data/{name}")
            data = np.frombuffer(content, np.uint8)
            self._storages[name, dtype] = _Storage(as_float32(data, dtype))
        return self._storages[name, dtype]

    def _tensor(self, *arguments):
        tensor = _tensor(*arguments)
        self._left -= tensor.nbytes
        if self._left < 0:
            raise ValueError("tensors that share what is there too often")
        return tensor


def _called(function, arguments):
    if not callable(function) or type(arguments) is not tuple:
        raise ValueError("a pickle that calls what is no function")
    if function is dict and arguments:
        raise ValueError("a dictionary that is made of something")
    return function(*arguments)


def _tensor(storage, offset, shape, strides, *_):
    """A tensor within its storage; no stride reaches beyond it."""
    if type(storage) is not _Storage:
        raise ValueError("a tensor of what is no storage")
    if type(shape) is not tuple or type(strides) is not tuple:
        raise ValueError("a tensor without a shape")
    if not len(shape) == len(strides) <= _MOST_AXES or any(
        type(n) is not int or n < 0 for n in (offset, *shape, *strides)
    ):
        raise ValueError("a tensor of shape or strides that can't be")
    values = storage.values
    count = math.prod(shape)
    steps = zip(shape, strides, strict=True)
    last = offset + sum((n - 1) * stride for n, stride in steps)
    if count > len(values) or (count and last >= len(values)):
        raise ValueError(f"a tensor of shape {shown(shape)} beyond its storage")
    width = values.itemsize
    return np.lib.stride_tricks.as_strided(
        values[offset:], shape, [stride * width for stride in strides]
    ).copy()


def _open_archive(path) -> zipfile.ZipFile:
    """A zip file that doesn't unpack to much more than it is.

    Raises:
        InputError: it does.
        ValueError: it is compressed as neither program compresses.
        zipfile.BadZipFile: it isn't one.
    """
    size = pathlib.Path(path).stat().st_size
    archive = zipfile.ZipFile(path)
    unpacked = sum(entry.file_size for entry in archive.infolist())
    if unpacked > _LARGEST_RATIO * size:
        archive.close()
        raise InputError(
            f"{path}: {size} bytes that unpack to {unpacked}. Accepted: at "
            f"most {_LARGEST_RATIO} times as many"
        )
    if any(e.compress_type not in _COMPRESSIONS for e in archive.infolist()):
        archive.close()
        raise ValueError("compressed otherwise than zip files mostly are")
    names = archive.namelist()
    if len(set(names)) < len(names):
        # Each time it is read, the last of them is.
        archive.close()
        raise ValueError("a name that occurs more than once")
    return archive
