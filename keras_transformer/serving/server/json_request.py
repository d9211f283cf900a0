"""The body of a REST request to predict, as arrays.

Which bodies are refused and with which words follows json_tensor.cc of
TensorFlow Serving.
"""

import json
import math
import re

import numpy as np

from keras_transformer.contract.errors import ServingError, invalid_argument
from keras_transformer.contract.tensors import numpy_dtype
from keras_transformer.serving.server.json_values import (
    element,
    format_error,
    is_object,
    parse_error,
    shown,
)

# Axes that an array of NumPy may have, and one for the rows to spare.
_MAX_RANK = 31
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def parse_body(body: bytes) -> dict:
    """The JSON object of a request.

    Bytes that aren't UTF-8 are kept as surrogates, since TensorFlow Serving
    hands them on to the graph.

    Raises:
        ServingError: INVALID_ARGUMENT: it isn't a JSON object.
    """
    if not body:
        raise parse_error("The document is empty")
    try:
        document = json.loads(
            body.decode("utf-8", "surrogateescape"), parse_float=_finite
        )
        if _SURROGATE.search(body):
            _check_pairs(body)
    except json.JSONDecodeError as error:
        raise parse_error(f"{error.msg} at offset: {error.pos}") from None
    except RecursionError:
        raise parse_error("The document is nested too deeply") from None
    except ValueError:  # out of range, or Python's limit of digits
        raise parse_error("Number too big to be stored") from None
    if not isinstance(document, dict):
        raise format_error(document, "Is not object")
    name = document.get("signature_name", "")
    if not isinstance(name, str):
        raise format_error(
            document,
            "not formatted correctly. 'signature_name' key must be a string "
            "value.",
        )
    return document


def read_inputs(document: dict, signature) -> tuple[dict, bool]:
    """The inputs of a request.

    Args:
        document: from `parse_body`.
        signature: `SignatureDef` of the signature that it names.

    Returns:
        arrays by name, and whether they came by rows ("instances") and not by
        columns ("inputs").

    Raises:
        ServingError: INVALID_ARGUMENT: they aren't what the signature takes.
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
        return _columns(document["inputs"], infos), False
    if "instances" not in document:
        raise invalid_argument("Missing 'inputs' or 'instances' key")
    rows = document["instances"]
    if not isinstance(rows, list):
        raise format_error(
            document, "Excepting 'instances' to be an list/array"
        )
    if not rows:
        raise format_error(document, "No values in 'instances' array")
    return _rows(rows, infos), True


def _check_pairs(body):
    """Refuses an escaped half of a character."""
    # Bytes that aren't UTF-8 become another character here: no surrogates.
    document = json.loads(body.decode("utf-8", "replace"))
    try:
        json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise parse_error("The surrogate pair in string is invalid") from None


def _finite(digits):
    """A float; `NaN` and `Infinity` are words, and don't come here."""
    value = float(digits)
    if math.isinf(value):
        raise ValueError("out of range")
    return value


def _rows(rows, infos):
    named = is_object(rows[0])
    if not named and len(infos) > 1:
        raise invalid_argument(
            "instances is a plain list, but expecting list of objects as "
            "multiple input tensors required as per tensorinfo_map"
        )
    for number, row in enumerate(rows):
        if is_object(row) == named:
            continue
        wanted, got = ("object", "list") if named else ("value/list", "object")
        raise invalid_argument(
            f"Expecting {wanted} but got {got} at item {number} of input list"
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
    """One array of the values of all rows, which have one shape."""
    first = None
    for number, value in enumerate(values):
        try:
            shape = _shape(value)
            flat = _flatten(value, shape, info)
            if first is None:
                first, everything = shape, []
            elif math.prod(shape) != math.prod(first):
                raise invalid_argument(
                    f"Expecting tensor size: {math.prod(first)} but got: "
                    f"{math.prod(shape)}"
                )
            elif shape != first:
                raise invalid_argument(
                    f"Expecting shape {_brackets(first)} but got: "
                    f"{_brackets(shape)}"
                )
            everything += flat
        except ServingError as error:
            raise invalid_argument(
                f"Failed to process element: {number}{key} of 'instances' "
                f"list. Error: INVALID_ARGUMENT: {error.message}"
            ) from None
    return _array(everything, (len(values), *first), info)


def _columns(value, infos):
    if not is_object(value):
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
    arrays = {}
    for name, info in infos.items():
        shape = _shape(value[name])
        flat = _flatten(value[name], shape, info)
        arrays[name] = _array(flat, shape, info)
    return arrays


def _shape(value):
    """Sizes along the first elements, as TensorFlow Serving reads them."""
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
    """The leaves, checked for their type and for a regular shape."""
    if not isinstance(value, list):
        if level != len(shape):
            raise invalid_argument(
                f"JSON Value: {shown(value)} found at incorrect level: "
                f"{level + 1} in the JSON DOM. Expected at level: {len(shape)}"
            )
        return [element(value, info)]
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


def _brackets(shape):
    return f"[{','.join(map(str, shape))}]"
