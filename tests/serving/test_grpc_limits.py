"""What gRPC alone makes possible: few bytes for much work, and long names."""

import json
import threading
import unittest.mock

import grpc
import pytest
import tensorflow as tf

from keras_transformer.contract.status import ServingError
from keras_transformer.serving.server import grpc_server
from keras_transformer.serving.server.admission import Limits
from keras_transformer.serving.server.signature_tensors import array_of_proto
from tests.serving.asking import PREDICT, ask
from tests.serving.rpc import (
    channel_to,
    metadata_of,
    predict,
    predict_request,
    status_of,
)

LONG = "n" * 100_000


@pytest.fixture(scope="module")
def server(serve):
    return serve(access_log=True)


@pytest.fixture
def channel(server):
    with channel_to(server) as channel:
        yield channel


def broadcast(text, rows):
    tensor = tf.make_tensor_proto([text])
    tensor.tensor_shape.dim[0].size = rows
    return tensor


def test_a_text_counts_as_often_as_it_is_repeated(channel):
    with pytest.raises(grpc.RpcError) as raised:
        predict(channel, text=broadcast("a" * 16_384, 1024))
    assert raised.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert raised.value.details() == (
        "Input text has 16777216 bytes of text in 1024 elements; at most "
        "4194304 are accepted"
    )
    # What could have been sent in full is taken.
    answer = predict(channel, text=broadcast("ab", 1024))
    assert answer.outputs["translation"].string_val[:] == [b"AB"] * 1024


def test_repeated_and_many_strings_are_limited():
    limits = Limits(max_sentences=4, max_request_bytes=100, max_values=11)
    tensor = tf.make_tensor_proto(["a" * 40, "b" * 20])
    tensor.tensor_shape.dim[0].size = 4
    assert array_of_proto("x", tensor, limits)[3] == b"b" * 20
    tensor.string_val[1] += b"b"
    with pytest.raises(ServingError, match="103 bytes of text in 4 elements"):
        array_of_proto("x", tensor, limits)
    array_of_proto("x", tf.make_tensor_proto([[""] * 11]), limits)
    with pytest.raises(ServingError, match="12 elements; at most 11"):
        array_of_proto("x", tf.make_tensor_proto([[""] * 12]), limits)


@pytest.mark.parametrize("axes", [33, 250, 100_000])
def test_many_axes_are_refused_at_once(channel, axes):
    tensor = tf.make_tensor_proto(["a"])
    del tensor.tensor_shape.dim[:]
    for _ in range(axes):
        tensor.tensor_shape.dim.add(size=2**62)
    with pytest.raises(grpc.RpcError) as raised:
        # Their product has millions of digits.
        predict(channel, text=tensor, timeout=5)
    assert raised.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert f"Input text has {axes} axes; at most 32" in raised.value.details()


def test_bytes_in_flight_are_limited_over_grpc(serve, monkeypatch):
    server = serve(
        limits=Limits(max_request_bytes=100_000, max_bytes_in_flight=1)
    )
    began, go_on = threading.Event(), threading.Event()
    make = grpc_server.array_of_proto

    def waiting(*arguments):
        began.set()
        go_on.wait(30)
        return make(*arguments)

    monkeypatch.setattr(grpc_server, "array_of_proto", waiting)
    long = {"text": ["a" * 16_000] * 6}
    with channel_to(server) as channel:
        thread = threading.Thread(target=predict, args=[channel], kwargs=long)
        thread.start()
        assert began.wait(30)
        with pytest.raises(grpc.RpcError, match="Too many bytes") as raised:
            predict(channel, **long)
        assert raised.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        go_on.set()
        thread.join()
        predict(channel, text=["a"])


def test_bytes_of_an_answer_are_limited_over_grpc(serve):
    limits = Limits(max_request_bytes=500, max_bytes_in_flight=1)
    server = serve(limits=limits)
    with channel_to(server) as channel:
        predict(channel, "length", text=broadcast("", 900))
        with pytest.raises(grpc.RpcError, match="Too many bytes") as raised:
            predict(channel, "length", text=broadcast("", 1024))
    assert raised.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


# Deadlines.


def test_a_call_whose_deadline_has_passed_is_not_begun(server, monkeypatch):
    """As when it waited too long for a thread."""
    acquired = []
    monkeypatch.setattr(
        server.core.store, "acquire", lambda *spec: acquired.append(spec)
    )
    context = unittest.mock.Mock()
    context.peer.return_value = ""
    context.time_remaining.return_value = 0.0
    context.is_active.return_value = False
    service = grpc_server.PredictionService(server.core)
    service.Predict(predict_request(), context)
    context.abort.assert_called_once_with(
        grpc.StatusCode.DEADLINE_EXCEEDED, "Timed out"
    )
    assert acquired == []


# Names.


@pytest.mark.parametrize("name", [LONG, "狗" * 100_000], ids=["a", "utf-8"])
@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda c, name: predict(c, name=name), "NOT_FOUND"),
        (lambda c, name: predict(c, signature=name), "FAILED_PRECONDITION"),
        (lambda c, name: predict(c, **{name: ["a"]}), "INVALID_ARGUMENT"),
        (status_of, "NOT_FOUND"),
        (metadata_of, "INVALID_ARGUMENT"),
    ],
    ids=["model", "signature", "input", "status", "metadata"],
)
def test_long_names_are_cut_in_errors_and_in_the_log(
    channel, capfd, call, code, name
):
    capfd.readouterr()
    with pytest.raises(grpc.RpcError) as raised:
        call(channel, name)
    assert raised.value.code().name == code
    assert len(raised.value.details().encode()) < 2100
    (line,) = capfd.readouterr().err.splitlines()
    assert len(line) < 10_000
    assert json.loads(line)["code"] == code


def test_a_message_of_many_fields_is_refused_before_it_is_parsed(
    channel, capfd
):
    """Of 4 MiB protobuf would make a map of half a million inputs."""
    capfd.readouterr()
    entry = b"\x12\x08\x0a\x04%04x\x12\x00"
    model = b"\x0a\x05\x0a\x03toy"
    call = channel.unary_unary("/tensorflow.serving.PredictionService/Predict")
    for count, says in (
        (1000, "more than 1000 fields"),
        (30_000, "more than 1000 fields"),
        (999, "input size does not match signature: 999!=1"),
    ):
        data = model + b"".join(entry % number for number in range(count))
        with pytest.raises(grpc.RpcError, match=says) as raised:
            call(data, timeout=30)
        assert raised.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    lines = map(json.loads, capfd.readouterr().err.splitlines())
    assert [row["api"] for row in lines] == ["Predict"] * 3


@pytest.mark.parametrize("bad", [b"\xff\xfe", b"\xe7\x8b", b"\xed\xa0\x80"])
def test_error_bodies_are_utf_8_whatever_they_quote(server, bad):
    for body in (
        b'{"signature_name": "%s", "instances": ["a"]}' % bad,
        b'{"signature_name": "%s", "instances": ["a"]}' % (bad * 50_000),
        b'{"instances": [["%s"], 1]}' % bad,
        b'{"inputs": {"%s": 1}}' % bad,
    ):
        answer = ask(server, PREDICT, body)
        assert answer.status == 400
        assert json.loads(answer.body.decode("utf-8")).keys() == {"error"}
        assert len(answer.body) < 20_000
