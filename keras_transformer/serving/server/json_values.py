"""One value of a request's JSON, as an element of an array.

What is refused follows json_tensor.cc of TensorFlow Serving.
"""

import base64
import binascii
import json
import math
import re

import numpy as np

from keras_transformer.contract.errors import (
    Code,
    ServingError,
    invalid_argument,
)
from keras_transformer.contract.tensors import dtype_name, numpy_dtype

# Characters of a value that is shown in an error.
_SHOWN = 200
_KINDS = {
    type(None): "Null",
    dict: "Object",
    list: "Array",
    str: "String",
    int: "Number",
    float: "Number",
}


def element(value, info):
    """The Python value that an array takes.

    Args:
        value: no list.
        info: `TensorInfo` of the input.

    Raises:
        ServingError: the value isn't of the input's type.
    """
    dtype = numpy_dtype(info)
    if dtype.kind == "O":
        if isinstance(value, str):
            return value.encode("utf-8", "surrogateescape")
        if isinstance(value, dict):
            return _from_base64(value)
    elif dtype.kind == "b":
        if isinstance(value, bool):
            return value
    elif dtype.kind in "iu":
        bounds = np.iinfo(dtype)
        # TensorFlow Serving cuts what an int8 can't hold; here it's refused.
        if type(value) is int and bounds.min <= value <= bounds.max:
            return value
    elif dtype.kind == "f":
        if type(value) in (int, float):
            return _decimal(value, dtype)
    else:
        raise ServingError(
            Code.UNIMPLEMENTED,
            f"Conversion of JSON Value: {shown(value)} to type: "
            f"{dtype_name(info)}",
        )
    raise invalid_argument(
        f"JSON Value: {shown(value)} Type: {_kind(value)} is not of expected "
        f"type: {dtype_name(info)}"
    )


def _decimal(value, dtype):
    limits = np.finfo(dtype)
    # A whole number of 64 bits has to be exact; others are rounded.
    exact = 2 ** (limits.nmant + 1)
    lossy = isinstance(value, int) and exact <= abs(value) < 2**64
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
    # Padding may be left out, and white space may be put in.
    text = re.sub(r"\s", "", value["b64"]).rstrip("=")
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise invalid_argument("Unable to base64 decode") from None


def _is_base64(value):
    return value.keys() == {"b64"} and isinstance(value["b64"], str)


def is_object(value) -> bool:
    """Whether it names tensors: an object that isn't base64."""
    return isinstance(value, dict) and not _is_base64(value)


def _kind(value):
    if isinstance(value, bool):
        return str(value)
    return _KINDS[type(value)]


def shown(value) -> str:
    """A value in an error, cut where it is long."""
    try:
        text = json.dumps(value)
    except RecursionError:
        return "..."
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def parse_error(reason: str) -> ServingError:
    """The error of a body that isn't JSON."""
    return invalid_argument(f"JSON Parse error: {reason}")


def format_error(value, reason: str) -> ServingError:
    """The error of JSON that says something else."""
    return invalid_argument(f"JSON Value: {shown(value)} {reason}")
