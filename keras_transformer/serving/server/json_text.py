"""JSON text of the REST API: read, written, and quoted in errors.

Bytes that aren't UTF-8 come in and go out as they are, since TensorFlow Serving
hands them on to the graph and back.
"""

import itertools
import json
import math
import re

from keras_transformer.contract.status import ServingError, invalid_argument

# Escapes in JSON, but half of a pair of surrogates. Not as a possessive whole:
# Python before 3.11.5 forgets what such a one looks ahead for.
_WHOLE = re.compile(
    r"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\(?!u[dD][89a-fA-F]).", re.DOTALL
)
_BOM = b"\xef\xbb\xbf"
_SPACE = " \t\n\r"
# Characters of a value that is shown in an error.
_SHOWN = 200
# Lists and objects in each other. An array has at most 31 axes.
_MAX_DEPTH = 100
_DEPTH = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_OTHERS = bytes(byte for byte in range(256) if byte not in _DEPTH)


def parse_body(body: bytes, max_values: int = 2**17) -> dict:
    """The JSON object of a request.

    Bytes that aren't UTF-8 are kept as surrogates, since TensorFlow Serving
    hands them on to the graph. As RapidJSON does there, passes over a byte
    order mark and whatever follows a NUL after the document, and takes the
    first value of a name that is given twice.

    Args:
        body: JSON.
        max_values: numbers, strings, lists and objects in it.

    Raises:
        ServingError: INVALID_ARGUMENT: it isn't a JSON object, or there is
            too much in it.
    """
    body = body.removeprefix(_BOM)
    if not body:
        raise _parse_error("The document is empty")
    _check_structure(body, max_values)
    try:
        document = _read(body.decode("utf-8", "surrogateescape"))
    except json.JSONDecodeError as error:
        raise _parse_error(f"{error.msg} at offset: {error.pos}") from None
    except ValueError:  # out of range, or Python's limit of digits
        raise _parse_error("Number too big to be stored") from None
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


def to_json(value: object) -> bytes:
    """JSON in UTF-8; surrogates become the bytes that they were."""
    text = json.dumps(value, ensure_ascii=False)
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return json.dumps(value).encode()


def format_error(value: object, reason: str) -> ServingError:
    """The error of JSON that says something else."""
    return invalid_argument(f"JSON Value: {shown(value)} {reason}")


def shown(value: object) -> str:
    """A value in an error, cut where it is long."""
    text = json.dumps(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _parse_error(reason):
    """The error of a body that isn't JSON."""
    return invalid_argument(f"JSON Parse error: {reason}")


def _check_structure(body, max_values):
    """Refuses many values and deep nesting before the body is parsed.

    Python's parser holds the interpreter until it is done, and for millions of
    values that takes seconds.
    """
    opening = body.count(b"[") + body.count(b"{")
    if opening <= _MAX_DEPTH and opening + body.count(b",") < max_values:
        return  # Even if none of them is in a string.
    # Of the quotes only those that begin or end a string are left.
    bare = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    # No more strings than values and their names; what is behind stays.
    bare = b"".join(bare.split(b'"', 4 * max_values)[::2])
    values = 1 + sum(map(bare.count, (b",", b"[", b"{")))
    brackets = bare.translate(None, _OTHERS)
    # The loop below keeps the interpreter, too. In JSON half of them opens.
    if max(values, len(brackets) // 2) > max_values:
        raise invalid_argument(f"The request has more than {max_values} values")
    steps = map(_DEPTH.__getitem__, brackets)
    if max(itertools.accumulate(steps, initial=0)) > _MAX_DEPTH:
        raise _parse_error("The document is nested too deeply")


def _read(text):
    """The document that a text holds, up to its end or a NUL."""
    start = len(text) - len(text.lstrip(_SPACE))
    document, end = _DECODER.raw_decode(text, start)
    if "\\u" in text and "\\" in _WHOLE.sub("", text[start:end]):
        raise _parse_error("The surrogate pair in string is invalid")
    rest = text[end:].lstrip(_SPACE)
    if rest and not rest.startswith("\0"):
        raise json.JSONDecodeError("Extra data", text, len(text) - len(rest))
    return document


def _first_of_each(pairs):
    document = dict(pairs)
    if len(document) < len(pairs):
        document = dict(reversed(pairs))
    return document


def _finite(digits):
    """A float; `NaN` and `Infinity` are words, and don't come here."""
    value = float(digits)
    if math.isinf(value):
        raise ValueError("out of range")
    return value


_DECODER = json.JSONDecoder(
    parse_float=_finite, object_pairs_hook=_first_of_each
)
