"""Requests that no client would send: always an answer, never a traceback."""

import json
import random

import grpc
import pytest
import tensorflow as tf
from tensorflow_serving.apis import predict_pb2

from tests.serving.asking import ask

PREDICT = "/v1/models/toy:predict"
VALID = json.dumps(
    {
        "signature_name": "add",
        "instances": [{"x": 1.5, "y": -2e3}, {"x": 0, "y": 7}],
    }
).encode()
VALUES = [
    None,
    True,
    0,
    -1,
    2**31,
    2**63,
    2**64,
    10**400,
    1.5,
    float("nan"),
    float("inf"),
    "",
    "a",
    "狗",
    "\x00",
    [],
    [[]],
    {},
    {"b64": 1},
    {"b64": "!"},
    {"b64": "YQ==", "more": 1},
    [None],
    [1, "a"],
    [[1], 1],
    {"": {}},
]
FEW, MANY = 300, 10_000


@pytest.fixture(scope="module", params=[False, True], ids=["alone", "batching"])
def server(request, serve, toy_configs):
    return serve(models=toy_configs, batching=request.param)


def check_rest(server, body, path=PREDICT):
    """Sends a body, and checks that the answer is one of the contract's."""
    answer = ask(f"127.0.0.1:{server.rest_port}", path, body)
    told = json.loads(answer.body.decode("utf-8", "surrogateescape"))
    if answer.status != 200:
        assert answer.status in (400, 404), (answer, body)
        assert told.keys() == {"error"}
        assert "Traceback" not in told["error"]
    return answer.status


def check_alive(server):
    answer = ask(f"127.0.0.1:{server.rest_port}", PREDICT, VALID)
    assert answer.status == 200
    assert json.loads(answer.body) == {"predictions": [-1998.5, 7.0]}


def mutated(chance, data):
    """The bytes cut off, changed, doubled, or others."""
    kind = chance.randrange(5)
    if kind == 0:
        return chance.randbytes(chance.randrange(200))
    if kind == 1:
        return data[: chance.randrange(len(data))]
    changed = bytearray(data)
    for _ in range(chance.randrange(1, 5)):
        place = chance.randrange(len(changed))
        if kind == 2:
            changed[place] = chance.randrange(256)
        elif kind == 3:
            changed[place:place] = chance.choice(
                [b"{", b"[", b'"', b"9" * 50, b"\xff", b"\\u", b"null", b"-"]
            )
        elif len(changed) > 1:
            del changed[place]
    return bytes(changed)


@pytest.mark.parametrize(
    "count", [FEW, pytest.param(MANY, marks=pytest.mark.slow)]
)
def test_bodies_that_were_damaged(server, count):
    chance = random.Random(count)
    for _ in range(count):
        check_rest(server, mutated(chance, VALID))
    check_alive(server)


@pytest.mark.parametrize("signature", ["", "add", "double", "scalar", "flip"])
def test_values_of_all_types_in_all_places(server, signature):
    named = {"signature_name": signature} if signature else {}
    for value in VALUES:
        for body in (
            value,
            {**named, "instances": value},
            {**named, "inputs": value},
            {**named, "instances": [value]},
            {**named, "inputs": [value]},
            {**named, "inputs": [[value]]},
            {**named, "inputs": {"text": value, "x": value, "y": value}},
            {**named, "instances": [{"x": value, "y": 1}, {"x": 1, "y": 1}]},
            {"signature_name": value, "inputs": ["a"]},
        ):
            check_rest(server, json.dumps(body).encode())
    check_alive(server)


@pytest.mark.parametrize("depth", [40, 500, 990, 1000, 100_000])
@pytest.mark.parametrize("ends", [b"[]", b"{}"], ids=["lists", "objects"])
def test_deep_nesting(server, depth, ends):
    opening = b"[" if ends == b"[]" else b'{"a":'
    middle = opening * depth + b"1" + ends[1:] * depth
    for body in (
        middle,
        b'{"instances": [' + middle + b"]}",
        b'{"inputs": ' + middle + b"}",
        b'{"instances": ' + opening * depth,
        b'{"signature_name": ' + middle + b"}",
        b'{"instances": ["a", ' + middle + b"]}",
    ):
        assert check_rest(server, body) == 400
    check_alive(server)


@pytest.mark.parametrize(
    "path",
    [
        "/v1/models/%ff:predict",
        "/v1/models/toy%00:predict",
        "/v1/models/" + "a" * 5000 + ":predict",
        "/v1/models/toy/versions/-1:predict",
        "/v1/models/toy/versions/1/labels/stable:predict",
        "/v1/models/toy/labels/%ff:predict",
        "/v1/models/toy/versions/" + "9" * 5000 + ":predict",
        "/v1/models//:predict",
        "/../../etc/passwd",
        "//v1/models/toy:predict",
    ],
    ids=lambda path: path[:40],
)
def test_paths_that_lead_nowhere(server, path):
    assert check_rest(server, b"{}", path) != 200
    check_alive(server)


# gRPC.


@pytest.fixture(scope="module")
def send(server):
    """Sends bytes as a request to predict; returns the code's name."""
    channel = grpc.insecure_channel(f"127.0.0.1:{server.port}")
    call = channel.unary_unary("/tensorflow.serving.PredictionService/Predict")

    def send(data):
        failed = None
        try:
            call(data, timeout=20)
        except grpc.RpcError as error:
            failed = error
        if failed is None:
            return "OK"
        assert "Traceback" not in (failed.details() or "")
        return failed.code().name

    yield send
    channel.close()


def grpc_request():
    request = predict_pb2.PredictRequest()
    request.model_spec.name = "toy"
    request.model_spec.signature_name = "add"
    for name in "xy":
        tensor = tf.make_tensor_proto([1.5, 2.5], tf.float32)
        request.inputs[name].CopyFrom(tensor)
    return request


EXPECTED = {
    "OK",
    "INVALID_ARGUMENT",
    "NOT_FOUND",
    "FAILED_PRECONDITION",
    # What gRPC itself says of bytes that are no message.
    "INTERNAL",
}


@pytest.mark.parametrize(
    "count", [FEW, pytest.param(MANY, marks=pytest.mark.slow)]
)
def test_grpc_messages_that_were_damaged(server, send, count):
    chance = random.Random(count)
    valid = grpc_request().SerializeToString()
    assert send(valid) == "OK"
    for _ in range(count):
        data = mutated(chance, valid)
        code = send(data)
        assert code in EXPECTED, data
        if code == "INTERNAL":
            with pytest.raises(Exception, match="parsing"):
                predict_pb2.PredictRequest.FromString(data)
    assert send(valid) == "OK"
    check_alive(server)


def damaged_tensors():
    sizes = [[-1], [0], [3], [2**40], [2**62, 2**62], [2, 1], [], [2] * 100]
    for dtype in (*range(30), 101, 1000):
        for content in (b"", b"\0" * 7, b"\0" * 8):
            for size in sizes:
                tensor = tf.make_tensor_proto([1.5, 2.5], tf.float32)
                tensor.dtype = dtype
                tensor.tensor_content = content
                del tensor.tensor_shape.dim[:]
                for one in size:
                    tensor.tensor_shape.dim.add(size=one)
                yield tensor


def test_grpc_tensors_that_were_damaged(server, send):
    for tensor in damaged_tensors():
        request = grpc_request()
        request.inputs["x"].CopyFrom(tensor)
        code = send(request.SerializeToString())
        assert code in ("OK", "INVALID_ARGUMENT"), tensor
    check_alive(server)
