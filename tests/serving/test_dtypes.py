"""Tensors of every type that TensorFlow has, as its C++ code reads them."""

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.framework import types_pb2
from tensorflow.core.framework.tensor_pb2 import TensorProto
from tensorflow.core.protobuf.meta_graph_pb2 import TensorInfo

from keras_transformer.contract.status import Code, ServingError
from keras_transformer.serving.server.admission import Limits
from keras_transformer.serving.server.json_tensors import (
    predict_body,
    read_inputs,
)
from keras_transformer.serving.server.servable import Servable
from keras_transformer.serving.server.signature_tensors import (
    array_of_proto,
    check_dtype,
    fill_proto,
)
from tests.fake_models import write_identities

# All but references, resources and variants, which no client can send.
DTYPES = {
    name.removeprefix("DT_").lower(): number
    for name, number in types_pb2.DataType.items()
    if 0 < number < 100 and name not in ("DT_RESOURCE", "DT_VARIANT")
}
# What TensorFlow Serving's json_tensor.cc converts.
IN_JSON = (
    *("float", "double", "int8", "int16", "int32", "int64", "uint8", "uint32"),
    *("uint64", "bool", "string"),
)
LIMITS = Limits()
FIELDS = (
    *("float_val", "double_val", "int_val", "int64_val", "bool_val"),
    *("uint32_val", "uint64_val", "half_val", "string_val"),
    *("scomplex_val", "dcomplex_val"),
)


def proto(dtype, shape, content=b"", float8=b"", **fields):
    tensor = TensorProto(dtype=dtype, tensor_content=content, float8_val=float8)
    for size in shape:
        tensor.tensor_shape.dim.add(size=size)
    for name, values in fields.items():
        getattr(tensor, name).extend(values)
    return tensor


def as_tensorflow(tensor):
    """What TensorFlow makes of it; None: it refuses it."""
    try:
        return tf.io.parse_tensor(
            tensor.SerializeToString(), tf.as_dtype(tensor.dtype)
        ).numpy()
    except tf.errors.InvalidArgumentError:
        return None


def values_of(field, count):
    kinds = {"bool_val": True, "string_val": b"ab"}
    return [kinds.get(field, 1)] * count


def tensors(dtype):
    """Values in any field, fewer or more than the shape has, or none."""
    size = max(1, np.dtype(tf.as_dtype(dtype).as_numpy_dtype).itemsize)
    for shape in ([2, 1], [0], []):
        yield proto(dtype, shape)
        for count in (1, 2, 3):
            yield proto(dtype, shape, b"\1" * size * count)
            yield proto(dtype, shape, float8=b"\x39" * count)
            for field in FIELDS:
                yield proto(dtype, shape, **{field: values_of(field, count)})
    yield proto(dtype, [2], b"\1" * 2 * size, int_val=[5], string_val=[b"c"])
    yield proto(dtype, [1], b"\1" * size + b"\1")
    # Lengths of texts, and the texts.
    yield proto(dtype, [1], b"\1a", string_val=[b"b"])
    yield proto(dtype, [1], b"\xc8\1" + b"x" * 200)
    for content in (b"\1\3abcd", b"\1\3abc", b"\1\3abcde", b"\1a"):
        yield proto(dtype, [2], content)
    yield proto(dtype, [3], string_val=[b"a", b"b"])
    yield proto(dtype, [1], string_val=[b"a", b"b"])


@pytest.fixture(scope="module")
def identities(tmp_path_factory):
    """A model with a signature of each type that gives back what it gets."""
    folder = tmp_path_factory.mktemp("identities") / "1"
    write_identities(folder, DTYPES)
    servable = Servable("identities", 1, folder)
    yield servable
    servable.close()


@pytest.mark.parametrize("name", DTYPES)
def test_tensors_are_read_as_tensorflow_reads_them(name):
    for tensor in tensors(DTYPES[name]):
        expected = as_tensorflow(tensor)
        if expected is None:
            with pytest.raises(ServingError, match="Input x is not a tensor"):
                array_of_proto("x", tensor, LIMITS)
            continue
        array = array_of_proto("x", tensor, LIMITS)
        assert array.dtype == np.asarray(expected, array.dtype).dtype
        assert array.shape == np.shape(expected)
        if array.dtype == object:
            assert array.tolist() == np.asarray(expected, object).tolist()
        else:
            assert array.tobytes() == expected.tobytes()


@pytest.mark.parametrize("name", DTYPES)
def test_an_answer_has_the_type_of_its_signature(identities, name):
    dtype = DTYPES[name]
    fields = {"string_val": [b"a", b""]} if name == "string" else {}
    size = np.dtype(tf.as_dtype(dtype).as_numpy_dtype).itemsize
    content = b"" if fields else bytes([1, 0, 0, 1] * 16)[: 2 * size]
    if name == "bool":
        content = b"\1\0"
    sent = proto(dtype, [2], content, **fields)
    inputs = {"x": array_of_proto("x", sent, LIMITS)}
    outputs = identities.run(name, inputs)
    answer = TensorProto()
    info = identities.signatures[name].outputs["y"]
    fill_proto(answer, outputs["y"], info.dtype)
    assert answer.dtype == dtype
    # In its field, as TensorFlow Serving sends it.
    assert not answer.tensor_content
    got, expected = as_tensorflow(answer), as_tensorflow(sent)
    assert got.shape == (2,)
    if name == "string":
        assert got.tolist() == expected.tolist()
    else:
        assert got.tobytes() == expected.tobytes()
    empty = TensorProto()
    fill_proto(empty, outputs["y"][:0].reshape(0, 3), info.dtype)
    assert as_tensorflow(empty).shape == (0, 3)


def test_another_type_is_refused_though_its_array_looks_alike():
    info = TensorInfo(dtype=types_pb2.DT_QINT8)
    check_dtype("x", types_pb2.DT_QINT8, info)
    for dtype, says in ((types_pb2.DT_INT8, "int8"), (1000, "1000")):
        with pytest.raises(ServingError) as raised:
            check_dtype("x", dtype, info)
        assert raised.value.message == (
            f"Expects input x to be qint8 but {says} is provided"
        )


@pytest.mark.parametrize("name", DTYPES)
def test_json_has_the_types_that_it_has_in_tensorflow_serving(identities, name):
    value = {"string": "a", "bool": True}.get(name, 1)
    document = {"signature_name": name, "inputs": [value]}
    signature = identities.signatures[name]
    if name in IN_JSON:
        inputs, _ = read_inputs(document, signature)
        outputs = identities.run(name, inputs)
        assert outputs["y"].tolist() in ([value], [b"a"])
        assert predict_body(outputs, False).startswith(b'{"outputs": [')
        return
    with pytest.raises(ServingError) as raised:
        read_inputs(document, signature)
    assert raised.value.code is Code.UNIMPLEMENTED
    assert raised.value.http_status == 501
    assert raised.value.message == (
        f"Conversion of JSON Value: 1 to type: {name}"
    )


@pytest.mark.parametrize(
    "array",
    [np.array([1 + 2j]), np.ones(1, np.float16), np.ones(1, "float8_e5m2")],
    ids=lambda array: array.dtype.name,
)
def test_outputs_that_json_cannot_say(array):
    with pytest.raises(ServingError, match="Failed to write JSON value"):
        predict_body({"y": array}, False)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["YQ==", "YQ..", "YQ", "YQ.="], b"a"),
        (["YWI.", "YWI=", "YWI", "Y W\nI ."], b"ab"),
        *((["YWJj"], b"abc"), ([""], b""), (["+/8="], b"\xfb\xff")),
    ],
)
def test_base64_is_padded_by_dots_too(identities, texts, expected):
    document = {"inputs": [{"b64": text} for text in texts]}
    inputs, _ = read_inputs(document, identities.signatures["string"])
    assert inputs["x"].tolist() == [expected] * len(texts)


@pytest.mark.parametrize("text", "YQ. YQ= YQ... Y YWJj. Y.Q= .. -_8=".split())
def test_what_is_no_base64(identities, text):
    with pytest.raises(ServingError, match="Unable to base64 decode"):
        read_inputs(
            {"inputs": [{"b64": text}]}, identities.signatures["string"]
        )
