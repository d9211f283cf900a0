"""Tensors of other programs' files, read as data: nothing in them is run.

safetensors, the zip files of `torch.save`, NumPy's `.npz`, and TensorFlow's
checkpoints. Every size that a file claims is checked against the file before
memory is taken for it. The pickle in PyTorch's files can call any function
there is; its reader knows the four that a dictionary of tensors needs, by
stand-ins, and refuses all others.
"""

import io
import json
import math
import pathlib
import pickle
import pickletools
import struct
import zipfile
import zlib
from collections.abc import Callable

import numpy as np

from keras_transformer.errors import InputError

_SAFETENSORS = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "BF16": "bfloat16",
    "I64": "<i8",
    "I32": "<i4",
}
_STORAGES = {
    "FloatStorage": "<f4",
    "HalfStorage": "<f2",
    "DoubleStorage": "<f8",
    "LongStorage": "<i8",
    "IntStorage": "<i4",
    "BFloat16Storage": "bfloat16",
}
# A header of 100 MB is the format's own limit.
_LARGEST_HEADER = 100_000_000
# Trained weights hardly compress, and few names share a tensor.
_LARGEST_RATIO = 20
# Bytes of a pickle: names, shapes and places of tensors.
_LARGEST_PICKLE = 1 << 25
# How the variables of a model are called in a checkpoint of TensorFlow's.
_MODEL, _VALUE = "model/", "/.ATTRIBUTES/VARIABLE_VALUE"
_SLOT = "/.OPTIMIZER_SLOT/"  # What an optimizer keeps of a variable.
_DAMAGE = (
    EOFError,
    KeyError,
    NotImplementedError,
    OverflowError,
    RecursionError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)


def read_safetensors(path: pathlib.Path) -> dict[str, np.ndarray]:
    """The tensors of a safetensors file, by their names.

    Returns:
        arrays that are read from the disk when they are used; bfloat16 and
        float16 as float32.

    Raises:
        InputError: it can't be read, is damaged, or is quantised.
    """
    path = pathlib.Path(path)
    try:
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
        return {
            name: _safetensor(name, entry, data)
            for name, entry in header.items()
        }
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except (*_DAMAGE, AttributeError) as error:
        raise _damaged(path, "a safetensors file", error) from None


def _safetensor(name, entry, data):
    begin, end = entry["data_offsets"]
    dtype = entry["dtype"]
    if dtype not in _SAFETENSORS:
        raise ValueError(f"{name} is {dtype}, as in quantised models")
    return _as_array(
        name, data[begin:end], _SAFETENSORS[dtype], entry["shape"], end - begin
    )


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
        raise _damaged(path, "an .npz file", error) from None


def _npy(name, content):
    file = io.BytesIO(content)
    version = np.lib.format.read_magic(file)
    read = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }[version]
    shape, by_columns, dtype = read(file)
    if dtype.kind not in "fiu":
        raise ValueError(f"{name} is {dtype}")
    rest = np.frombuffer(content, np.uint8, offset=file.tell())
    order = shape[::-1] if by_columns else shape
    values = _as_array(name, rest, dtype.str, order, len(rest))
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
                raise ValueError(f"{name} of more than {_LARGEST_PICKLE} bytes")
            content = archive.read(name)
            _check_memo(content)
            root = name.removesuffix("data.pkl")
            state = _Unpickler(io.BytesIO(content), archive, root).load()
            if not isinstance(state, dict) or not all(
                isinstance(k, str) and isinstance(v, np.ndarray)
                for k, v in state.items()
            ):
                raise ValueError("no dictionary of tensors")
            return dict(state)
    except zipfile.BadZipFile:
        raise InputError(
            f"{path}: no zip file. Files of torch.save before PyTorch 1.6 "
            "aren't read. Accepted: model.safetensors, or a file that a newer "
            "PyTorch saved"
        ) from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    except (
        *_DAMAGE,
        AttributeError,
        IndexError,
        pickle.UnpicklingError,
    ) as error:
        raise _damaged(
            path, "a state dictionary that torch.save wrote", error
        ) from None


def _check_memo(content):
    """Refuses a pickle that keeps a value under a number of billions.

    Its reader has a list of so many, whatever was kept before.
    """
    for opcode, number, _ in pickletools.genops(content):
        keeps = opcode.name in ("PUT", "BINPUT", "LONG_BINPUT")
        if keeps and int(number or 0) > len(content):
            raise ValueError(f"a pickle that keeps a value {number}")


class _StateDict(dict):
    """Stands for OrderedDict, whose pickle sets an attribute."""


class _Function:
    """A function that a pickle may call and not change."""

    __slots__ = ("function",)
    function: Callable

    def __init__(self, function):
        object.__setattr__(self, "function", function)

    def __call__(self, *arguments):
        return self.function(*arguments)

    def __setattr__(self, name, value):
        raise pickle.UnpicklingError("a pickle that changes a function")


class _Unpickler(pickle.Unpickler):
    """Reads tensors and their dictionary, and nothing else."""

    def __init__(self, file, archive, root):
        super().__init__(file)
        self._archive = archive
        self._root = root
        self._storages = {}
        unpacked = sum(entry.file_size for entry in archive.infolist())
        self._left = _LARGEST_RATIO * unpacked  # bytes of all tensors

    def find_class(self, module, name):
        if (module, name) == ("collections", "OrderedDict"):
            return _Function(_StateDict)
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _Function(self._tensor)
        if (module, name) == ("torch._utils", "_rebuild_parameter"):
            return _Function(lambda data, *_: data)
        if module == "torch" and name in _STORAGES:
            return _STORAGES[name]
        raise pickle.UnpicklingError(
            f"it asks for {module}.{name}, which no tensor needs"
        )

    def _tensor(self, *arguments):
        tensor = _tensor(*arguments)
        self._left -= tensor.nbytes
        if self._left < 0:
            raise ValueError("tensors that share what is there too often")
        return tensor

    def persistent_load(self, key):
        _, dtype, name, _, _ = key
        if dtype not in _STORAGES.values():
            raise ValueError(f"a storage of {dtype!r:.60}")
        if (name, dtype) not in self._storages:
            content = self._archive.read(f"{self._root}data/{name}")
            data = np.frombuffer(content, np.uint8)
            self._storages[name, dtype] = _as_float32(data, dtype)
        return self._storages[name, dtype]


def _tensor(storage, offset, shape, strides, *_):
    """A tensor within its storage; no stride reaches beyond it."""
    numbers = (offset, *shape, *strides)
    if len(shape) != len(strides) or any(
        type(n) is not int or n < 0 for n in numbers
    ):
        raise ValueError(f"a tensor of shape {shape!r:.60}")
    count = math.prod(shape)
    steps = zip(shape, strides, strict=True)
    last = offset + sum((n - 1) * stride for n, stride in steps)
    if count > len(storage) or (count and last >= len(storage)):
        raise ValueError(f"a tensor of shape {shape} beyond its storage")
    width = storage.itemsize
    return np.lib.stride_tricks.as_strided(
        storage[offset:], shape, [stride * width for stride in strides]
    ).copy()


def _open_archive(path) -> zipfile.ZipFile:
    """A zip file that doesn't unpack to much more than it is.

    Raises:
        InputError: it does.
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
    return archive


def _as_array(name, data, dtype, shape, size) -> np.ndarray:
    """Bytes as an array of numbers.

    Args:
        name: of the tensor, for errors.
        data: uint8 array.
        dtype: of NumPy, or "bfloat16".
        shape: that the file claims.
        size: in bytes, that the file claims.

    Raises:
        ValueError: the sizes don't fit.
    """
    width = 2 if dtype == "bfloat16" else np.dtype(dtype).itemsize
    if any(type(n) is not int or n < 0 for n in shape):
        raise ValueError(f"{name} has the shape {list(shape)!r:.60}")
    expected = math.prod(shape) * width
    if not len(data) == size == expected:
        raise ValueError(
            f"{name} takes {expected} bytes, of which {len(data)} are there"
        )
    return _as_float32(data, dtype).reshape(shape)


def _as_float32(data, dtype) -> np.ndarray:
    """A uint8 array as numbers; half precision as float32."""
    if dtype == "bfloat16":  # The upper half of a float32.
        return (data.view("<u2").astype("<u4") << 16).view("<f4")
    values = data.view(dtype)
    return values.astype(np.float32) if values.dtype == "<f2" else values


def read_checkpoint(prefix: pathlib.Path) -> dict[str, np.ndarray]:
    """The model's variables of a TensorFlow 2 checkpoint, by their names.

    Args:
        prefix: path of the checkpoint, `ckpt-1000` for example.

    Raises:
        InputError: it can't be read, or claims more than its files hold.
    """
    import tensorflow as tf  # Nobody else here needs it.

    prefix = pathlib.Path(prefix)
    try:
        reader = tf.train.load_checkpoint(str(prefix))
        shapes = reader.get_variable_to_shape_map()
        types = reader.get_variable_to_dtype_map()
        names = {
            name[len(_MODEL) : -len(_VALUE)]: name
            for name in sorted(shapes)
            if name.startswith(_MODEL)
            and name.endswith(_VALUE)
            and _SLOT not in name
        }
        numbers = sum(math.prod(shapes[name]) for name in names.values())
        files = prefix.parent.glob(f"{prefix.name}.data-*")
        if numbers > sum(file.stat().st_size for file in files):
            raise ValueError("variables larger than its files")
        if not all(types[name].is_floating for name in names.values()):
            raise ValueError("variables that aren't numbers of a model")
        return {
            short: reader.get_tensor(name).astype(np.float32)
            for short, name in names.items()
        }
    except (tf.errors.OpError, ValueError, RuntimeError, TypeError) as error:
        raise _damaged(prefix, "a checkpoint", error) from None


def _damaged(path, kind, error) -> InputError:
    """What is said of a file that isn't what it should be."""
    reason = " ".join(str(error).split())[:200] or type(error).__name__
    return InputError(f"{path}: damaged, or not {kind}: {reason}")
