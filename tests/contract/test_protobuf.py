"""TensorFlow's own messages as the oracle of those without TensorFlow."""

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
    assert tensor_values(tensor) == values.tolist()


def test_texts_are_the_same_message():
    texts = ["a", "\u72d7", ""]
    ours = string_tensor(texts).SerializeToString(deterministic=True)
    assert ours == tf.make_tensor_proto(texts).SerializeToString(
        deterministic=True
    )
    assert tensor_values(message("Tensor").FromString(ours)) == texts


def test_the_last_value_stands_for_those_that_follow():
    tensor = message("Tensor")(dtype=tf.int32.as_datatype_enum, int_val=[1, 2])
    tensor.tensor_shape.dim.add(size=4)
    assert tensor_values(tensor) == [1, 2, 2, 2]


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
        tensor_values(tensor)
