"""Requests that no client would send: always an answer, never a traceback."""

import json

import pytest
from hypothesis import given
from tensorflow_serving.apis import predict_pb2

from tests.attack.examples import attacking
from tests.attack.grpc_grammar import predictions
from tests.attack.rest_grammar import BODIES
from tests.serving.asking import ONE, PREDICT, ask
from tests.serving.rpc import channel_to

COUNT = 100


@pytest.fixture(scope="module")
def server(serve):
    """One that batches, as those of `tests/attack` don't."""
    return serve(batching=True)


def check_rest(server, body):
    """Sends a body, and checks that the answer is one of the contract's."""
    answer = ask(server, PREDICT, body)
    content = json.loads(answer.body.decode("utf-8", "surrogateescape"))
    if answer.status != 200:
        assert answer.status in (400, 404), (answer, body)
        assert content.keys() == {"error"}
        assert "Traceback" not in content["error"]
    return answer.status


def check_alive(server):
    answer = ask(server, PREDICT, ONE)
    assert json.loads(answer.body) == {"predictions": ["A"]}


def test_bodies_by_grammar(server):
    """`tests/attack` has a hundred times as many."""

    @attacking(COUNT)
    @given(BODIES)
    def by_grammar(body):
        check_rest(server, body)

    by_grammar()
    check_alive(server)


@pytest.mark.parametrize("depth", [40, 100_000])
@pytest.mark.parametrize("ends", [(b"[", b"]"), (b'{"a":', b"}")])
def test_deep_nesting(server, depth, ends):
    opening, closing = ends
    middle = opening * depth + b"1" + closing * depth
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


def test_grpc_messages_by_grammar(server):
    codes = {"INVALID_ARGUMENT", "NOT_FOUND", "FAILED_PRECONDITION"}
    with channel_to(server) as channel:
        call = channel.unary_unary(
            "/tensorflow.serving.PredictionService/Predict",
            predict_pb2.PredictRequest.SerializeToString,
        )

        @attacking(COUNT)
        @given(predictions())
        def by_grammar(message):
            error = call.future(message[1], timeout=20).exception()
            if error is not None:
                assert error.code().name in codes, error
                assert "Traceback" not in error.details()

        by_grammar()
    check_alive(server)
