"""A SavedModel run through TensorFlow's C API, without Python's TensorFlow.

Uses the loader, the restore operation and the executor that TensorFlow
Serving uses, and nothing that `import tensorflow` sets up.

Source: tensorflow/c/{c_api,tf_tensor,tf_tstring,tf_datatype}.h of TensorFlow
2.21; the size of a string: tensorflow/core/platform/ctstring_internal.h.
"""

import ctypes
import importlib.util
import pathlib
from collections.abc import Mapping, Sequence

import numpy as np

from keras_transformer.contract.layout import TAG
from keras_transformer.contract.protobuf import message

# `void tensorflow::DisableXlaCompilation()`, which the stock server calls
# when it starts.
_DISABLE_XLA = "_ZN10tensorflow21DisableXlaCompilationEv"

_STRING = 7
# By TF_DataType.
_TYPES = {
    1: np.float32,
    2: np.float64,
    3: np.int32,
    9: np.int64,
    10: np.bool_,
}
_STRING_SIZE = 24  # bytes of a TF_TString


class CApiError(Exception):
    """An error that TensorFlow reported, with its message."""


class _Output(ctypes.Structure):
    """`TF_Output`: one output of an operation."""

    _fields_ = [("operation", ctypes.c_void_p), ("index", ctypes.c_int)]


class _Buffer(ctypes.Structure):
    """`TF_Buffer`: bytes that TensorFlow owns."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("length", ctypes.c_size_t),
        ("deallocator", ctypes.c_void_p),
    ]


_POINTER, _TEXT = ctypes.c_void_p, ctypes.c_char_p
_INT, _SIZE = ctypes.c_int, ctypes.c_size_t
# Types of the result and the arguments.
_FUNCTIONS = {
    _DISABLE_XLA: (None,),
    "TF_NewStatus": (_POINTER,),
    "TF_GetCode": (_INT, _POINTER),
    "TF_Message": (_TEXT, _POINTER),
    "TF_LoadLibrary": (_POINTER, _TEXT, _POINTER),
    "TF_NewGraph": (_POINTER,),
    "TF_NewSessionOptions": (_POINTER,),
    "TF_NewBuffer": (ctypes.POINTER(_Buffer),),
    "TF_LoadSessionFromSavedModel": (
        *(_POINTER, _POINTER, _POINTER, _TEXT),
        *(ctypes.POINTER(_TEXT), _INT),
        *(_POINTER, ctypes.POINTER(_Buffer), _POINTER),
    ),
    "TF_GraphOperationByName": (_POINTER, _POINTER, _TEXT),
    "TF_SessionRun": (
        *(None, _POINTER, _POINTER),
        *(ctypes.POINTER(_Output), ctypes.POINTER(_POINTER), _INT),
        *(ctypes.POINTER(_Output), ctypes.POINTER(_POINTER), _INT),
        *(_POINTER, _INT, _POINTER, _POINTER),
    ),
    "TF_AllocateTensor": (_POINTER, _INT, _POINTER, _INT, _SIZE),
    "TF_DeleteTensor": (None, _POINTER),
    "TF_TensorType": (_INT, _POINTER),
    "TF_NumDims": (_INT, _POINTER),
    "TF_Dim": (ctypes.c_int64, _POINTER, _INT),
    "TF_TensorByteSize": (_SIZE, _POINTER),
    "TF_TensorData": (_POINTER, _POINTER),
    "TF_StringInit": (None, _POINTER),
    "TF_StringCopy": (None, _POINTER, _TEXT, _SIZE),
    "TF_StringDealloc": (None, _POINTER),
    "TF_StringGetDataPointer": (_POINTER, _POINTER),
    "TF_StringGetSize": (_SIZE, _POINTER),
}


def find_library() -> pathlib.Path | None:
    """Finds TensorFlow's C++ library; None without one (Windows)."""
    # Locates the package without importing it.
    folder = _package("tensorflow")
    return next(iter(sorted(folder.glob("libtensorflow_cc.*"))), None)


def _text_libraries():
    """Lists the libraries with TF Text's operations."""
    folder = _package("tensorflow_text") / "python" / "ops"
    return sorted([*folder.glob("*.so"), *folder.glob("*.dylib")])


def _package(name):
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(name)
    return pathlib.Path(spec.origin).parent


def disable_xla() -> bool:
    """Disables XLA in this process permanently, as the stock server does.

    Returns:
        False if TensorFlow has no C++ library (Windows).
    """
    library = find_library()
    if library is not None:
        getattr(ctypes.CDLL(str(library)), _DISABLE_XLA)()
    return library is not None


class CApiModel:
    """Runs the signatures of a version folder with XLA disabled.

    Args:
        folder: the version folder.

    Raises:
        CApiError: it can't be loaded.
        OSError: TensorFlow has no C++ library.
    """

    def __init__(self, folder: pathlib.Path) -> None:
        handle = ctypes.CDLL(str(find_library()), mode=ctypes.RTLD_GLOBAL)
        self._functions = dict(_declared(handle))
        self._call(_DISABLE_XLA)
        self._status = self._call("TF_NewStatus")
        for path in _text_libraries():
            self._checked("TF_LoadLibrary", str(path).encode())
        self._graph = self._call("TF_NewGraph")
        self._session, meta_graph = self._load(str(folder).encode())
        self._signatures = meta_graph.signature_def

    def run(
        self, signature: str, inputs: Mapping[str, Sequence[bytes]]
    ) -> dict[str, np.ndarray]:
        """Runs a signature.

        Args:
            signature: its name.
            inputs: a list of bytes by the name of each input.

        Returns:
            an array by the name of each output; strings are bytes in an
            array of objects.

        Raises:
            CApiError: there is no such signature, or the graph failed.
            TypeError: an output has a type that isn't in `_TYPES`.
        """
        if signature not in self._signatures:
            raise CApiError(f"no signature {signature!r}")
        description = self._signatures[signature]
        feeds = {
            description.inputs[name].name: values
            for name, values in inputs.items()
        }
        fetches = {
            name: info.name for name, info in description.outputs.items()
        }
        arrays = self._run(feeds, list(fetches.values()))
        return dict(zip(fetches, arrays, strict=True))

    def _load(self, folder):
        """Returns the session, and the meta graph with the signatures."""
        options = self._call("TF_NewSessionOptions")
        tags = (_TEXT * 1)(TAG.encode())
        buffer = self._call("TF_NewBuffer")
        session = self._checked(
            "TF_LoadSessionFromSavedModel",
            *(options, None, folder, tags, 1, self._graph, buffer),
        )
        content = ctypes.string_at(buffer.contents.data, buffer.contents.length)
        return session, message("MetaGraph").FromString(content)

    def _run(self, feeds, fetches):
        """Runs the graph: lists of bytes by tensor name in, arrays out."""
        tensors = [self._string_tensor(values) for values in feeds.values()]
        results = (_POINTER * len(fetches))()
        try:
            self._checked(
                "TF_SessionRun",
                *(self._session, None),
                *(self._outputs(feeds), (_POINTER * len(tensors))(*tensors)),
                *(len(tensors), self._outputs(fetches), results, len(fetches)),
                *(None, 0, None),
            )
            return [self._array(result) for result in results]
        finally:
            for tensor in tensors:
                # Long strings are allocated separately.
                for string in self._strings(tensor):
                    self._call("TF_StringDealloc", string)
                self._call("TF_DeleteTensor", tensor)
            for result in filter(None, results):
                self._call("TF_DeleteTensor", result)

    def _outputs(self, names):
        """Returns `TF_Output`s of tensors named OPERATION:INDEX."""
        outputs = (_Output * len(names))()
        for output, name in zip(outputs, names, strict=True):
            operation, _, index = name.rpartition(":")
            output.operation = self._call(
                "TF_GraphOperationByName", self._graph, operation.encode()
            )
            if not output.operation:
                raise CApiError(f"the graph has no operation {operation!r}")
            output.index = int(index)
        return outputs

    def _string_tensor(self, values):
        """Creates a string tensor `(B,)`."""
        shape = (ctypes.c_int64 * 1)(len(values))
        size = _STRING_SIZE * len(values)
        tensor = self._call("TF_AllocateTensor", _STRING, shape, 1, size)
        for string, value in zip(self._strings(tensor), values, strict=True):
            self._call("TF_StringInit", string)
            self._call("TF_StringCopy", string, value, len(value))
        return tensor

    def _array(self, tensor):
        """Copies a tensor to an array."""
        shape = self._shape(tensor)
        dtype = self._call("TF_TensorType", tensor)
        if dtype == _STRING:
            array = np.empty(int(np.prod(shape)), dtype=object)
            array[:] = [self._bytes(s) for s in self._strings(tensor)]
            return array.reshape(shape)
        if dtype not in _TYPES:
            raise TypeError(f"an output of TensorFlow's type {dtype}")
        data = self._call("TF_TensorData", tensor)
        size = self._call("TF_TensorByteSize", tensor)
        content = ctypes.string_at(data, size)
        return np.frombuffer(content, _TYPES[dtype]).reshape(shape).copy()

    def _shape(self, tensor):
        rank = self._call("TF_NumDims", tensor)
        return [self._call("TF_Dim", tensor, axis) for axis in range(rank)]

    def _strings(self, tensor):
        """Returns the addresses of a string tensor's elements."""
        count = int(np.prod(self._shape(tensor)))
        first = self._call("TF_TensorData", tensor) or 0
        return [first + _STRING_SIZE * index for index in range(count)]

    def _bytes(self, string):
        size = self._call("TF_StringGetSize", string)
        data = self._call("TF_StringGetDataPointer", string)
        return ctypes.string_at(data, size)

    def _call(self, name, *arguments):
        return self._functions[name](*arguments)

    def _checked(self, name, *arguments):
        """Calls a function whose last argument is a `TF_Status`."""
        result = self._call(name, *arguments, self._status)
        if self._call("TF_GetCode", self._status):
            text = self._call("TF_Message", self._status) or b""
            raise CApiError(text.decode("utf-8", "replace"))
        return result


def _declared(handle):
    """Yields `(name, function)` with the types of `_FUNCTIONS` set."""
    for name, (result, *arguments) in _FUNCTIONS.items():
        function = getattr(handle, name)
        function.restype, function.argtypes = result, arguments
        yield name, function
