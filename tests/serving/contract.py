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

    def payload(self) -> bytes | None:
        """The bytes of the body."""
        if self.body is None or isinstance(self.body, bytes):
            return self.body
        return json.dumps(self.body).encode()


PREDICT = "/v1/models/toy:predict"


GZIP = (("Content-Encoding", "gzip"),)
ZIPPED = gzip.compress(b'{"instances": ["a"]}')


def predicts(name, body, answer, path=PREDICT, status=200, headers=()):
    return Case(name, path, body, status, answer, headers=headers)


def refuses(name, body, says, path=PREDICT, status=400, headers=()):
    return Case(name, path, body, status, says, headers=headers)


def signature(key, **body):
    return {"signature_name": key, **body}


def available(version):
    return {
        "version": str(version),
        "state": "AVAILABLE",
        "status": {"error_code": "OK", "error_message": ""},
    }


ANSWERS = [
    predicts(
        "rows of values",
        {"instances": ["a", "b c"]},
        {"predictions": ["A", "B C"]},
    ),
    predicts(
        "rows of one-key objects",
        {"instances": [{"text": "a"}, {"text": "b"}]},
        {"predictions": ["A", "B"]},
    ),
    predicts("a column", {"inputs": ["a", "b"]}, {"outputs": ["A", "B"]}),
    predicts("a named column", {"inputs": {"text": ["a"]}}, {"outputs": ["A"]}),
    predicts("an empty column", {"inputs": []}, {"outputs": []}),
    predicts(
        "several outputs by rows",
        signature("length", instances=["ab", ""]),
        {
            "predictions": [
                {
                    "copy_bytes": {"b64": "YWI="},
                    "half": 1.0,
                    "is_empty": False,
                    "length": 2,
                },
                {
                    "copy_bytes": {"b64": ""},
                    "half": 0.0,
                    "is_empty": True,
                    "length": 0,
                },
            ]
        },
    ),
    predicts(
        "several outputs by columns",
        signature("length", inputs=["abc"]),
        {
            "outputs": {
                "copy_bytes": [{"b64": "YWJj"}],
                "half": [1.5],
                "is_empty": [False],
                "length": [3],
            }
        },
    ),
    predicts(
        "several inputs by rows",
        signature("add", instances=[{"x": 0.1, "y": 0.2}, {"x": 1, "y": 2}]),
        {"predictions": [0.3, 3.0]},
    ),
    predicts(
        "several inputs by columns",
        signature("add", inputs={"x": [0.5], "y": [-1e10]}),
        {"outputs": [-1e10]},
    ),
    predicts(
        "integers of more than 64 bits",
        b'{"signature_name": "add", "inputs": {"x": [18446744073709551616],'
        b' "y": [-9223372036854775809]}}',
        {"outputs": [9.223372e18]},
    ),
    predicts(
        "a matrix",
        signature("double", instances=[[1, 2], [3, 4]]),
        {"predictions": [[2, 4], [6, 8]]},
    ),
    predicts("a scalar", signature("scalar", inputs=1.5), {"outputs": 2.5}),
    predicts(
        "a scalar text", signature("join", inputs=["a", "b"]), {"outputs": "ab"}
    ),
    predicts(
        "truth values",
        signature("flip", instances=[True, False]),
        {"predictions": [False, True]},
    ),
    predicts(
        "base64 in", {"instances": [{"b64": "YQ=="}]}, {"predictions": ["A"]}
    ),
    predicts(
        "base64 in an object",
        {"instances": [{"text": {"b64": "YQ=="}}]},
        {"predictions": ["A"]},
    ),
    predicts(
        "escapes and other scripts",
        b'{"instances": ["\\u72d7\\n\\"", "\xe7\x8b\x97"]}',
        {"predictions": ['狗\n"', "狗"]},
    ),
    predicts(
        "a version",
        {"instances": ["a"]},
        {"predictions": ["one A"]},
        path="/v1/models/toy/versions/1:predict",
    ),
    predicts(
        "a version with zeros before it",
        {"instances": ["a"]},
        {"predictions": ["one A"]},
        path=f"/v1/models/toy/versions/{1:030}:predict",
    ),
    predicts(
        "a name that is escaped",
        {"instances": ["a"]},
        {"predictions": ["A"]},
        path="/v1/models/%74o%79:predict",
    ),
    predicts(
        "a label",
        {"instances": ["a"]},
        {"predictions": ["one A"]},
        path="/v1/models/toy/labels/stable:predict",
    ),
    predicts(
        "a path in capitals but for the method",
        {"instances": ["a"]},
        {"predictions": ["A"]},
        path="/V1/Models/toy:predict",
    ),
    predicts(
        "an absolute target",
        {"instances": ["a"]},
        {"predictions": ["A"]},
        path=f"http://127.0.0.1{PREDICT}",
    ),
    predicts("gzip", ZIPPED, {"predictions": ["A"]}, headers=GZIP),
    predicts(
        "a byte order mark",
        b'\xef\xbb\xbf{"instances": ["a"]}',
        {"predictions": ["A"]},
    ),
    predicts(
        "a key given twice",
        b'{"instances": ["a"], "instances": ["b"]}',
        {"predictions": ["A"]},
    ),
    predicts(
        "an input given twice",
        b'{"inputs": {"text": ["a"], "text": [1]}}',
        {"outputs": ["A"]},
    ),
    predicts(
        "NUL after the document",
        b'{"instances": ["a"]} \0 and more',
        {"predictions": ["A"]},
    ),
    predicts(
        "words for numbers",
        b'{"signature_name": "add", "inputs": {"x": [Inf, -Inf, Infinity, 1],'
        b' "y": [1, 1, -1, -0]}}',
        {"outputs": [float("inf"), float("-inf"), float("inf"), 1.0]},
    ),
    predicts(
        "the status of a version",
        None,
        {"model_version_status": [available(1)]},
        path="/v1/models/toy/versions/1",
    ),
    predicts(
        "metadata in capitals are the status",
        None,
        {"model_version_status": [available(1)]},
        path="/v1/models/toy/versions/1/METADATA",
    ),
    predicts(
        "the status of a model",
        None,
        {"model_version_status": [available(2), available(1)]},
        path="/v1/models/toy",
    ),
]

ERRORS = [
    refuses("no body", b"", "JSON Parse error: "),
    refuses("only a byte order mark", b"\xef\xbb\xbf", "JSON Parse error: "),
    refuses("NUL before the document", b"\0{}", "JSON Parse error: "),
    refuses("two documents", b"{} {}", "JSON Parse error: "),
    refuses("no such number", b'{"instances": [Infi]}', "JSON Parse error: "),
    refuses(
        "half a pair in a value that doesn't count",
        b'{"instances": ["a"], "instances": ["\\ud800"]}',
        "JSON Parse error: ",
    ),
    refuses("gzip cut off", ZIPPED[:-9], "", headers=GZIP),
    refuses("damaged gzip", ZIPPED[:15] + ZIPPED[16:], "", headers=GZIP),
    refuses("two gzip members", ZIPPED + ZIPPED, "", headers=GZIP),
    refuses("no gzip", {"instances": ["a"]}, "", headers=GZIP),
    refuses("gzip that isn't told", ZIPPED, "JSON Parse error: "),
    refuses("no JSON", b"instances", "JSON Parse error: "),
    refuses("JSON cut off", b'{"instances": ["a"', "JSON Parse error: "),
    refuses("half a pair", b'{"instances": ["\\ud800"]}', "JSON Parse error: "),
    refuses("too large", b'{"instances": [1e999]}', "JSON Parse error: "),
    refuses("no object", [1], "JSON Value: "),
    refuses("neither key", {}, "Missing 'inputs' or 'instances' key"),
    refuses("both keys", {"instances": ["a"], "inputs": ["a"]}, "JSON Value: "),
    refuses("no rows", {"instances": []}, "JSON Value: "),
    refuses("rows that are no list", {"instances": "a"}, "JSON Value: "),
    refuses(
        "an unknown signature",
        signature("other", instances=["a"]),
        'Serving signature name: "other" not found in signature def',
    ),
    refuses("a signature that is no name", signature(1), "JSON Value: "),
    refuses(
        "a number for a text",
        {"instances": [1]},
        "Failed to process element: 0 of 'instances' list. Error: ",
    ),
    refuses(
        "a text for a number",
        signature("double", inputs=[["a"]]),
        'JSON Value: "a" Type: String is not of expected type: int32',
    ),
    refuses(
        "a fraction for a whole number",
        signature("double", inputs=[[1.5]]),
        "JSON Value: 1.5 Type: Number is not of expected type: int32",
    ),
    refuses(
        "a number that the type can't hold",
        signature("double", inputs=[[2**31]]),
        "JSON Value: 2147483648 Type: Number is not of expected type: int32",
    ),
    refuses(
        "a number that a float rounds",
        signature("scalar", inputs=2**24 + 1),
        "Cannot convert JSON value: 16777217 to float without loss of",
    ),
    refuses(
        "an input too few",
        signature("add", instances=[{"x": 1}]),
        "Failed to process element: 0 of 'instances' list. JSON object: ",
    ),
    refuses(
        "an input too many",
        {"instances": [{"text": "a", "more": "b"}]},
        "Failed to process element: 0 ",
    ),
    refuses(
        "a column too few",
        signature("add", inputs={"x": [1]}),
        "Missing named input: y in 'inputs' object.",
    ),
    refuses(
        "a list for several inputs",
        signature("add", instances=[1, 2]),
        "instances is a plain list, but expecting list of objects",
    ),
    refuses(
        "a column for several inputs",
        signature("add", inputs=[1, 2]),
        "inputs is a plain value/list, but expecting an object",
    ),
    refuses(
        "values among objects",
        {"instances": [{"text": "a"}, "b"]},
        "Expecting object but got list at item 1 of input list",
    ),
    refuses(
        "objects among values",
        {"instances": ["a", {"text": "b"}]},
        "Expecting value/list but got object at item 1 of input list",
    ),
    refuses(
        "ragged rows",
        signature("double", instances=[[1, 2], [3]]),
        "Failed to process element: 1 of 'instances' list. Error: ",
    ),
    refuses(
        "a ragged column",
        signature("double", inputs=[[1, 2], [3]]),
        "Encountered list at unexpected size: 1 at level: 1 expected size: 2",
    ),
    refuses(
        "a list among values",
        {"inputs": ["a", ["b"]]},
        "Encountered list at unexpected level: 1 expected < 1",
    ),
    refuses(
        "a value among lists",
        signature("double", inputs=[[1], 2]),
        "JSON Value: 2 found at incorrect level: 2 in the JSON DOM",
    ),
    *(
        refuses(
            f"damaged base64 {text}",
            {"inputs": [{"b64": text}]},
            "Unable to base64 decode",
        )
        # Of padding there is all or nothing.
        for text in ("?", "Y", "YQ=", "YQ===", "YQ==YQ==")
    ),
    refuses(
        "what the graph refuses",
        signature("number", instances=["x"]),
        "StringToNumberOp could not correctly convert string: x",
    ),
    refuses(
        "what the graph refuses, not in UTF-8",
        b'{"signature_name": "number", "instances": ["\x80"]}',
        "StringToNumberOp could not correctly convert string: \ufffd",
    ),
    refuses(
        "rows of a scalar output",
        signature("scalar", instances=[1]),
        "",
    ),
    refuses(
        "an unknown model",
        {"instances": ["a"]},
        "Servable not found for request: Latest(none)",
        path="/v1/models/none:predict",
        status=404,
    ),
    refuses(
        "an unknown version",
        {"instances": ["a"]},
        "Servable not found for request: Specific(toy, 9)",
        path="/v1/models/toy/versions/9:predict",
        status=404,
    ),
    refuses(
        "an unknown label",
        {"instances": ["a"]},
        "Unrecognized servable version label: canary",
        path="/v1/models/toy/labels/canary:predict",
    ),
    refuses(
        "a version that is too high",
        {"instances": ["a"]},
        "Failed to convert version: 99999999999999999999 to numeric.",
        path="/v1/models/toy/versions/99999999999999999999:predict",
    ),
    refuses(
        "an unknown method",
        {"instances": ["a"]},
        "Malformed request: POST /v1/models/toy:translate",
        path="/v1/models/toy:translate",
    ),
    *(
        refuses(
            f"the method {end}",
            {"instances": ["a"]},
            f"Malformed request: POST /v1/models/toy{end}",
            path=f"/v1/models/toy{end}",
        )
        for end in (":predict?x=1", ":predict?", ":PREDICT", ":predict/")
    ),
    *(
        refuses(
            f"the status {end}",
            None,
            f"Malformed request: GET /v1/models/toy{end}",
            path=f"/v1/models/toy{end}",
        )
        for end in ("/", "/versions/1?x=1", "/metadata?x=1", "/labels/a/b")
    ),
    refuses(
        "the status with a query",
        None,
        "Could not find any versions of model toy?x=1",
        path="/v1/models/toy?x=1",
        status=404,
    ),
    refuses(
        "a model called metadata",
        None,
        "Could not find any versions of model metadata",
        path="/v1/models/metadata",
        status=404,
    ),
    Case(
        "another verb",
        PREDICT,
        b"{}",
        400,
        "Malformed request: PUT /v1/models/toy:predict",
        "PUT",
    ),
    refuses(
        "no method",
        {"instances": ["a"]},
        "Malformed request: POST /v1/models/toy",
        path="/v1/models/toy",
    ),
    refuses(
        "predict with GET",
        None,
        "Malformed request: GET /v1/models/toy:predict",
    ),
    refuses(
        "the status of an unknown model",
        None,
        "Could not find any versions of model none",
        path="/v1/models/none",
        status=404,
    ),
    refuses(
        "the status of an unknown version",
        None,
        "Could not find version 9 of model toy",
        path="/v1/models/toy/versions/9",
        status=404,
    ),
    refuses(
        "the status of no model",
        None,
        "Missing model name in request.",
        path="/v1/models",
    ),
    refuses(
        "the metadata of an unknown model",
        None,
        "Servable not found for request: Latest(none)",
        path="/v1/models/none/metadata",
        status=404,
    ),
]
