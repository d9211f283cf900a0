"""JSON text of the REST API: read, written, and quoted in errors.

Bytes that aren't UTF-8 come in and go out as they are, since TensorFlow Serving
hands them on to the graph and back.
"""

import json
import math
import re

import numpy as np

from keras_transformer.contract.status import ServingError, invalid_argument

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_BOM = b"\xef\xbb\xbf"
_SPACE = " \t\n\r"
# Strings, to pass over them, and words for numbers that Python hasn't. Each
# byte is read once, whatever is missing at the end.
_WORDS = re.compile(rb'"(?:[^"\\]++|\\.?)*+"?|-?(?:NaN|Inf(?:inity)?)', re.S)
# Of quotes and such words; each takes half a microsecond.
_MANY_WORDS = 2**18
# Characters of a value that is shown in an error.
_SHOWN = 200
# Lists and objects in each other. An array has at most 31 axes.
_MAX_DEPTH = 100
# Bytes that are counted at a time; meanwhile other threads may run.
_PIECE = 2**18


def parse_body(body: bytes, max_values: int = 2**17) -> dict:
    """The JSON object of a request.

    Bytes that aren't UTF-8 are kept as surrogates, since TensorFlow Serving
    hands them on to the graph. As RapidJSON does there, passes over a byte
    order mark and whatever follows a NUL after the document, reads `Inf` and
    `-NaN`, and takes the first value of a name that is given twice.

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
    if b"Inf" in body or b"-NaN" in body:
        body = _with_python_words(body)
    try:
        document = _read(body.decode("utf-8", "surrogateescape"), _DECODER)
        if _SURROGATE.search(body):
            _check_pairs(body)
    except json.JSONDecodeError as error:
        raise _parse_error(f"{error.msg} at offset: {error.pos}") from None
    except RecursionError:
        raise _too_deep() from None
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
    try:
        text = json.dumps(value)
    except RecursionError:
        return "..."
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _parse_error(reason):
    """The error of a body that isn't JSON."""
    return invalid_argument(f"JSON Parse error: {reason}")


def _too_deep():
    return _parse_error("The document is nested too deeply")


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
    codes = np.frombuffer(bare, np.uint8)
    values, depth, in_string = 1, 0, 0
    for start in range(0, len(codes), _PIECE):
        piece = codes[start : start + _PIECE]
        # Quotes up to each byte: odd in a string. They wrap around at 256.
        quotes = np.cumsum(piece == ord('"'), dtype=np.uint8) + in_string
        in_string = quotes[-1] & 1
        piece = piece[quotes & 1 == 0]
        opens = (piece == ord("[")) | (piece == ord("{"))
        closes = (piece == ord("]")) | (piece == ord("}"))
        values += int(np.count_nonzero(opens | (piece == ord(","))))
        if values > max_values:
            raise invalid_argument(
                f"The request has more than {max_values} values"
            )
        if len(piece):
            levels = depth + np.cumsum(opens.astype(np.int32) - closes)
            if levels.max() > _MAX_DEPTH:
                raise _too_deep()
            depth = levels[-1]


def _read(text, decoder):
    """The document that a text holds, up to its end or a NUL."""
    start = len(text) - len(text.lstrip(_SPACE))
    document, end = decoder.raw_decode(text, start)
    rest = text[end:].lstrip(_SPACE)
    if rest and not rest.startswith("\0"):
        raise json.JSONDecodeError("Extra data", text, len(text) - len(rest))
    return document


def _check_pairs(body):
    """Refuses an escaped half of a character."""
    # Bytes that aren't UTF-8 become another character here: no surrogates.
    document = _read(body.decode("utf-8", "replace"), _EVERYTHING)
    try:
        json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise _parse_error("The surrogate pair in string is invalid") from None


def _first_of_each(pairs):
    document = dict(pairs)
    if len(document) < len(pairs):
        document = dict(reversed(pairs))
    return document


def _with_python_words(body):
    """With the words for numbers that Python's parser knows."""
    # So many make more values than are accepted by default.
    if sum(map(body.count, (b'"', b"Inf", b"NaN"))) > _MANY_WORDS:
        return body
    return _WORDS.sub(_python_word, body)


def _python_word(match):
    word = match[0]
    if word.startswith(b'"'):
        return word
    if word.endswith(b"NaN"):
        return b"NaN"
    return b"-Infinity" if word.startswith(b"-") else b"Infinity"


def _finite(digits):
    """A float; `NaN` and `Infinity` are words, and don't come here."""
    value = float(digits)
    if math.isinf(value):
        raise ValueError("out of range")
    return value


_DECODER = json.JSONDecoder(
    parse_float=_finite, object_pairs_hook=_first_of_each
)
# Objects as lists of names and values, those given twice included.
_EVERYTHING = json.JSONDecoder(object_pairs_hook=list)
