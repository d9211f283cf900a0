"""Tensors of messages as nested lists, without TensorFlow or NumPy."""

import array
import math
import sys

from keras_transformer.contract import protobuf as messages

# Of tensorflow/core/framework/types.proto: number, the field of the values,
# and the code of `array` for values that come as bytes.
_TYPES = {
    1: ("float_val", "f"),
    2: ("double_val", "d"),
    3: ("int_val", "i"),
    7: ("string_val", None),
    9: ("int64_val", "q"),
    10: ("bool_val", "b"),
}
_STRING, _BOOL = 7, 10


def string_tensor(texts: list[str]):
    """The `Tensor` message of strings, `(B,)`; what UTF-8 can't say is "?"."""
    tensor = messages.message("Tensor")(dtype=_STRING)
    tensor.tensor_shape.dim.add(size=len(texts))
    tensor.string_val.extend(text.encode("utf-8", "replace") for text in texts)
    return tensor


def values_of(tensor) -> list:
    """The values of a `Tensor` message, nested as its shape says.

    Args:
        tensor: float32, float64, int32, int64, bool or string.

    Raises:
        ValueError: another type, or not as many values as the shape wants.
    """
    if tensor.dtype not in _TYPES:
        raise ValueError(f"a tensor of type {tensor.dtype}")
    field, code = _TYPES[tensor.dtype]
    flat = list(getattr(tensor, field))
    if tensor.tensor_content and code:
        flat = _unpacked(tensor.tensor_content, code)
    if tensor.dtype == _BOOL:
        flat = [bool(value) for value in flat]
    if tensor.dtype == _STRING:
        flat = [value.decode("utf-8", "replace") for value in flat]
    sizes = [dimension.size for dimension in tensor.tensor_shape.dim]
    count = math.prod(sizes)
    # The last value stands for all that follow.
    if 0 < len(flat) < count:
        flat += [flat[-1]] * (count - len(flat))
    if len(flat) != count:
        raise ValueError(f"{len(flat)} values for the shape {sizes}")
    return _nested(flat, sizes)


def _unpacked(content, code):
    values = array.array(code)
    if len(content) % values.itemsize:
        raise ValueError(
            f"{len(content)} bytes of {values.itemsize}-byte values"
        )
    values.frombytes(content)
    if sys.byteorder == "big":
        values.byteswap()
    return values.tolist()


def _nested(flat, sizes):
    if len(sizes) < 2:
        return flat if sizes else flat[0]
    step = math.prod(sizes[1:])
    return [
        _nested(flat[row * step : (row + 1) * step], sizes[1:])
        for row in range(sizes[0])
    ]
