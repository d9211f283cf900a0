"""What stays right while the server is full, and when its time is over."""

import concurrent.futures
import json
import re
import threading
import time

import grpc
import numpy as np
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from tensorflow_serving.apis import prediction_service_pb2_grpc

from keras_transformer.serving.server import json_tensors
from keras_transformer.serving.server.admission import Limits
from keras_transformer.serving.server.config_files import BatchingParameters
from tests.serving.asking import ONE, PREDICT, ask, spin, wait_for
from tests.serving.rpc import (
    channel_to,
    check_health,
    predict,
    predict_request,
)

# Additions of the toy model's loop that take some tenths of a second.
LONG = 50_000
ONE_WORKER = {"parameters": BatchingParameters(num_batch_threads=1)}


def statuses(server):
    """The model's counted requests by status."""
    page = server.core.metrics.page()
    counted = re.findall(r'request_count\{.*status="(\w+)"\} (\d+)', page)
    return {status: int(count) for status, count in counted}


def wait_for_requests(server, count):
    wait_for(lambda: server.core.store.in_flight() == count)


@pytest.fixture
def pool():
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        yield pool


@pytest.mark.parametrize("scheme", ["http", "grpc"])
def test_a_full_server_is_healthy_and_counts_what_it_refuses(
    serve, pool, closed, scheme
):
    server = serve(limits=Limits(max_requests=1), **ONE_WORKER)
    channel = closed(channel_to(server))
    if scheme == "http":
        busy = pool.submit(ask, server, PREDICT, spin(LONG))
        wait_for_requests(server, 1)
        answer = ask(server, PREDICT, ONE)
        assert answer.status == 429
        assert json.loads(answer.body) == {"error": "Too many requests"}
    else:
        steps = np.array([LONG])
        busy = pool.submit(predict, channel, "spin", steps=steps)
        wait_for_requests(server, 1)
        with pytest.raises(grpc.RpcError, match="Too many requests") as raised:
            predict(channel, text=["a"])
        assert raised.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert ask(server, "/v1/models/toy").status == 200
    check_health(channel)
    busy.result()
    assert statuses(server)["RESOURCE_EXHAUSTED"] == 1


def test_a_grpc_client_that_goes_away_is_counted_as_cancelled(
    serve, pool, closed
):
    server = serve(**ONE_WORKER)
    busy = pool.submit(ask, server, PREDICT, spin(LONG))
    wait_for_requests(server, 1)
    stub = prediction_service_pb2_grpc.PredictionServiceStub
    ask_grpc = stub(closed(channel_to(server))).Predict
    waiting = ask_grpc.future(predict_request(text=["a"]), timeout=20)
    wait_for_requests(server, 2)
    waiting.cancel()
    wait_for_requests(server, 1)
    assert busy.result().status == 200
    assert statuses(server) == {"OK": 1, "CANCELLED": 1}


def test_metrics_tell_how_long_requests_were_queued(serve, pool):
    server = serve(**ONE_WORKER)
    busy = pool.submit(ask, server, PREDICT, spin(LONG))
    wait_for_requests(server, 1)
    ask(server, PREDICT, ONE)
    assert busy.result().status == 200
    name = r":tensorflow:serving:batching_session:queuing_latency"
    found = dict(
        re.findall(rf"{name}_(sum|count)\S+ (\S+)", server.core.metrics.page())
    )
    assert found["count"] == "2"
    assert float(found["sum"]) > 10_000  # microseconds


def test_a_large_answer_is_written_beside_the_event_loop(serve, monkeypatch):
    threads = []
    write = json_tensors.predict_body

    def noted(*arguments):
        threads.append(threading.current_thread().name)
        return write(*arguments)

    monkeypatch.setattr(json_tensors, "predict_body", noted)
    server = serve(port=None)
    for count in (1, 20_000):
        body = {"signature_name": "double", "inputs": [[1] * count]}
        answer = ask(server, PREDICT, body)
        assert json.loads(answer.body) == {"outputs": [[2] * count]}
    assert threads[0] == "rest" != threads[1]


def test_who_watches_the_health_is_let_go(serve, closed):
    server = serve(rest_port=None)
    watch = health_pb2_grpc.HealthStub(closed(channel_to(server))).Watch
    told = watch(health_pb2.HealthCheckRequest(), timeout=60)
    assert next(told).status == health_pb2.HealthCheckResponse.SERVING
    began = time.monotonic()
    server.stop(30)
    assert time.monotonic() - began < 10
    statuses = [response.status for response in told]
    assert statuses == [health_pb2.HealthCheckResponse.NOT_SERVING]


def test_who_is_not_answered_in_time_gets_503_when_the_server_stops(
    serve, pool, capfd
):
    server = serve(port=None, access_log=True, **ONE_WORKER)
    body = spin(10 * LONG)
    clients = [pool.submit(ask, server, PREDICT, body) for _ in range(2)]
    wait_for_requests(server, 2)
    server.stop(0.05)
    for client in clients:
        answer = client.result()
        assert answer.status == 503
        assert json.loads(answer.body) == {"error": "The server is stopping"}
    assert "Traceback" not in capfd.readouterr().err
