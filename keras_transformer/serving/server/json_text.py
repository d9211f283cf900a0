"""JSON text of the REST API: parsing, writing, and quoting in errors.

Invalid UTF-8 is kept in both directions, as TensorFlow Serving passes it to the
graph and back.
"""

import itertools
import json
import math
import re

from keras_transformer.contract.status import ServingError, invalid_argument

# JSON escapes except unpaired surrogates. There is no possessive quantifier, as
# Python before 3.11.5 ignores lookaheads in it.
_WHOLE = re.compile(
    r"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\(?!u[dD][89a-fA-F]).", re.DOTALL
)
_BOM = b"\xef\xbb\xbf"
_SPACE = " \t\n\r"
# Maximum characters of a value in an error.
_SHOWN = 200
# Maximum nesting of lists and objects. An array has at most 31 axes.
_MAX_DEPTH = 100
_DEPTH = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_OTHERS = bytes(byte for byte in range(256) if byte not in _DEPTH)


def parse_body(body: bytes, max_values: int = 2**17) -> dict:
    """Parses the JSON object of a request.

    Bytes that aren't UTF-8 are kept as surrogates, as TensorFlow Serving passes
    them to the graph. Like RapidJSON there, skips a byte order mark and
    anything after a NUL behind the document, and uses the first value of a
    duplicate name.

    Args:
        body: JSON.
        max_values: maximum number of numbers, strings, lists and objects.

    Raises:
        ServingError: INVALID_ARGUMENT: the body isn't a JSON object, or has too
            many values.
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
    """Writes JSON in UTF-8; surrogates become the original bytes."""
    text = json.dumps(value, ensure_ascii=False)
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return json.dumps(value).encode()


def format_error(value: object, reason: str) -> ServingError:
    """Creates the error of valid JSON with unexpected content."""
    return invalid_argument(f"JSON Value: {shown(value)} {reason}")


def shown(value: object) -> str:
    """Formats a value for an error, truncated if it is long."""
    text = json.dumps(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _parse_error(reason):
    """Creates the error of a body that isn't JSON."""
    return invalid_argument(f"JSON Parse error: {reason}")


def _check_structure(body, max_values):
    """Refuses many values and deep nesting before the body is parsed.

    Python's parser holds the GIL, and for millions of values it takes seconds.
    """
    opening = body.count(b"[") + body.count(b"{")
    if opening <= _MAX_DEPTH and opening + body.count(b",") < max_values:
        return  # The counts are upper bounds, as strings count, too.
    # Keeps only quotes that begin or end a string.
    bare = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    # Removes strings, at most two for each value (it may have a name); further
    # ones stay and are counted.
    bare = b"".join(bare.split(b'"', 4 * max_values)[::2])
    values = 1 + sum(map(bare.count, (b",", b"[", b"{")))
    brackets = bare.translate(None, _OTHERS)
    # Limits the loop below, too. Half of the brackets in JSON are opening ones.
    if max(values, len(brackets) // 2) > max_values:
        raise invalid_argument(f"The request has more than {max_values} values")
    steps = map(_DEPTH.__getitem__, brackets)
    if max(itertools.accumulate(steps, initial=0)) > _MAX_DEPTH:
        raise _parse_error("The document is nested too deeply")


def _read(text):
    """Parses the document in a text, up to its end or a NUL."""
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
    """Parses a finite float; `NaN` and `Infinity` aren't passed here."""
    value = float(digits)
    if math.isinf(value):
        raise ValueError("out of range")
    return value


_DECODER = json.JSONDecoder(
    parse_float=_finite, object_pairs_hook=_first_of_each
)
