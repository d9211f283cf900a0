"""The contract, kept by the embedded server and by the real one.

With KERAS_TRANSFORMER_SERVING_HOST=host the table also runs against a
`tensorflow_model_server` there, its REST API on port 8501 and gRPC on 8500
(or `host:rest:grpc`), with the models that `python -m
tests.fake_models FOLDER` wrote and FOLDER/models.config.
"""

import gzip
import json
import os

import grpc
import pytest
from tensorflow_serving.apis.get_model_metadata_pb2 import SignatureDefMap

from keras_transformer.serving.server.admission import Limits
from tests.serving.asking import PREDICT, ask
from tests.serving.contract import ANSWERS, ERRORS
from tests.serving.described import described
from tests.serving.rpc import metadata_of, predict, status_of

VARIABLE = "KERAS_TRANSFORMER_SERVING_HOST"


@pytest.fixture(
    scope="module", params=["embedded", "batching", "tensorflow_model_server"]
)
def server(request, serve):
    """`(host:rest port, host:grpc port)` of a server of the toy model."""
    if request.param == "tensorflow_model_server":
        if VARIABLE not in os.environ:
            pytest.skip(f"{VARIABLE} names no tensorflow_model_server")
        name, *ports = os.environ[VARIABLE].split(":")
        rest, port = ports or (8501, 8500)
        return f"{name}:{rest}", f"{name}:{port}"
    server = serve(batching=request.param == "batching")
    return f"127.0.0.1:{server.rest_port}", f"127.0.0.1:{server.port}"


def asked(server, case):
    """The JSON that answers a case, as the API is described, too."""
    method = case.method or ("GET" if case.body is None else "POST")
    answer = ask(server[0], case.path, case.body, method, headers=case.headers)
    path = case.path.partition("?")[0].removeprefix("http://127.0.0.1")
    # In capitals it isn't one of the API: what is left is the status.
    path = path.removesuffix("/METADATA")
    kind = answer.headers["content-type"]
    described().check(method, path, answer.status, kind, answer.body)
    assert answer.status == case.status, answer.body
    assert kind == "application/json"
    return json.loads(answer.body)


@pytest.mark.parametrize("case", ANSWERS, ids=lambda case: case.name)
def test_answers(server, case, request):
    scalar = case.name.startswith("a scalar")
    if scalar and "batching" in request.node.callspec.id:
        pytest.skip("batching takes no scalars, as in TensorFlow Serving")
    assert asked(server, case) == case.answer


@pytest.mark.parametrize("case", ERRORS, ids=lambda case: case.name)
def test_errors(server, case):
    body = asked(server, case)
    assert body.keys() == {"error"}
    assert body["error"].startswith(case.answer)
    assert "Traceback" not in body["error"]
    assert "\n" not in body["error"]


def test_bytes_that_are_not_utf_8_go_to_the_graph_and_back(server):
    answer = ask(server[0], PREDICT, b'{"instances": ["a\xff\xfe"]}')
    assert answer.status == 200
    assert b'"A\xff\xfe"' in answer.body


def test_what_gzip_expands_to_has_a_limit(serve):
    most = 100_000
    limits = Limits(max_request_bytes=most)
    server = serve(port=None, limits=limits)
    body = b'{"instances": ["a"]}'
    for size, status in ((most, 200), (most + 1, 413), (50 * most, 413)):
        zipped = gzip.compress(body.ljust(size), 9)
        assert len(zipped) < 0.1 * most
        headers = {"Content-Encoding": "x-gzip"}
        answer = ask(server, PREDICT, zipped, headers=headers)
        assert answer.status == status, size


def test_metadata_describes_the_signatures(server):
    answer = ask(server[0], "/v1/models/toy/metadata")
    assert answer.status == 200
    body = json.loads(answer.body)
    assert body["model_spec"]["name"] == "toy"
    assert body["model_spec"]["version"] == "2"
    signatures = body["metadata"]["signature_def"]["signature_def"]
    text = signatures["serving_default"]["inputs"]["text"]
    assert text["dtype"] == "DT_STRING"
    assert text["tensor_shape"]["dim"] == [{"size": "-1", "name": ""}]
    assert signatures["add"]["outputs"]["sum"]["dtype"] == "DT_FLOAT"
    assert signatures["add"]["method_name"] == "tensorflow/serving/predict"


# gRPC.


@pytest.fixture(scope="module")
def channel(server):
    with grpc.insecure_channel(server[1]) as channel:
        yield channel


TEXT = [b"a", b"b\xff\0"]


@pytest.mark.parametrize(
    ("options", "version", "expected"),
    [
        ({}, 2, [b"A", b"B\xff\0"]),
        ({"version": 1}, 1, [b"one A", b"one B\xff\0"]),
        ({"label": "stable"}, 1, [b"one A", b"one B\xff\0"]),
    ],
    ids=["latest", "version", "label"],
)
def test_grpc_predicts(channel, options, version, expected):
    response = predict(channel, text=TEXT, **options)
    assert response.model_spec.name == "toy"
    assert response.model_spec.version.value == version
    assert response.model_spec.signature_name == "serving_default"
    assert list(response.outputs["translation"].string_val) == expected


def test_grpc_sends_only_the_outputs_that_are_wanted(channel):
    response = predict(channel, "length", outputs=["half"], text=TEXT)
    assert list(response.outputs) == ["half"]


UNKNOWN = "Servable not found for request: "
SIZES = "input size does not match signature: "
ALIAS = "output tensor alias"
NO, TWICE = (
    {"signature": "length", "outputs": names}
    for names in (["no"], ["half", "half"])
)
REFUSED = {
    "NOT_FOUND": [
        ({"name": "none"}, f"{UNKNOWN}Latest(none)"),
        ({"version": 9}, f"{UNKNOWN}Specific(toy, 9)"),
    ],
    "FAILED_PRECONDITION": [
        ({"signature": "other"}, 'Serving signature key "other" not found.')
    ],
    "INVALID_ARGUMENT": [
        ({"label": "canary"}, "Unrecognized servable version label: canary"),
        ({"signature": "add"}, f"{SIZES}1!=2"),
        ({"more": TEXT}, f"{SIZES}2!=1"),
        ({"text": [1]}, ""),
        ({"signature": "number"}, "StringToNumberOp could not correctly conv"),
        (NO, f"{ALIAS} not found in signature: no"),
        (TWICE, f"duplicate {ALIAS}: half"),
    ],
}


@pytest.mark.parametrize(
    ("options", "code", "says"),
    [(o, code, says) for code in REFUSED for o, says in REFUSED[code]],
)
def test_grpc_refuses(channel, options, code, says):
    with pytest.raises(grpc.RpcError) as raised:
        predict(channel, **{"text": TEXT, **options})
    assert raised.value.code().name == code
    assert raised.value.details().startswith(says)


def test_grpc_status(channel):
    found = [(row.version, row.state) for row in status_of(channel, "toy")]
    assert found == [(2, 30), (1, 30)]
    with pytest.raises(grpc.RpcError, match="any versions of model none"):
        status_of(channel, "none")


def test_grpc_metadata(channel):
    with pytest.raises(grpc.RpcError, match="at least one metadata_field"):
        metadata_of(channel)
    response = metadata_of(channel, "signature_def")
    signatures = SignatureDefMap()
    assert response.metadata["signature_def"].Unpack(signatures)
    assert "serving_default" in signatures.signature_def
    assert response.model_spec.version.value == 2
