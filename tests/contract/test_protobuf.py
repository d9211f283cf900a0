"""TensorFlow's own messages as the oracle of those without TensorFlow."""

import time

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.contract.protobuf import (
    message,
    string_tensor,
    tensor_values,
)


def without_tensorflow(proto):
    return message("Tensor").FromString(proto.SerializeToString())


@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "int32", "int64", "bool"]
)
@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 3), (0, 2), (2, 1, 2)])
def test_values_are_nested_as_the_shape_says(dtype, shape):
    size = int(np.prod(shape))
    values = np.arange(size).reshape(shape).astype(dtype)
    tensor = without_tensorflow(tf.make_tensor_proto(values))
    assert tensor_values(tensor, rows=0) == values.tolist()


def test_texts_are_the_same_message():
    texts = ["a", "\u72d7", ""]
    ours = string_tensor(texts).SerializeToString(deterministic=True)
    assert ours == tf.make_tensor_proto(texts).SerializeToString(
        deterministic=True
    )
    assert tensor_values(message("Tensor").FromString(ours), 3) == texts


def integers(values, sizes):
    """A message of int32s, of any shape."""
    dtype = tf.int32.as_datatype_enum
    tensor = message("Tensor")(dtype=dtype, int_val=values)
    for size in sizes:
        tensor.tensor_shape.dim.add(size=size)
    return tensor


def test_the_last_value_stands_for_those_of_the_rows_that_follow():
    tensor = integers([1, 2], [4])
    assert tensor_values(tensor, rows=4) == [1, 2, 2, 2]
    with pytest.raises(ValueError, match=r"2 values for the shape \[4\] and 3"):
        tensor_values(tensor, rows=3)


def test_rows_of_nothing_are_those_of_the_request():
    assert tensor_values(integers([], [3, 0]), rows=3) == [[], [], []]
    with pytest.raises(ValueError, match="and 2 rows"):
        tensor_values(integers([], [3, 0]), rows=2)


@pytest.mark.parametrize(
    ("count", "sizes"),
    [
        (1, [30_000_000]),
        (1, [32, 1_000_000]),
        (1, [2**40]),
        (0, [5_000_000, 0]),
        (0, [32, 5_000_000, 0]),
        (0, [0, 2**40]),
        (1, [-1, -1]),
        (1, [1] * 9),
        (1, [1] * 2000),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_shape_costs_no_more_than_what_came(count, sizes):
    """A message of bytes would become gigabytes, or no list at all."""
    began = time.monotonic()
    with pytest.raises(ValueError, match="shape"):
        tensor_values(integers([7] * count, sizes), rows=32)
    assert time.monotonic() - began < 0.5


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"dtype": tf.complex64.as_datatype_enum}, "of type 8"),
        ({"dtype": tf.int32.as_datatype_enum, "int_val": [1] * 3}, "3 values"),
        (
            {"dtype": tf.int32.as_datatype_enum, "tensor_content": b"12345"},
            "5 bytes of 4-byte values",
        ),
    ],
)
def test_damaged_tensors_are_refused(options, says):
    tensor = message("Tensor")(**options)
    tensor.tensor_shape.dim.add(size=2)
    with pytest.raises(ValueError, match=says):
        tensor_values(tensor, rows=2)
