"""What TensorFlow Serving answers: requests, statuses and bodies.

One table for the embedded server and for the real one. The model is that of
`fake_models.py`: versions 1 and 2 are served, `stable` is 1, the latest is 2.
"""

import gzip
import json
from typing import NamedTuple


class Case(NamedTuple):
    """One request and its answer.

    Attributes:
        name: what it shows.
        path: of the URL.
        body: bytes, or what JSON says; None: GET.
        status: of the answer.
        answer: the body, as JSON; in an error: the beginning of the message.
        method: where it isn't GET without a body and POST with one.
        headers: of the request.
    """

    name: str
    path: str
    body: object
    status: int
    answer: object
    method: str | None = None
    headers: tuple = ()


PREDICT = "/v1/models/toy:predict"
ONE = {"instances": ["a"]}
GZIP = (("Content-Encoding", "gzip"),)
ZIPPED = gzip.compress(b'{"instances": ["a"]}')


def signature(key, **body):
    return {"signature_name": key, **body}


def statuses(*versions):
    """The status of versions that are available."""
    status = {"error_code": "OK", "error_message": ""}
    return {
        "model_version_status": [
            {"version": str(one), "state": "AVAILABLE", "status": status}
            for one in versions
        ]
    }


# Bodies of requests to predict, and what is answered to their rows or columns.
_ANSWERS = {
    "rows": ({"instances": ["a", "b c"]}, ["A", "B C"]),
    "objects": ({"instances": [{"text": "a"}, {"text": "b"}]}, ["A", "B"]),
    "a column": ({"inputs": ["a", "b"]}, ["A", "B"]),
    "a named column": ({"inputs": {"text": ["a"]}}, ["A"]),
    "an empty column": ({"inputs": []}, []),
    "several outputs by rows": (
        signature("length", instances=["ab"]),
        [
            {"copy_bytes": {"b64": "YWI="}, "half": 1.0}
            | {"is_empty": False, "length": 2}
        ],
    ),
    "several outputs by columns": (
        signature("length", inputs=["abc", ""]),
        {"copy_bytes": [{"b64": "YWJj"}, {"b64": ""}], "half": [1.5, 0.0]}
        | {"is_empty": [False, True], "length": [3, 0]},
    ),
    "several inputs by rows": (
        signature("add", instances=[{"x": 0.1, "y": 0.2}, {"x": 1, "y": 2}]),
        [0.3, 3.0],
    ),
    "several inputs by columns": (
        signature("add", inputs={"x": [0.5], "y": [-1e10]}),
        [-1e10],
    ),
    "integers of more than 64 bits": (
        signature("add", inputs={"x": [2**64], "y": [-(2**63) - 1]}),
        [9.223372e18],
    ),
    "a matrix": (
        signature("double", instances=[[1, 2], [3, 4]]),
        [[2, 4], [6, 8]],
    ),
    "a scalar": (signature("scalar", inputs=1.5), 2.5),
    "a scalar text": (signature("join", inputs=["a", "b"]), "ab"),
    "truth values": (signature("flip", instances=[True, False]), [False, True]),
    "base64 in": ({"instances": [{"b64": "YQ=="}]}, ["A"]),
    "base64 in an object": ({"instances": [{"text": {"b64": "YQ=="}}]}, ["A"]),
    "escapes and other scripts": (
        b'{"instances": ["\\u72d7\\n\\"", "\xe7\x8b\x97"]}',
        ['狗\n"', "狗"],
    ),
    "an escaped pair": (
        b'{"instances": ["\\ud83d\\uDC31", "\\\\ud83d"]}',
        ["🐱", "\\UD83D"],
    ),
    "a byte order mark": (b'\xef\xbb\xbf{"instances": ["a"]}', ["A"]),
    "a key given twice": (b'{"instances": ["a"], "instances": ["b"]}', ["A"]),
    "an input given twice": (
        b'{"inputs": {"text": ["a"], "text": [1]}}',
        ["A"],
    ),
    "NUL after the document": (b'{"instances": ["a"]} \0 and \\ud800', ["A"]),
    "words for numbers": (
        b'{"signature_name": "add", "inputs": {"x": [Infinity, 1],'
        b' "y": [-1, -0]}}',
        [float("inf"), 1.0],
    ),
}
# Paths that translate "a", and what they say.
_PATHS = {
    "/v1/models/toy/versions/1:predict": "one A",
    f"/v1/models/toy/versions/{1:030}:predict": "one A",
    "/v1/models/toy/labels/stable:predict": "one A",
    "/v1/models/%74o%79:predict": "A",
    "/V1/Models/toy:predict": "A",
    f"http://127.0.0.1{PREDICT}": "A",
}


def _key(body):
    """Of the answer to rows, or to columns."""
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    return "outputs" if b'"inputs"' in text else "predictions"


_STATUSES = {
    "/v1/models/toy/versions/1": (1,),
    # In capitals it isn't the metadata.
    "/v1/models/toy/versions/1/METADATA": (1,),
    "/v1/models/toy": (2, 1),
}
ANSWERS = [
    *(
        Case(name, PREDICT, body, 200, {_key(body): answer})
        for name, (body, answer) in _ANSWERS.items()
    ),
    *(
        Case(path, path, ONE, 200, {"predictions": [text]})
        for path, text in _PATHS.items()
    ),
    Case("gzip", PREDICT, ZIPPED, 200, {"predictions": ["A"]}, headers=GZIP),
    *(
        Case(path, path, None, 200, statuses(*versions))
        for path, versions in _STATUSES.items()
    ),
]

# Bodies that are refused, by the beginning of the message.
_REFUSED = {
    "JSON Parse error: ": {
        "no body": b"",
        "only a byte order mark": b"\xef\xbb\xbf",
        "NUL before the document": b"\0{}",
        "two documents": b"{} {}",
        "no such number": b'{"instances": [Infi]}',
        "half a pair in a value that doesn't count": (
            b'{"instances": ["a"], "instances": ["\\ud800"]}'
        ),
        "gzip without its header": ZIPPED,
        "no JSON": b"instances",
        "JSON cut off": b'{"instances": ["a"',
        "half a pair": b'{"instances": ["\\ud800"]}',
        "the other half": b'{"instances": ["\\udc31\\ud83d"]}',
        "too large": b'{"instances": [1e999]}',
    },
    "JSON Value: ": {
        "no object": [1],
        "both keys": {"instances": ["a"], "inputs": ["a"]},
        "no rows": {"instances": []},
        "rows that are no list": {"instances": "a"},
        "a signature that is no name": signature(1),
    },
    "Failed to process element: 0 of 'instances' list. ": {
        "a number for a text": {"instances": [1]},
        "an input too few": signature("add", instances=[{"x": 1}]),
        "an input too many": {"instances": [{"text": "a", "more": "b"}]},
    },
    "Unable to base64 decode": {
        f"damaged base64 {text}": {"inputs": [{"b64": text}]}
        # Of padding there is all or nothing.
        for text in ("?", "Y", "YQ=", "YQ===", "YQ==YQ==")
    },
}
# Beginnings of messages, and a body for each.
_REFUSED_ALONE = {
    "Missing 'inputs' or 'instances' key": {},
    'Serving signature name: "other" not found in signature def': signature(
        "other", instances=["a"]
    ),
    'JSON Value: "a" Type: String is not of expected type: int32': signature(
        "double", inputs=[["a"]]
    ),
    "JSON Value: 1.5 Type: Number is not of expected type: int32": signature(
        "double", inputs=[[1.5]]
    ),
    "JSON Value: 2147483648 Type: Number is not of expected type": signature(
        "double", inputs=[[2**31]]
    ),
    "Cannot convert JSON value: 16777217 to float without loss of": signature(
        "scalar", inputs=2**24 + 1
    ),
    "Missing named input: y in 'inputs' object.": signature(
        "add", inputs={"x": [1]}
    ),
    "instances is a plain list, but expecting list of objects": signature(
        "add", instances=[1, 2]
    ),
    "inputs is a plain value/list, but expecting an object": signature(
        "add", inputs=[1, 2]
    ),
    "Expecting object but got list at item 1 of input list": {
        "instances": [{"text": "a"}, "b"]
    },
    "Expecting value/list but got object at item 1 of input list": {
        "instances": ["a", {"text": "b"}]
    },
    "Failed to process element: 1 of 'instances' list. Error: ": signature(
        "double", instances=[[1, 2], [3]]
    ),
    "Encountered list at unexpected size: 1 at level: 1 expected size": (
        signature("double", inputs=[[1, 2], [3]])
    ),
    "Encountered list at unexpected level: 1 expected < 1": {
        "inputs": ["a", ["b"]]
    },
    "JSON Value: 2 found at incorrect level: 2 in the JSON DOM": signature(
        "double", inputs=[[1], 2]
    ),
    "StringToNumberOp could not correctly convert string: x": signature(
        "number", instances=["x"]
    ),
    "StringToNumberOp could not correctly convert string: \ufffd": (
        b'{"signature_name": "number", "instances": ["\x80"]}'
    ),
    "": signature("scalar", instances=[1]),  # rows of a scalar output
}
_UNZIPPED = {
    "gzip cut off": ZIPPED[:-9],
    "damaged gzip": ZIPPED[:15] + ZIPPED[16:],
    "two gzip members": ZIPPED + ZIPPED,
    "no gzip": ONE,
}
# Method, path and status, and the beginning of the message.
_UNKNOWN = "Servable not found for request: "
_NO_MODEL = "Could not find any versions of model "
_NO_VERSION = "99999999999999999999"
_TARGETS = {
    "POST /none:predict 404": f"{_UNKNOWN}Latest(none)",
    "POST /toy/versions/9:predict 404": f"{_UNKNOWN}Specific(toy, 9)",
    "POST /toy/labels/canary:predict 400": (
        "Unrecognized servable version label: canary"
    ),
    f"POST /toy/versions/{_NO_VERSION}:predict 400": (
        f"Failed to convert version: {_NO_VERSION} to numeric."
    ),
    "GET /toy?x=1 404": f"{_NO_MODEL}toy?x=1",
    "GET /metadata 404": f"{_NO_MODEL}metadata",
    "GET /none 404": f"{_NO_MODEL}none",
    "GET /toy/versions/9 404": "Could not find version 9 of model toy",
    "GET  400": "Missing model name in request.",
    "GET /none/metadata 404": f"{_UNKNOWN}Latest(none)",
}
_MALFORMED = [
    *("PUT /toy:predict", "POST /toy", "GET /toy:predict"),
    *("POST /toy:translate", "POST /toy:predict?x=1", "POST /toy:predict?"),
    *("POST /toy:PREDICT", "POST /toy:predict/", "GET /toy/"),
    *("GET /toy/versions/1?x=1", "GET /toy/metadata?x=1"),
    "GET /toy/labels/a/b",
]
for _target in _MALFORMED:
    _method, _path = _target.split()
    _TARGETS[f"{_target} 400"] = (
        f"Malformed request: {_method} /v1/models{_path}"
    )


def _at(target, says):
    """The refusal of a method, a path and a status in one string."""
    method, path, status = target.split(" ")
    body = None if method == "GET" else ONE
    path = f"/v1/models{path}"
    return Case(target, path, body, int(status), says, method)


ERRORS = [
    *(
        Case(name, PREDICT, body, 400, says)
        for says, bodies in _REFUSED.items()
        for name, body in bodies.items()
    ),
    *(
        Case(says, PREDICT, body, 400, says)
        for says, body in _REFUSED_ALONE.items()
    ),
    *(
        Case(name, PREDICT, body, 400, "", headers=GZIP)
        for name, body in _UNZIPPED.items()
    ),
    *(_at(target, says) for target, says in _TARGETS.items()),
]
