"""What the embedded server does beside the contract."""

import concurrent.futures
import json
import re
import socket
import time

import grpc
import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.contract.status import ServingError
from keras_transformer.errors import InputError
from keras_transformer.serving.server import grpc_server
from keras_transformer.serving.server import server as module
from keras_transformer.serving.server.admission import Limits
from keras_transformer.serving.server.config_files import (
    BatchingParameters,
    ModelConfig,
)
from keras_transformer.serving.server.server import Server, ServerOptions
from keras_transformer.serving.server.signature_tensors import array_of_proto
from tests.fake_models import MODELS_CONFIG
from tests.serving.asking import (
    ONE,
    PREDICT,
    ask,
    connect,
    post,
    spin,
    wait_for,
)
from tests.serving.rpc import channel_to, predict

# Additions of the toy model's loop that take seconds.
LONG = 1_000_000


@pytest.fixture(scope="module")
def small(serve):
    """A server with small limits and one worker."""
    limits = {"max_request_bytes": 2000, "max_sentences": 3}
    limits |= {"max_text_bytes": 10, "receive_seconds": 0.5}
    return serve(
        limits=Limits(timeout_seconds=0.5, **limits),
        parameters=BatchingParameters(
            max_enqueued_batches=1, num_batch_threads=1
        ),
        batching=True,
    )


def error(answer):
    return json.loads(answer.body)["error"]


def is_alive(server):
    answer = ask(server, PREDICT, ONE)
    assert answer.status == 200, answer.body
    assert json.loads(answer.body) == {"predictions": ["A"]}
    return True


@pytest.mark.parametrize(
    ("cores", "workers", "given", "expected"),
    [(8, 2, 0, 4), (2, 2, 0, 1), (1, 4, 0, 1), (8, 2, 3, 3)],
)
def test_workers_share_the_cores(
    cores, workers, given, expected, monkeypatch, toy_base
):
    loaded = []
    monkeypatch.setattr(module, "usable_cores", lambda: cores)
    monkeypatch.setattr(module, "Servable", lambda *args: loaded.append(args))
    server = Server(
        ServerOptions(
            models=(ModelConfig("toy", toy_base),),
            parameters=BatchingParameters(num_batch_threads=workers),
            intra_op_threads=given,
        )
    )
    try:
        server._load("toy", 1, toy_base / "1")
    finally:
        server.stop(0)
    assert loaded == [("toy", 1, toy_base / "1", expected)]


# Limits.


def grpc_predict(server, signature="", **options):
    with channel_to(server) as channel:
        return predict(channel, signature, **options)


def test_texts_have_the_same_limits_over_both(small):
    answer = ask(small, PREDICT, {"instances": ["a", "狗" * 4]})
    assert answer.status == 400
    assert "text of 12 bytes; at most 10" in error(answer)
    for texts, code in (
        (["a"] * 4, "INVALID_ARGUMENT"),
        (["a" * 11], "INVALID_ARGUMENT"),
        (["a" * 2001], "RESOURCE_EXHAUSTED"),
    ):
        with pytest.raises(grpc.RpcError) as raised:
            grpc_predict(small, text=texts)
        assert raised.value.code().name == code


def test_columns_of_different_lengths_are_not_joined(small):
    for x, y in (([1], [2, 3]), ([1, 2], [3]), ([1], [])):
        inputs = {"signature_name": "add", "inputs": {"x": x, "y": y}}
        answer = ask(small, PREDICT, inputs)
        assert answer.status == 400
        assert "must have equal 0th-dimension size" in error(answer)


def test_one_value_for_many_elements():
    """What fills no more than the rows is accepted, as from clients."""
    limits = Limits(max_sentences=100)
    tensor = tf.make_tensor_proto([7], tf.int32)
    tensor.tensor_shape.dim[0].size = 100
    assert array_of_proto("x", tensor, limits).tolist() == [7] * 100
    for size in (101, 10**12):
        tensor.tensor_shape.dim[0].size = size
        with pytest.raises(ServingError, match=f"{size} elements; at most 100"):
            array_of_proto("x", tensor, limits)
    many = np.arange(200, dtype=np.int8)
    whole = tf.make_tensor_proto(many)
    assert array_of_proto("x", whole, limits).tolist() == many.tolist()


def test_inputs_that_nobody_wants_are_not_made(small, monkeypatch):
    made = []
    monkeypatch.setattr(
        grpc_server, "array_of_proto", lambda *_: made.append(1)
    )
    with pytest.raises(grpc.RpcError, match="Sent extra: {more}"):
        grpc_predict(small, text=["a"], more=["a"])
    assert made == []


# Time.


def test_a_request_that_takes_too_long(small):
    answer = ask(small, PREDICT, spin(LONG))
    assert answer.status == 504
    assert error(answer) == "Timed out"
    wait_for(lambda: ask(small, PREDICT, ONE).status == 200)


def test_a_full_queue_answers_503_and_the_others_well(serve):
    server = serve(
        parameters=BatchingParameters(
            max_batch_size=1, max_enqueued_batches=2, num_batch_threads=1
        ),
        batching=True,
    )
    body = spin(LONG // 5)
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        asked = pool.map(ask, [server] * 12, [PREDICT] * 12, [body] * 12)
        answers = list(asked)
    by_status = {answer.status: answer for answer in answers}
    assert by_status.keys() == {200, 503}
    assert "queue" in error(by_status[503])
    assert is_alive(server)


def test_a_client_that_goes_away_is_not_waited_for(serve):
    server = serve(parameters=BatchingParameters(num_batch_threads=1))
    for _ in range(5):
        with connect(server) as connection:
            connection.sendall(post(spin(LONG // 3)))
            time.sleep(0.05)
    # The first is run to its end, the others leave the queue.
    wait_for(lambda: server.core.store.in_flight() <= 1)
    ask(server, PREDICT, ONE)
    assert runs(server) <= 2


def runs(server):
    """How many batches were run."""
    page = server.core.metrics.page()
    (count,) = re.findall(r":runtime_latency_count\{.*\} (\d+)", page)
    return int(count)


# Stopping.


def test_requests_in_flight_are_answered_when_the_server_stops(serve):
    server = serve(drain_seconds=60)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        rest = pool.submit(ask, server, PREDICT, spin(LONG // 3), None, 60)
        steps = np.array([LONG // 3])
        rpc = pool.submit(grpc_predict, server, "spin", timeout=60, steps=steps)
        while server.core.store.in_flight() < 2:
            time.sleep(0.01)
        server.stop()
        assert rest.result().status == 200
        assert rpc.result().outputs["total"].int64_val[0] == LONG // 3
    with pytest.raises(ConnectionRefusedError):
        ask(server, PREDICT, ONE)


def test_a_port_that_is_taken(server):
    for options in (
        {"port": 0, "rest_port": server.rest_port},
        {"port": server.port, "rest_port": 0},
    ):
        with pytest.raises(InputError, match="can't be bound to"):
            Server(ServerOptions(**options)).start()


@pytest.mark.parametrize("host", ["no.such.host.invalid", "192.0.2.1", "a..b"])
def test_an_address_that_is_not_this_machine_s(host):
    with pytest.raises(InputError, match="Accepted: another --host"):
        Server(ServerOptions(host=host, port=0, rest_port=0)).start()


def test_clients_are_refused_while_models_load(toy_base, monkeypatch):
    options = ServerOptions(
        (ModelConfig("toy", toy_base),), port=0, rest_port=0
    )
    server = Server(options)
    refused = []

    def look():
        for port in (server.port, server.rest_port):
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", port))
            refused.append(port)

    monkeypatch.setattr(server, "_check_models", look)
    server.start()
    server.stop(0)
    assert len(refused) == 2


def test_a_model_that_is_not_there(tmp_path):
    options = ServerOptions((ModelConfig("m", tmp_path),), port=0, rest_port=0)
    with pytest.raises(InputError, match="no version of m to serve"):
        Server(options).start()
    (tmp_path / "3").mkdir()
    with pytest.raises(InputError, match=r"/3: not loaded: "):
        Server(options).start()


def test_a_label_moves_when_the_file_says_so(tmp_path, toy_base, serve):
    file = tmp_path / "models.config"

    def move(version):
        text = MODELS_CONFIG.format(base=toy_base)
        file.write_text(text.replace("value: 1", f"value: {version}"))

    def stable():
        path = "/v1/models/toy/labels/stable:predict"
        return json.loads(ask(server, path, ONE).body)["predictions"]

    move(1)
    server = serve(config_file=file, poll_seconds=0.05)
    assert stable() == ["one A"]
    move(2)
    wait_for(lambda: stable() == ["A"])
    file.write_text("damaged {")
    time.sleep(0.2)
    assert stable() == ["A"]


# What is written down.


def test_metrics_count_requests_and_batches(serve):
    server = serve()
    for body in (ONE, ONE, b"{}"):
        ask(server, PREDICT, body)
    ask(server, "/v1/models/unknown:predict", ONE)
    answer = ask(server, "/monitoring/prometheus/metrics")
    assert answer.status == 200
    assert answer.headers["Content-Type"].startswith("text/plain")
    page = answer.body.decode()
    count = ':tensorflow:serving:request_count{model_name="toy",status='
    assert f'{count}"OK"}} 2\n' in page
    assert f'{count}"INVALID_ARGUMENT"}} 1\n' in page
    labels = r'model_name="toy",API="Predict",entrypoint="REST"'
    latency = rf":tensorflow:serving:request_latency_count{{{labels}}} 3\n"
    assert re.search(latency, page)
    assert ':processed_batch_size_bucket{model_name="toy",le="1.0"} 2' in page
    assert "unknown" not in page
    line = r"(# TYPE [\w:]+ \w+|[\w:]+\{(\w+=\"[^\"]*\",?)+\} [\d.e+]+)"
    for one in page.splitlines():
        assert re.fullmatch(line, one), one


def test_text_is_logged_where_it_is_asked_for(serve, capfd):
    server = serve(access_log=True, log_text=True)
    ask(server, PREDICT, '{"instances": ["狗"]}'.encode())
    ask(server, PREDICT, b'{"instances": ["a", 1]}')
    grpc_predict(server, text=["狗"])
    rest, wrong, rpc = map(json.loads, capfd.readouterr().err.splitlines())
    assert rest["text"] == {"instances": ["狗"]}
    assert "JSON Value: 1" in wrong["error"]
    assert rpc["text"] == {"text": ["狗"]}


def test_requests_are_logged(serve, capfd):
    server = serve(access_log=True)
    ask(server, PREDICT, b'{"instances": ["secret", "b"]}')
    ask(server, PREDICT, b'{"instances": [{"secret": 1}]}')
    grpc_predict(server, text=["secret"])
    log = [json.loads(x) for x in capfd.readouterr().err.splitlines()]
    assert [row["entry"] for row in log] == ["REST", "REST", "GRPC"]
    assert [row["code"] for row in log] == ["OK", "INVALID_ARGUMENT", "OK"]
    assert log[0]["rows"] == 2
    assert log[0]["version"] == 2
    assert log[0]["bytes_in"] == 30
    assert log[0]["status"] == 200
    assert "secret" not in json.dumps(log)
    quiet = serve(access_log=False)
    ask(quiet, PREDICT, ONE)
    assert capfd.readouterr().err == ""
