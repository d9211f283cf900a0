"""A grammar of gRPC requests: tensors that are right, odd, or impossible."""

import struct

from hypothesis import strategies as st
from tensorflow.core.framework import tensor_pb2, types_pb2
from tensorflow_serving.apis import (
    get_model_metadata_pb2,
    get_model_status_pb2,
    predict_pb2,
)

from tests.attack.examples import pick

_FIELDS = [
    *("half_val", "float_val", "double_val", "int_val", "string_val"),
    *("int64_val", "bool_val", "uint32_val", "uint64_val", "scomplex_val"),
]
_SIZES = st.one_of(
    st.integers(0, 4), pick(-1, -(2**63), 1024, 1025, 2**31, 2**62, 2**63 - 1)
)
_TEXTS = st.one_of(
    st.binary(max_size=12),
    pick(b"", b"\x00", b"\xff", b"a" * 16_384, b"a" * 16_385, b"1.5", b"nan"),
)
_NUMBERS = st.one_of(st.integers(-3, 3), pick(2**31 - 1, -(2**31), 2**31 - 2))
NAMES = st.one_of(
    st.text(max_size=6),
    pick("", "text", "x", "y", "ids", "flag", "a" * 20_000, "狗"),
)
_MODELS = st.one_of(pick("toy", "toy", "toy", "none"), NAMES)
# Not `spin`, which takes as long as it is told.
_SIGNATURES = st.one_of(
    pick(
        *("", "", "serving_default", "length", "add", "double", "scalar"),
        *("join", "number", "flip", "__saved_model_init_op"),
    ),
    NAMES.filter(lambda name: name != "spin"),
)


def _fill(tensor, field, values):
    if field == "string_val":
        tensor.string_val.extend(
            v if isinstance(v, bytes) else str(v).encode() for v in values
        )
        return
    numbers = [len(v) if isinstance(v, bytes) else v for v in values]
    if field.startswith(("uint", "half")):
        numbers = [abs(number) % 2**16 for number in numbers]
    if field == "bool_val":
        numbers = [number > 0 for number in numbers]
    getattr(tensor, field).extend(numbers)


@st.composite
def tensors(draw):
    """A tensor: type, shape and values each at random, or all that fit."""
    tensor = tensor_pb2.TensorProto()
    if draw(st.booleans()):
        rows = draw(st.lists(_TEXTS, min_size=1, max_size=5))
        tensor.dtype = types_pb2.DT_STRING
        tensor.tensor_shape.dim.add(size=len(rows))
        tensor.string_val.extend(rows)
        return tensor
    tensor.dtype = draw(
        st.one_of(
            pick(types_pb2.DT_STRING, types_pb2.DT_FLOAT, types_pb2.DT_INT32),
            st.integers(0, 34),
            pick(101, 107, 2**31 - 1, -1),
        )
    )
    for size in draw(st.lists(_SIZES, max_size=4)):
        tensor.tensor_shape.dim.add(size=size)
    if draw(st.integers(0, 9)) == 0:
        for _ in range(draw(pick(33, 300))):
            tensor.tensor_shape.dim.add(size=1)
    tensor.tensor_shape.unknown_rank = draw(st.integers(0, 19)) == 0
    for field in draw(st.lists(st.sampled_from(_FIELDS), max_size=2)):
        values = st.lists(st.one_of(_NUMBERS, _TEXTS), max_size=5)
        _fill(tensor, field, draw(values))
    if draw(st.integers(0, 2)) == 0:
        tensor.tensor_content = draw(
            st.one_of(
                st.binary(max_size=24),
                st.lists(st.floats(width=32), max_size=4).map(
                    lambda numbers: struct.pack(f"{len(numbers)}f", *numbers)
                ),
            )
        )
    return tensor


def _specify(draw, spec):
    """A model's name, and by chance a version or a label."""
    spec.name = draw(_MODELS)
    which = draw(st.integers(0, 7))
    if which == 0:
        spec.version.value = draw(pick(1, 2, 9, 0, -1, 2**63 - 1, -(2**63)))
    elif which == 1:
        spec.version_label = draw(st.one_of(st.just("stable"), NAMES))
    spec.signature_name = draw(_SIGNATURES)


@st.composite
def predictions(draw):
    """A request to predict."""
    request = predict_pb2.PredictRequest()
    if draw(st.integers(0, 19)):
        _specify(draw, request.model_spec)
    for _ in range(draw(st.integers(0, 2))):
        request.inputs[draw(NAMES)].CopyFrom(draw(tensors()))
    if draw(st.booleans()):
        request.inputs["text"].CopyFrom(draw(tensors()))
    if draw(st.integers(0, 4)) == 0:
        names = st.one_of(st.just("translation"), NAMES)
        request.output_filter.extend(draw(st.lists(names, max_size=3)))
    return "/tensorflow.serving.PredictionService/Predict", request


@st.composite
def questions(draw):
    """A request for metadata or for the state of a model."""
    if draw(st.booleans()):
        request = get_model_status_pb2.GetModelStatusRequest()
        _specify(draw, request.model_spec)
        return "/tensorflow.serving.ModelService/GetModelStatus", request
    request = get_model_metadata_pb2.GetModelMetadataRequest()
    _specify(draw, request.model_spec)
    names = st.one_of(st.just("signature_def"), NAMES)
    request.metadata_field.extend(draw(st.lists(names, max_size=2)))
    return "/tensorflow.serving.PredictionService/GetModelMetadata", request


_METHODS = pick(
    *("/tensorflow.serving.PredictionService/Predict",) * 4,
    "/tensorflow.serving.PredictionService/GetModelMetadata",
    "/tensorflow.serving.PredictionService/Classify",
    "/tensorflow.serving.ModelService/GetModelStatus",
    "/tensorflow.serving.ModelService/HandleReloadConfigRequest",
    "/grpc.health.v1.Health/Check",
    "/none.Such/Method",
)


@st.composite
def messages(draw):
    """A method and the bytes of its message: whole, damaged, or none."""
    method, request = draw(
        st.one_of(predictions(), predictions(), predictions(), questions())
    )
    content = request.SerializeToString()
    which = draw(st.integers(0, 9))
    if which == 0:
        at = draw(st.integers(0, len(content)))
        end = at + draw(st.integers(0, 3))
        content = content[:at] + draw(st.binary(max_size=3)) + content[end:]
    elif which == 1:
        method, content = draw(_METHODS), draw(st.binary(max_size=40))
    elif which == 2:
        method = draw(_METHODS)
    return method, content
