"""Servers that are hostile or broken: what a client makes of their answers."""

import gzip
import time

import pytest

from keras_transformer.contract.protobuf import message
from keras_transformer.errors import InputError
from keras_transformer.serving import (
    Backoff,
    Client,
    OverloadedError,
    ServerFailedError,
)
from keras_transformer.serving.client import grpc_transport
from keras_transformer.serving.client.grpc_transport import GrpcTransport
from keras_transformer.serving.client.remote_translator import RemoteTranslator
from keras_transformer.serving.client.rest_transport import RestTransport
from keras_transformer.serving.client.transport import (
    LONGEST_WAIT,
    longest_answer,
    parse_target,
)
from tests.serving.scripted import ScriptedGrpc, ScriptedRest


def test_a_tensor_of_bytes_becomes_no_more_than_the_rows(monkeypatch):
    response = message("PredictResponse")()
    tensor = response.outputs["score"]
    tensor.dtype = 1
    tensor.float_val.append(1.0)
    size = tensor.tensor_shape.dim.add(size=3)
    target = parse_target("grpc://127.0.0.1:1", "toy")
    transport = GrpcTransport(target)
    monkeypatch.setattr(transport, "_call", lambda *_: response)
    asked = {"text": ["a", "b", "c"]}, time.monotonic() + 9
    assert transport.predict("", *asked) == {"score": [1.0] * 3}
    size.size = 30_000_000
    with pytest.raises(ServerFailedError, match="can't be read: 1 values for"):
        transport.predict("", *asked)
    transport.close()


@pytest.mark.parametrize(
    ("text", "wait"),
    [
        # Sent in Latin-1, as headers are.
        *(("²", None), ("-1", None), ("1_0", None), ("", None)),
        ("Mon, 01 Jan 9999 00:00:00 GMT", None),
        *((f" {'9' * 5000} ", LONGEST_WAIT), ("90", 90)),
    ],
    ids="superscript negative underline empty date number minute".split(),
)
def test_waits_that_are_told(closed, text, wait):
    """One that is no number is none, one beyond the deadline isn't begun."""
    told = 429, {"error": "later"}, ("Retry-After", text)
    server = closed(ScriptedRest(lambda request: told))
    began = time.monotonic()
    with Client(server.url, "m", backoff=Backoff(0, 0, 1)) as client:
        with pytest.raises(OverloadedError, match="later") as raised:
            client.predict({"text": ["a"]})
    assert raised.value.retry_after == wait
    assert len(server.requests) == (2 if wait is None else 1)
    assert time.monotonic() - began < 5


def test_no_translation_is_told_with_the_server(closed, monkeypatch):
    """What is none: see `translations_of` in tests/translation."""
    answer = 200, {"outputs": {"translation": [5], "score": [0.0]}}
    server = closed(ScriptedRest(lambda request: answer))
    monkeypatch.setattr(Client, "versions", lambda self: [])
    translator = RemoteTranslator(server.url, "toy", None, None, 60.0)
    says = f"{translator.url}, model toy: the answer to 'one' has translations"
    with translator.opened() as translate_batches:
        with pytest.raises(InputError, match=f"^{says}"):
            list(translate_batches(iter([["one"]])))


@pytest.mark.parametrize(
    ("method", "answer"),
    [
        ("versions", {"model_version_status": [{"version": float("inf")}]}),
        ("versions", {"model_version_status": [{"version": "9" * 5000}]}),
        ("predict", {"outputs": [[{"a": 1}]]}),
    ],
    ids=["infinite", "digits", "names"],
)
def test_answers_that_no_server_gives(monkeypatch, method, answer):
    if method == "predict":
        (signature,) = answer["outputs"]
        definition = {"signature_def": {"": {"outputs": signature}}}
        answer |= {"metadata": {"signature_def": definition}}
    transport = RestTransport(parse_target("http://127.0.0.1:1", "toy"))
    monkeypatch.setattr(transport, "_ask", lambda *_: answer)
    given = ["", {}] if method == "predict" else []
    with pytest.raises(ServerFailedError, match="not an answer of TensorFlow"):
        getattr(transport, method)(*given, time.monotonic() + 9)


@pytest.mark.parametrize(
    ("encoding", "connections"),
    # What isn't read of an answer is no beginning of the next.
    [("identity", 2), ("gzip", 1)],
)
def test_an_answer_without_measure_is_not_read_whole(
    closed, encoding, connections
):
    sent = b" " * (66 * 2**20)
    if encoding == "gzip":
        sent = gzip.compress(sent, 1)
        assert len(sent) < 2**20
    endless = 200, sent, ("Content-Encoding", encoding)
    good = 200, {"outputs": {"text": ["a"]}}
    server = closed(ScriptedRest(lambda _: endless, lambda _: good))
    with Client(server.url, "m") as client:
        with pytest.raises(
            ServerFailedError, match="200 .* longer than 64 MiB"
        ):
            client.predict({"text": ["a"]})
        assert client.predict({"text": ["a"]}) == {"text": ["a"]}
    assert len(server.requests) == 2
    assert server.connections == connections


def test_nor_is_more_read_over_grpc(closed, monkeypatch):
    limits = {"grpc.max_receive_message_length": 1000}
    options = [*(dict(grpc_transport._OPTIONS) | limits).items()]
    given = dict(grpc_transport._OPTIONS)["grpc.max_receive_message_length"]
    assert given == 256 * 2**20
    assert longest_answer(16) == 64 * 2**20
    assert longest_answer(64) == given
    monkeypatch.setattr(grpc_transport, "_OPTIONS", options)
    server = closed(ScriptedGrpc(None))
    with Client(server.url, "m", backoff=Backoff(5, 5, 5)) as client:
        assert client.predict({"text": ["a" * 900]})
        with pytest.raises(ServerFailedError, match="larger than max"):
            client.predict({"text": ["a" * 1001]})
    assert len(server.requests) == 2
