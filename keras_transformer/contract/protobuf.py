"""Protobuf messages that are read and written without TensorFlow.

They are declared here in protobuf's language, so that neither TensorFlow nor
the package `tensorflow-serving-api` is needed. Unused fields are omitted, as
protobuf keeps or skips unknown ones. `message` returns a class,
`string_tensor` and `tensor_values` convert the tensors of requests and answers.

Source of the field numbers: tensorflow_serving/apis/{prediction_log,predict,
model,get_model_status}.proto, util/status.proto and
session_bundle_config.proto of TensorFlow Serving, the same from 1.x to 2.21,
and tensorflow/core/{framework/tensor,framework/tensor_shape,
protobuf/meta_graph}.proto of TensorFlow 2.21.
"""

import array
import functools
import itertools
import math
import re

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import Message

_PACKAGE = "keras_transformer.contract"
_FIELD = descriptor_pb2.FieldDescriptorProto
_SCALARS = ("string", "bytes", "int32", "int64", "float", "double", "bool")
# Enumerations are encoded like int32. BatchingParameters is missing in
# `tensorflow-serving-api`.
_MESSAGES = """
message Dim { int64 size = 1; }
message TensorShape { repeated Dim dim = 2; }
message Tensor {
    int32 dtype = 1; TensorShape tensor_shape = 2; bytes tensor_content = 4;
    repeated float float_val = 5; repeated double double_val = 6;
    repeated int32 int_val = 7; repeated bytes string_val = 8;
    repeated int64 int64_val = 10; repeated bool bool_val = 11;
}
message StringValue { string value = 1; }
message Int64Value { int64 value = 1; }
message ModelSpec {
    string name = 1; Int64Value version = 2;
    string signature_name = 3; string version_label = 4;
}
message PredictRequest {
    ModelSpec model_spec = 1; map<string, Tensor> inputs = 2;
}
message PredictResponse { map<string, Tensor> outputs = 1; }
message GetModelStatusRequest { ModelSpec model_spec = 1; }
message Status { int32 error_code = 1; string error_message = 2; }
message ModelVersionStatus {
    int64 version = 1; int32 state = 2; Status status = 3;
}
message GetModelStatusResponse {
    repeated ModelVersionStatus model_version_status = 1;
}
message PredictLog { PredictRequest request = 1; }
message PredictionLog { PredictLog predict_log = 6; }
message TensorInfo { string name = 1; int32 dtype = 2; }
message SignatureDef {
    map<string, TensorInfo> inputs = 1; map<string, TensorInfo> outputs = 2;
}
message MetaGraph { map<string, SignatureDef> signature_def = 5; }
message BatchingParameters {
    Int64Value max_batch_size = 1; Int64Value batch_timeout_micros = 2;
    Int64Value max_enqueued_batches = 3; Int64Value num_batch_threads = 4;
    StringValue thread_pool_name = 5; repeated int64 allowed_batch_sizes = 6;
    bool pad_variable_length_inputs = 7;
}
"""
_MESSAGE = re.compile(r"message (\w+) {(.*?)}", re.DOTALL)
_FIELDS = re.compile(r"(repeated |map<string, )?(\w+)>? (\w+) = (\d+);")

# By DataType of tensorflow/core/framework/types.proto: the field of the values,
# and the `array` type code for values in `tensor_content`.
_DTYPES = {
    1: ("float_val", "f"),
    2: ("double_val", "d"),
    3: ("int_val", "i"),
    7: ("string_val", None),
    9: ("int64_val", "q"),
    10: ("bool_val", "b"),
}
_STRING, _BOOL = 7, 10
# Maximum number of axes of a tensor, and maximum size of each. No output has
# more, and this limits the cost of checking a shape.
_MOST_AXES, _LONGEST_AXIS = 8, 2**31 - 1


@functools.cache
def message(name: str) -> type[Message]:
    """Returns the class of a message by its name."""
    return message_factory.GetMessageClass(
        _pool().FindMessageTypeByName(f"{_PACKAGE}.{name}")
    )


def string_tensor(texts: list[str]) -> Message:
    """Creates a `Tensor` message `(B,)`; surrogates in texts become "?"."""
    tensor = message("Tensor")(dtype=_STRING)
    tensor.tensor_shape.dim.add(size=len(texts))
    tensor.string_val.extend(text.encode("utf-8", "replace") for text in texts)
    return tensor


def tensor_values(tensor: Message, rows: int) -> list:
    """Returns the values of a `Tensor` message, nested by its shape.

    A small message may stand for many values: its last value is repeated to
    fill the shape, and a shape such as `(N, 0)` means N empty lists. The result
    is limited to the number of values in the message or of rows in the
    request, whichever is more.

    Args:
        tensor: float32, float64, int32, int64, bool or string.
        rows: number of rows in the request.

    Raises:
        ValueError: the type isn't supported, the number of values doesn't fit
            the shape, or the result would exceed the limit.
    """
    sizes = _sizes(tensor.tensor_shape)
    if tensor.dtype not in _DTYPES:
        raise ValueError(f"a tensor of type {tensor.dtype}")
    field, code = _DTYPES[tensor.dtype]
    flat = list(getattr(tensor, field))
    if tensor.tensor_content and code:
        flat = _unpacked(tensor.tensor_content, code)
    if tensor.dtype == _BOOL:
        flat = [bool(value) for value in flat]
    if tensor.dtype == _STRING:
        flat = [value.decode("utf-8", "replace") for value in flat]
    count = math.prod(sizes)
    # The number of elements, or of empty lists if an axis has size 0.
    made = math.prod(itertools.takewhile(bool, sizes))
    if made > max(len(flat), rows, 1):
        raise ValueError(
            f"{len(flat)} values for the shape {sizes} and {rows} rows"
        )
    # The last value is repeated.
    if 0 < len(flat) < count:
        flat += [flat[-1]] * (count - len(flat))
    if len(flat) != count:
        raise ValueError(f"{len(flat)} values for the shape {sizes}")
    return _nested(flat, sizes)


@functools.cache
def _pool():
    """Creates a separate pool, as the default one may have the originals."""
    file = descriptor_pb2.FileDescriptorProto(
        name="keras_transformer/contract.proto",
        package=_PACKAGE,
        syntax="proto3",
    )
    for name, fields in _MESSAGE.findall(_MESSAGES):
        owner = file.message_type.add(name=name)
        for many, kind, field, number in _FIELDS.findall(fields):
            if many.startswith("map"):
                kind = _add_entry(owner, field, kind)
            _add_field(owner, field, int(number), kind, bool(many))
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return pool


def _add_entry(owner, field, kind):
    """Adds the message of a map's pairs, by protobuf's naming rule."""
    name = "".join(part.title() for part in field.split("_")) + "Entry"
    entry = owner.nested_type.add(name=name)
    entry.options.map_entry = True
    _add_field(entry, "key", 1, "string")
    _add_field(entry, "value", 2, kind)
    return f"{owner.name}.{name}"


def _add_field(owner, name, number, kind, many=False):
    added = owner.field.add(
        name=name,
        number=number,
        label=_FIELD.LABEL_REPEATED if many else _FIELD.LABEL_OPTIONAL,
    )
    if kind in _SCALARS:
        added.type = getattr(_FIELD, f"TYPE_{kind.upper()}")
    else:
        added.type = _FIELD.TYPE_MESSAGE
        added.type_name = f".{_PACKAGE}.{kind}"


def _sizes(shape):
    """Returns the checked sizes of a shape's axes."""
    if len(shape.dim) > _MOST_AXES:
        raise ValueError(f"a shape of {len(shape.dim):,} axes")
    sizes = [axis.size for axis in shape.dim]
    if not all(0 <= size <= _LONGEST_AXIS for size in sizes):
        raise ValueError(f"the shape {sizes}")
    return sizes


def _unpacked(content, code):
    values = array.array(code)
    if len(content) % values.itemsize:
        raise ValueError(
            f"{len(content)} bytes of {values.itemsize}-byte values"
        )
    values.frombytes(content)
    return values.tolist()


def _nested(flat, sizes):
    if len(sizes) < 2:
        return flat if sizes else flat[0]
    step = math.prod(sizes[1:])
    return [
        _nested(flat[row * step : (row + 1) * step], sizes[1:])
        for row in range(sizes[0])
    ]
