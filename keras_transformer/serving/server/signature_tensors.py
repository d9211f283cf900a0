"""Tensors of a signature: checks of inputs, and conversion of protos.

Inputs are arrays by name. They are completed with defaults once, when they are
queued.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import types_pb2

from keras_transformer.contract.status import invalid_argument
from keras_transformer.serving.server.admission import Limits

if TYPE_CHECKING:
    from tensorflow.core.framework.tensor_pb2 import TensorProto
    from tensorflow.core.protobuf.meta_graph_pb2 import SignatureDef, TensorInfo


# By type: the field of a `TensorProto` with its values, and the type as which
# they are stored. Other types are in `int_val`, and floats of 8 bits or fewer
# in `float8_val`.
_FIELDS: dict = {
    types_pb2.DT_FLOAT: ("float_val", None),
    types_pb2.DT_DOUBLE: ("double_val", None),
    types_pb2.DT_INT64: ("int64_val", None),
    types_pb2.DT_UINT32: ("uint32_val", None),
    types_pb2.DT_UINT64: ("uint64_val", None),
    types_pb2.DT_BOOL: ("bool_val", None),
    types_pb2.DT_STRING: ("string_val", None),
    types_pb2.DT_HALF: ("half_val", np.uint16),
    types_pb2.DT_BFLOAT16: ("half_val", np.uint16),
    types_pb2.DT_COMPLEX64: ("scomplex_val", np.float32),
    types_pb2.DT_COMPLEX128: ("dcomplex_val", np.float64),
}
# Maximum axes of an input; NumPy has at most 64, and a model's inputs have 2.
_MOST_AXES = 32


def dtype_name(dtype: int) -> str:
    """Returns the name of a `DataType`, as in TensorFlow's messages."""
    try:
        return types_pb2.DataType.Name(dtype).removeprefix("DT_").lower()
    except ValueError:
        return str(dtype)


def numpy_dtype(info: TensorInfo) -> np.dtype:
    """Returns the dtype of a tensor's arrays; `object` for strings."""
    dtype = np.dtype(tf.as_dtype(info.dtype).as_numpy_dtype)
    # Quantised types are structures with one field.
    return dtype[0] if dtype.names else dtype


def complete_inputs(signature: SignatureDef, inputs: dict) -> dict:
    """Checks the inputs of a call, and adds the signature's defaults.

    Args:
        signature: `SignatureDef`.
        inputs: arrays by name.

    Returns:
        an array for each of the signature's inputs.

    Raises:
        ServingError: INVALID_ARGUMENT: an input is missing or unknown, or an
            array has another type or shape.
    """
    missing = check_names(signature, inputs)
    for name, array in inputs.items():
        _check(name, array, signature.inputs[name])
    defaults = {
        name: tensor_array(signature.defaults[name]) for name in missing
    }
    return {**inputs, **defaults}


def check_names(signature: SignatureDef, names: Collection[str]) -> list[str]:
    """Refuses calls with unknown inputs, or without required ones.

    Args:
        signature: `SignatureDef`.
        names: names of a call's inputs.

    Returns:
        names of missing inputs that have defaults.

    Raises:
        ServingError: INVALID_ARGUMENT: an input is missing or unknown.
    """
    given = set(names)
    missing = sorted(signature.inputs.keys() - given)
    extra = sorted(given - signature.inputs.keys())
    required = [name for name in missing if name not in signature.defaults]
    if extra or required:
        expected = sorted(signature.inputs)
        raise invalid_argument(
            f"input size does not match signature: {len(names)}!="
            f"{len(expected)} len({{{','.join(sorted(given))}}}) != "
            f"len({{{','.join(expected)}}}). "
            f"Sent extra: {{{','.join(extra)}}}. "
            f"Missing but required: {{{','.join(missing)}}}."
        )
    return missing


def count_rows(inputs: dict) -> int:
    """Returns the number of rows, the size of the inputs' first axis.

    Returns:
        the number of rows; 1 if the inputs are scalars or have different first
        axes: such a request can't be batched.
    """
    sizes = {
        array.shape[0] if array.ndim else None for array in inputs.values()
    }
    size = sizes.pop() if len(sizes) == 1 else None
    return 1 if size is None else size


def array_of_proto(
    name: str, tensor: TensorProto, limits: Limits
) -> np.ndarray:
    """Converts a `TensorProto` from a client to an array.

    A few bytes may describe a tensor of any size, as its last value is
    repeated, so the size is checked first. There may be as many elements as
    the message has bytes, or as `limits.max_sentences`, whichever is more, and
    at most `limits.max_values` strings. A repeated text counts each time, as it
    is translated each time.

    Args:
        name: the input's name.
        tensor: a `TensorProto`.
        limits: limits of a request.

    Raises:
        ServingError: INVALID_ARGUMENT: the tensor is damaged or too large.
    """
    shape = tensor.tensor_shape
    if len(shape.dim) > _MOST_AXES:
        raise invalid_argument(
            f"Input {name} has {len(shape.dim)} axes; at most {_MOST_AXES} are "
            "accepted"
        )
    sizes = [dimension.size for dimension in shape.dim]
    if shape.unknown_rank or any(size < 0 for size in sizes):
        raise invalid_argument(f"Input {name} has no complete shape")
    count, most = math.prod(sizes), max(tensor.ByteSize(), limits.max_sentences)
    if tensor.dtype == types_pb2.DT_STRING:
        most = min(most, limits.max_values)
    if count > most:
        raise invalid_argument(
            f"Input {name} has {count} elements; at most {most} are accepted"
        )
    if not tensor.tensor_content:
        _check_text(name, tensor.string_val, count, limits.max_request_bytes)
    try:
        return tensor_array(tensor)
    except tf.errors.OpError:
        raise invalid_argument(
            f"Input {name} is not a tensor: its values are damaged, or not "
            "those of its type and shape"
        ) from None


def tensor_array(tensor: TensorProto) -> np.ndarray:
    """Converts a `TensorProto` to an array, like TensorFlow's C++ code.

    `tf.make_ndarray` refuses strings in `tensor_content` and more values than
    the shape has, and doesn't support all types.

    Raises:
        tf.errors.OpError: the tensor is damaged.
    """
    texts = tensor.string_val
    shape = [dimension.size for dimension in tensor.tensor_shape.dim]
    is_plain = tensor.dtype == types_pb2.DT_STRING and not tensor.tensor_content
    if is_plain and len(texts) == math.prod(shape):
        # The usual request, ten times as fast as below.
        array = np.empty(len(texts), object)
        array[:] = texts
        return array.reshape(shape)
    dtype = tf.as_dtype(tensor.dtype)
    value = tf.io.parse_tensor(tensor.SerializeToString(), dtype).numpy()
    return np.asarray(value, object if dtype == tf.string else None)


def check_dtype(name: str, dtype: int, info: TensorInfo) -> None:
    """Refuses a tensor whose type isn't the input's.

    Args:
        name: the input's name.
        dtype: `DataType` of the tensor.
        info: `TensorInfo` of the input.

    Raises:
        ServingError: INVALID_ARGUMENT: the types differ.
    """
    if dtype != info.dtype:
        raise invalid_argument(
            f"Expects input {name} to be {dtype_name(info.dtype)} but "
            f"{dtype_name(dtype)} is provided"
        )


def fill_proto(message: TensorProto, array: np.ndarray, dtype: int) -> None:
    """Writes an array into a message.

    Numbers are written to the repeated fields and not to `tensor_content`, as
    by TensorFlow Serving, so that clients can read them without TensorFlow.

    Args:
        message: an empty `TensorProto`.
        array: an array of any type; strings are `bytes` objects.
        dtype: `DataType` of the signature's output. The array's own type may
            differ: that of a qint8 output is int8.
    """
    message.dtype = dtype
    for size in array.shape:
        message.tensor_shape.dim.add(size=size)
    flat = array.reshape(-1)
    if dtype_name(dtype).startswith(("float8_", "float4_")):
        message.float8_val = flat.tobytes()
        return
    field, view = _FIELDS.get(dtype, ("int_val", None))
    if view is not None:
        flat = flat.view(view)
    elif field == "int_val":
        flat = flat.astype(np.int32)
    getattr(message, field).extend(flat.tolist())


def _check_text(name, texts, count, most):
    """Limits the size of the texts, including repetitions of the last one."""
    repeated = count - len(texts)
    if not texts or repeated <= 0:
        return
    size = sum(map(len, texts)) + repeated * len(texts[-1])
    if size > most:
        raise invalid_argument(
            f"Input {name} has {size} bytes of text in {count} elements; at "
            f"most {most} are accepted"
        )


def _check(name, array, info):
    if array.dtype != numpy_dtype(info):
        check_dtype(name, tf.as_dtype(array.dtype).as_datatype_enum, info)
    shape = info.tensor_shape
    if shape.unknown_rank:
        return
    sizes = [dimension.size for dimension in shape.dim]
    fits = len(sizes) == array.ndim and all(
        expected in (-1, size)
        for expected, size in zip(sizes, array.shape, strict=True)
    )
    if not fits:
        expected = ",".join("?" if size < 0 else str(size) for size in sizes)
        given = ",".join(map(str, array.shape))
        raise invalid_argument(
            f"The shape of input {name} must be [{expected}]. Received: "
            f"[{given}]"
        )
