"""JSON tensors of the REST API: request bodies to arrays, arrays to answers.

The checks and their error messages follow json_tensor.cc of TensorFlow Serving.
"""

from __future__ import annotations

import base64
import math
import re
from typing import TYPE_CHECKING

import numpy as np
import tensorflow as tf

from keras_transformer.contract.status import (
    Code,
    ServingError,
    invalid_argument,
)
from keras_transformer.serving.server.admission import check_rows
from keras_transformer.serving.server.json_text import (
    format_error,
    shown,
    to_json,
)
from keras_transformer.serving.server.signature_tensors import (
    dtype_name,
    numpy_dtype,
)

if TYPE_CHECKING:
    from tensorflow.core.protobuf.meta_graph_pb2 import SignatureDef


# NumPy's maximum number of axes, less one for the rows.
_MAX_RANK = 31
# Names of JSON types; other values are numbers.
_KINDS = {type(None): "Null", dict: "Object", list: "Array", str: "String"}
# The types that TensorFlow Serving reads and writes.
_IN_JSON = (
    *("float", "double", "int8", "int16", "int32", "int64", "uint8", "uint32"),
    *("uint64", "bool", "string"),
)
# Outputs whose names end with this suffix are sent in base64.
_BYTES_SUFFIX = "_bytes"


def read_inputs(
    document: dict, signature: SignatureDef, max_rows: int = 2**63
) -> tuple[dict, bool]:
    """Reads the inputs of a request.

    Args:
        document: the result of `parse_body`.
        signature: `SignatureDef` of the requested signature.
        max_rows: maximum rows of an input, checked before any conversion.

    Returns:
        arrays by name, and True if they were given by rows ("instances"),
        False if by columns ("inputs").

    Raises:
        ServingError: INVALID_ARGUMENT: the inputs don't match the signature, or
            have too many rows.
    """
    infos = dict(sorted(signature.inputs.items()))
    if not infos:
        name = document.get("signature_name") or "DEFAULT"
        raise invalid_argument(f"Failed to get input map for signature: {name}")
    if "instances" in document and "inputs" in document:
        raise format_error(
            document,
            "Not formatted correctly expecting only one of 'inputs' or "
            "'instances' keys to exist ",
        )
    if "inputs" in document:
        columns = _named_columns(document["inputs"], infos)
        for name, value in columns.items():
            if isinstance(value, list):
                check_rows(name, len(value), max_rows)
        return _input_columns(columns, infos), False
    if "instances" not in document:
        raise invalid_argument("Missing 'inputs' or 'instances' key")
    rows = document["instances"]
    if not isinstance(rows, list):
        raise format_error(
            document, "Excepting 'instances' to be an list/array"
        )
    if not rows:
        raise format_error(document, "No values in 'instances' array")
    check_rows(next(iter(infos)), len(rows), max_rows)
    return _input_rows(rows, infos), True


def predict_body(outputs: dict, by_rows: bool) -> bytes:
    """Writes the body of an answer to predict.

    Args:
        outputs: arrays by name.
        by_rows: True if the request had "instances", False if "inputs".

    Returns:
        JSON. Invalid UTF-8 and non-finite numbers are written unchanged, as by
        TensorFlow Serving.

    Raises:
        ServingError: INVALID_ARGUMENT: JSON can't represent an output's type,
            or rows are requested and the outputs lack a common first axis.
    """
    values = {
        name: _nested(name, array) for name, array in sorted(outputs.items())
    }
    if by_rows:
        return to_json({"predictions": _output_rows(outputs, values)})
    alone = next(iter(values.values())) if len(values) == 1 else values
    return to_json({"outputs": alone})


def _input_rows(rows, infos):
    named = _is_object(rows[0])
    if not named and len(infos) > 1:
        raise invalid_argument(
            "instances is a plain list, but expecting list of objects as "
            "multiple input tensors required as per tensorinfo_map"
        )
    for number, row in enumerate(rows):
        if _is_object(row) == named:
            continue
        kinds = "object but got list" if named else "value/list but got object"
        raise invalid_argument(
            f"Expecting {kinds} at item {number} of input list"
        )
    if not named:
        (name,) = infos
        return {name: _stack(rows, infos[name], "")}
    for number, row in enumerate(rows):
        if row.keys() != infos.keys():
            raise invalid_argument(
                f"Failed to process element: {number} of 'instances' list. "
                f"JSON object: {shown(row)} keys must be equal to: "
                f"{','.join(infos)}"
            )
    return {
        name: _stack([row[name] for row in rows], info, f" key: {name}")
        for name, info in infos.items()
    }


def _stack(values, info, key):
    """Stacks the values of all rows, which must have the first one's shape."""
    flat: list = []
    for number, value in enumerate(values):
        try:
            shape = _shape(values[0])
            flat += _flatten(value, shape, info)
        except ServingError as error:
            raise invalid_argument(
                f"Failed to process element: {number}{key} of 'instances' "
                f"list. Error: INVALID_ARGUMENT: {error.message}"
            ) from None
    return _array(flat, (len(values), *shape), info)


def _named_columns(value, infos):
    """Returns the values of "inputs" by name."""
    if not _is_object(value):
        if len(infos) > 1:
            raise invalid_argument(
                "inputs is a plain value/list, but expecting an object as "
                "multiple input tensors required as per tensorinfo_map"
            )
        (name,) = infos
        value = {name: value}
    for name in infos:
        if name not in value:
            raise invalid_argument(
                f"Missing named input: {name} in 'inputs' object."
            )
    return {name: value[name] for name in infos}


def _input_columns(columns, infos):
    arrays = {}
    for name, value in columns.items():
        shape, info = _shape(value), infos[name]
        arrays[name] = _array(_flatten(value, shape, info), shape, info)
    return arrays


def _shape(value):
    """Returns sizes along first elements, as TensorFlow Serving reads them."""
    shape = []
    while isinstance(value, list):
        shape.append(len(value))
        if not value:
            break
        if len(shape) > _MAX_RANK:
            raise invalid_argument(
                f"Encountered lists nested deeper than {_MAX_RANK}"
            )
        value = value[0]
    return tuple(shape)


def _flatten(value, shape, info, level=0):
    """Returns the leaves; checks their types and for a regular shape."""
    if not isinstance(value, list):
        if level != len(shape):
            raise invalid_argument(
                f"JSON Value: {shown(value)} found at incorrect level: "
                f"{level + 1} in the JSON DOM. Expected at level: {len(shape)}"
            )
        return [_element(value, info)]
    if level >= len(shape):
        raise invalid_argument(
            f"Encountered list at unexpected level: {level} expected < "
            f"{len(shape)}"
        )
    if len(value) != shape[level]:
        raise invalid_argument(
            f"Encountered list at unexpected size: {len(value)} at level: "
            f"{level} expected size: {shape[level]}"
        )
    flat = []
    for item in value:
        flat += _flatten(item, shape, info, level + 1)
    return flat


def _array(flat, shape, info):
    array = np.empty(len(flat), numpy_dtype(info))
    array[:] = flat
    return array.reshape(shape)


def _element(value, info):
    """Converts a leaf to a Python value for the input's array."""
    dtype = numpy_dtype(info)
    if isinstance(value, dict) and dtype.name == "object":
        return _from_base64(value)
    if dtype_name(info.dtype) not in _IN_JSON and not isinstance(value, dict):
        raise ServingError(
            Code.UNIMPLEMENTED,
            f"Conversion of JSON Value: {shown(value)} to type: "
            f"{dtype_name(info.dtype)}",
        )
    if dtype.kind == "O" and isinstance(value, str):
        return value.encode("utf-8", "surrogateescape")
    if dtype.kind == "b" and isinstance(value, bool):
        return value
    if dtype.kind == "f" and type(value) in (int, float):
        return _decimal(value, dtype)
    if dtype.kind in "iu" and type(value) is int:
        bounds = np.iinfo(dtype)
        # TensorFlow Serving truncates an int8 out of range; here it's refused.
        if bounds.min <= value <= bounds.max:
            return value
    raise invalid_argument(
        f"JSON Value: {shown(value)} Type: {_kind(value)} is not of expected "
        f"type: {dtype_name(info.dtype)}"
    )


def _decimal(value, dtype):
    limits = np.finfo(dtype)
    # 64-bit integers must be exact; larger ones are rounded.
    exact = 2 ** (limits.nmant + 1)
    is_64_bits = -(2**63) <= value < 2**64
    lossy = isinstance(value, int) and exact <= abs(value) and is_64_bits
    finite = isinstance(value, int) or math.isfinite(value)
    if lossy or (finite and abs(value) > float(limits.max)):
        kind = "float" if dtype.itemsize == 4 else "double"
        raise invalid_argument(
            f"Cannot convert JSON value: {shown(value)} to {kind} without "
            "loss of precision."
        )
    return value


def _from_base64(value):
    if not _is_base64(value):
        raise format_error(value, "not formatted correctly for base64 data")
    # As in absl::Base64Unescape, padding ("=" or ".") must be complete or
    # missing, and white space is ignored.
    text = re.sub(r"\s", "", value["b64"])
    digits = text.rstrip("=.")
    padding = -len(digits) % 4
    try:
        if len(text) - len(digits) in (0, padding):
            return base64.b64decode(digits + "=" * padding, validate=True)
    except ValueError:
        pass
    raise invalid_argument("Unable to base64 decode")


def _is_base64(value):
    return value.keys() == {"b64"} and isinstance(value["b64"], str)


def _is_object(value):
    """True for an object that names tensors, not one with base64 data."""
    return isinstance(value, dict) and not _is_base64(value)


def _kind(value):
    if isinstance(value, bool):
        return str(value)
    return _KINDS.get(type(value), "Number")


def _output_rows(outputs, values):
    count = None
    for name, array in sorted(outputs.items()):
        if not array.ndim:
            raise invalid_argument(
                f"Tensor name: {name} has no shape information "
            )
        if count not in (None, len(array)):
            raise invalid_argument(
                f"Tensor name: {name} has inconsistent batch size: "
                f"{len(array)} expecting: {count}"
            )
        count = len(array)
    if len(values) == 1:
        return next(iter(values.values()))
    return [
        {name: value[row] for name, value in values.items()}
        for row in range(count or 0)
    ]


def _nested(name, array):
    """Converts an array to nested lists for JSON."""
    if array.dtype == object:
        convert = _base64 if name.endswith(_BYTES_SUFFIX) else _text
        flat = np.empty(array.size, object)
        flat[:] = [convert(value) for value in array.reshape(-1)]
        return flat.reshape(array.shape).tolist()
    kind = dtype_name(tf.as_dtype(array.dtype).as_datatype_enum)
    if kind not in _IN_JSON:
        raise invalid_argument(
            f"Failed to write JSON value for tensor type: {kind}"
        )
    if array.dtype == np.float32:
        # Row by row, as each number takes 128 bytes as NumPy text.
        if array.ndim > 1:
            return [_nested(name, row) for row in array]
        # The shortest decimal that rounds to the float32: 0.2, not
        # 0.20000000298.
        return array.astype("U").astype(np.float64).tolist()
    return array.tolist()


def _text(value):
    return value.decode("utf-8", "surrogateescape")


def _base64(value):
    return {"b64": base64.b64encode(value).decode()}
