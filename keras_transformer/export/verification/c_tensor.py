"""Tensors of TensorFlow's C API, from and to NumPy.

Source: tensorflow/c/{tf_tensor,tf_tstring,tf_datatype}.h of TensorFlow 2.21;
the size of a string: tensorflow/core/platform/ctstring_internal.h.
"""

import ctypes

import numpy as np

_STRING = 7
# By TensorFlow's number of the type.
_TYPES = {
    1: np.float32,
    2: np.float64,
    3: np.int32,
    9: np.int64,
    10: np.bool_,
}
_STRING_SIZE = 24  # bytes of a TF_TString


class TensorCalls:
    """The functions for tensors that a library has.

    Args:
        library: `ctypes.CDLL` of TensorFlow's C++ library.
    """

    def __init__(self, library):
        pointer, size = ctypes.c_void_p, ctypes.c_size_t

        def function(name, result, *arguments):
            found = getattr(library, name)
            found.restype, found.argtypes = result, arguments
            return found

        self._allocate = function(
            "TF_AllocateTensor",
            *(pointer, ctypes.c_int, pointer, ctypes.c_int, size),
        )
        self._type = function("TF_TensorType", ctypes.c_int, pointer)
        self._rank = function("TF_NumDims", ctypes.c_int, pointer)
        self._length = function("TF_Dim", ctypes.c_int64, pointer, ctypes.c_int)
        self._bytes = function("TF_TensorByteSize", size, pointer)
        self._data = function("TF_TensorData", pointer, pointer)
        self.delete = function("TF_DeleteTensor", None, pointer)
        self._init = function("TF_StringInit", None, pointer)
        self._copy = function(
            "TF_StringCopy", None, pointer, ctypes.c_char_p, size
        )
        self._free = function("TF_StringDealloc", None, pointer)
        self._string_data = function(
            "TF_StringGetDataPointer", pointer, pointer
        )
        self._string_size = function("TF_StringGetSize", size, pointer)

    def of_strings(self, values: list[bytes]) -> int:
        """A new string tensor `(B,)`, which `delete_strings` frees."""
        shape = (ctypes.c_int64 * 1)(len(values))
        tensor = self._allocate(_STRING, shape, 1, _STRING_SIZE * len(values))
        for place, value in zip(self._places(tensor), values, strict=True):
            self._init(place)
            self._copy(place, value, len(value))
        return tensor

    def delete_strings(self, tensor: int):
        """Frees what `of_strings` made: long strings have memory of theirs."""
        for place in self._places(tensor):
            self._free(place)
        self.delete(tensor)

    def array(self, tensor: int) -> np.ndarray:
        """A copy; strings become bytes in an array of objects.

        Raises:
            TypeError: of a type that no signature has.
        """
        shape = self._shape(tensor)
        kind = self._type(tensor)
        if kind == _STRING:
            array = np.empty(int(np.prod(shape)), dtype=object)
            array[:] = [self._bytes_of(p) for p in self._places(tensor)]
            return array.reshape(shape)
        if kind not in _TYPES:
            raise TypeError(f"an output of TensorFlow's type {kind}")
        content = ctypes.string_at(self._data(tensor), self._bytes(tensor))
        return np.frombuffer(content, _TYPES[kind]).reshape(shape).copy()

    def _shape(self, tensor):
        return [self._length(tensor, i) for i in range(self._rank(tensor))]

    def _places(self, tensor):
        """The addresses of a string tensor's strings."""
        count = int(np.prod(self._shape(tensor)))
        first = self._data(tensor) or 0
        return [first + _STRING_SIZE * place for place in range(count)]

    def _bytes_of(self, place):
        size = self._string_size(place)
        return ctypes.string_at(self._string_data(place), size)
