"""A SavedModel run through TensorFlow's C API, without Python's TensorFlow.

Uses the loader, the restore operation and the executor that TensorFlow
Serving uses, and nothing that `import tensorflow` sets up.

Source: tensorflow/c/{c_api,tf_tensor,tf_tstring}.h of TensorFlow 2.21.
"""

import ctypes
import importlib.util
import pathlib

from keras_transformer.contract.layout import TAG, TEXT
from keras_transformer.contract.protobuf import message
from keras_transformer.export.verification.c_tensor import TensorCalls
from keras_transformer.export.verification.outputs import readable

# `void tensorflow::DisableXlaCompilation()`, which the stock server calls
# when it starts.
DISABLE_XLA = "_ZN10tensorflow21DisableXlaCompilationEv"


class CApiError(Exception):
    """TensorFlow reported an error; the message is its."""


class _Output(ctypes.Structure):
    """`TF_Output`: which of an operation's outputs."""

    _fields_ = [("operation", ctypes.c_void_p), ("index", ctypes.c_int)]


class _Buffer(ctypes.Structure):
    """`TF_Buffer`: bytes that TensorFlow owns."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("length", ctypes.c_size_t),
        ("deallocator", ctypes.c_void_p),
    ]


_POINTER, _TEXT, _INT = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
# Result, then arguments.
_FUNCTIONS = {
    DISABLE_XLA: (None,),
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
}


def find_library() -> pathlib.Path | None:
    """TensorFlow's C++ library; None where it comes without (Windows)."""
    # Finds the package without importing it.
    folder = _package("tensorflow")
    return next(iter(sorted(folder.glob("libtensorflow_cc.*"))), None)


def text_libraries() -> list[pathlib.Path]:
    """The libraries that hold TF Text's operations."""
    folder = _package("tensorflow_text") / "python" / "ops"
    return sorted([*folder.glob("*.so"), *folder.glob("*.dylib")])


def _package(name):
    return pathlib.Path(importlib.util.find_spec(name).origin).parent


class CApiModel:
    """Runs the signatures of a version folder, XLA disabled.

    Args:
        folder: the version folder.
        library: what `find_library` found.

    Raises:
        CApiError: it can't be loaded.
    """

    def __init__(self, folder, library: pathlib.Path):
        handle = ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
        self._functions = dict(_declared(handle))
        self._tensors = TensorCalls(handle)
        self._call(DISABLE_XLA)
        self._status = self._call("TF_NewStatus")
        for path in text_libraries():
            self._checked("TF_LoadLibrary", str(path).encode())
        self._graph = self._call("TF_NewGraph")
        self._session, meta_graph = self._load(str(folder).encode())
        self._signatures = meta_graph.signature_def

    def predict(self, signature: str, inputs: dict) -> dict:
        """Runs a signature, and checks the outputs' types and shapes.

        Args:
            signature: its name.
            inputs: a list of bytes by the name of each input.

        Returns:
            an array by the name of each output, strings decoded.

        Raises:
            CheckFailed: text isn't UTF-8, a number isn't finite, or there
                isn't a row for each of the inputs'.
            CApiError: there is no such signature, or the graph failed.
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
        values = self._run(feeds, list(fetches.values()))
        count = len(inputs[TEXT])
        return {
            name: readable(f"{signature}, {name}", value, count)
            for name, value in zip(fetches, values, strict=True)
        }

    def _load(self, folder):
        """The session, and what the SavedModel says of its signatures."""
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
        """Arrays for the names of tensors, given lists of bytes by name."""
        tensors = [self._tensors.of_strings(v) for v in feeds.values()]
        results = (_POINTER * len(fetches))()
        try:
            self._checked(
                "TF_SessionRun",
                *(self._session, None),
                *(self._places(feeds), (_POINTER * len(tensors))(*tensors)),
                *(len(tensors), self._places(fetches), results, len(fetches)),
                *(None, 0, None),
            )
            return [self._tensors.array(result) for result in results]
        finally:
            for tensor in tensors:
                self._tensors.delete_strings(tensor)
            for result in filter(None, results):
                self._tensors.delete(result)

    def _places(self, names):
        """`TF_Output`s of tensors called OPERATION:INDEX."""
        places = (_Output * len(names))()
        for place, name in zip(places, names, strict=True):
            operation, _, index = name.rpartition(":")
            found = self._call(
                "TF_GraphOperationByName", self._graph, operation.encode()
            )
            if not found:
                raise CApiError(f"the graph has no operation {operation!r}")
            place.operation, place.index = found, int(index)
        return places

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
    """(name, function) of those that are used."""
    for name, (result, *arguments) in _FUNCTIONS.items():
        function = getattr(handle, name)
        function.restype, function.argtypes = result, arguments
        yield name, function
