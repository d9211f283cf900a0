"""The arrays of an answer, as the JSON of TensorFlow Serving's REST API."""

import base64
import json

import numpy as np

from keras_transformer.contract.errors import ServingError, invalid_argument

# Outputs whose names end so are sent in base64.
_BYTES_SUFFIX = "_bytes"


def predict_body(outputs: dict, by_rows: bool) -> bytes:
    """The body of an answer to predict.

    Args:
        outputs: arrays by name.
        by_rows: whether the request had "instances" and not "inputs".

    Returns:
        JSON. Text that isn't UTF-8 and numbers that aren't finite go out as
        they are, as from TensorFlow Serving.

    Raises:
        ServingError: INVALID_ARGUMENT: rows are wanted, and the outputs have
            no first axis in common.
    """
    values = {
        name: _values(name, array) for name, array in sorted(outputs.items())
    }
    if by_rows:
        return to_json({"predictions": _rows(outputs, values)})
    alone = next(iter(values.values())) if len(values) == 1 else values
    return to_json({"outputs": alone})


def error_body(error: ServingError) -> bytes:
    """The body of an answer that says what went wrong."""
    return to_json({"error": error.message})


def to_json(value) -> bytes:
    """JSON in UTF-8; surrogates become the bytes that they stand for."""
    text = json.dumps(value, ensure_ascii=False)
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return json.dumps(value).encode()


def _rows(outputs, values):
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


def _values(name, array):
    """Nested lists of what JSON can say."""
    if array.dtype == object:
        convert = _base64 if name.endswith(_BYTES_SUFFIX) else _text
        flat = np.empty(array.size, object)
        flat[:] = [convert(value) for value in array.reshape(-1)]
        return flat.reshape(array.shape).tolist()
    if array.dtype == np.float32:
        # The shortest decimal that is the same float32: 0.2, and not
        # 0.20000000298.
        return _shortest(array).tolist()
    if array.dtype.kind not in "biuf":
        return array.astype(np.float32).tolist()
    return array.tolist()


def _shortest(array):
    return array.astype("U").astype(np.float64)


def _text(value):
    return value.decode("utf-8", "surrogateescape")


def _base64(value):
    return {"b64": base64.b64encode(value).decode()}
