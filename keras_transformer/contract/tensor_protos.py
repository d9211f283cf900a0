"""Arrays as the `TensorProto`s of an answer."""

import numpy as np
import tensorflow as tf

_FIELDS = {
    tf.float32: "float_val",
    tf.float64: "double_val",
    tf.int8: "int_val",
    tf.int16: "int_val",
    tf.int32: "int_val",
    tf.uint8: "int_val",
    tf.int64: "int64_val",
    tf.uint32: "uint32_val",
    tf.uint64: "uint64_val",
    tf.bool: "bool_val",
    tf.string: "string_val",
}


def fill_tensor(message, array: np.ndarray):
    """Writes an array into a message.

    Numbers go into the repeated fields and not into `tensor_content`, as from
    TensorFlow Serving, so that a client needs no TensorFlow to read them.

    Args:
        message: an empty `TensorProto`.
        array: of any type; strings are `bytes` objects.
    """
    dtype = tf.as_dtype(array.dtype)
    if array.dtype.kind == "O":
        dtype = tf.string
    if dtype not in _FIELDS:
        message.CopyFrom(tf.make_tensor_proto(array))
        return
    message.dtype = dtype.as_datatype_enum
    for size in array.shape:
        message.tensor_shape.dim.add(size=size)
    getattr(message, _FIELDS[dtype]).extend(array.reshape(-1).tolist())
