"""gRPC's health says what REST does, and a server that hangs still ends."""

import contextlib
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from keras_transformer.serving.server import health
from keras_transformer.serving.server.health import HealthService
from keras_transformer.serving.server.monitoring import AccessLog
from tests.cli.conftest import start
from tests.cli.test_serve import free_ports
from tests.serving.asking import ask
from tests.serving.test_grpc_limits import predict

PREDICT = "/v1/models/toy:predict"
ONE = b'{"instances": ["a"]}'
SECONDS = 60


def statuses(channel):
    check = health_pb2_grpc.HealthStub(channel).Check
    return {
        health_pb2.HealthCheckResponse.ServingStatus.Name(
            check(
                health_pb2.HealthCheckRequest(service=service), timeout=20
            ).status
        )
        for service in ("", "tensorflow.serving.PredictionService")
    }


def wait_for(channel, status):
    end = time.monotonic() + SECONDS
    while statuses(channel) != {status}:
        assert time.monotonic() < end
        time.sleep(0.05)


def test_health_notices_when_rest_does_not_answer(
    serve, toy_configs, monkeypatch
):
    held, go_on = threading.Event(), threading.Event()
    write = AccessLog.write

    def waiting(self, entry):
        # As a log did whose reader slept: in REST's event loop.
        if entry.entry == "REST":
            held.set()
            go_on.wait(SECONDS)
        write(self, entry)

    server = serve(models=toy_configs)
    server._health._patience = 0.3
    host = f"127.0.0.1:{server.rest_port}"
    with grpc.insecure_channel(f"127.0.0.1:{server.port}") as channel:
        assert statuses(channel) == {"SERVING"}
        monkeypatch.setattr(AccessLog, "write", waiting)
        asking = threading.Thread(target=ask, args=(host, PREDICT, ONE))
        asking.start()
        assert held.wait(SECONDS)
        wait_for(channel, "NOT_SERVING")
        go_on.set()
        asking.join()
        wait_for(channel, "SERVING")
        server.stop(1)


def test_a_server_without_rest_is_healthy(serve, toy_configs):
    server = serve(models=toy_configs, rest_port=None)
    with grpc.insecure_channel(f"127.0.0.1:{server.port}") as channel:
        assert statuses(channel) == {"SERVING"}


def test_names_that_nobody_has_are_not_remembered():
    service, told = HealthService(), []
    with grpc_server_of(service) as channel:
        watch = health_pb2_grpc.HealthStub(channel).Watch
        for name in ("nobody", "nobody else"):
            call = watch(health_pb2.HealthCheckRequest(service=name))
            told.append(next(call).status)
            call.cancel()
    unknown = health_pb2.HealthCheckResponse.SERVICE_UNKNOWN
    assert told == [unknown] * 2
    assert not any(
        "nobody" in name for name in service._send_response_callbacks
    )


def test_watchers_are_limited(monkeypatch):
    monkeypatch.setattr(health, "_MOST_WATCHERS", 2)
    with grpc_server_of(HealthService()) as channel:
        watch = health_pb2_grpc.HealthStub(channel).Watch
        calls = [watch(health_pb2.HealthCheckRequest()) for _ in range(2)]
        for call in calls:
            assert next(call).status
        with pytest.raises(grpc.RpcError) as raised:
            next(watch(health_pb2.HealthCheckRequest()))
        assert raised.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        calls[0].cancel()
        end = time.monotonic() + SECONDS
        while True:
            try:
                assert next(watch(health_pb2.HealthCheckRequest())).status
                break
            except grpc.RpcError:
                assert time.monotonic() < end
                time.sleep(0.05)


@contextlib.contextmanager
def grpc_server_of(service):
    """A channel to a server of a health service alone."""
    server = grpc.server(ThreadPoolExecutor(4))
    health_pb2_grpc.add_HealthServicer_to_server(service, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            yield channel
    finally:
        server.stop(0)


@pytest.mark.medium
@pytest.mark.parametrize("entry", ["rest", "grpc"])
def test_sigterm_ends_a_server_whose_batch_never_ends(toy_base, entry):
    import tensorflow as tf

    rest, rpc = free_ports()
    process = start(
        *("serve", "--engine", "embedded", "--model_base_path", toy_base),
        *("--rest_api_port", rest, "--port", rpc, "--no-access-log"),
        *("--rest_api_timeout_in_ms", 600_000, "--drain-seconds", 1),
    )
    timer = threading.Timer(300, process.kill)
    timer.start()
    ended = []

    def wait_for_ever():
        try:
            if entry == "rest":
                body = b'{"signature_name": "spin", "inputs": [1000000000000]}'
                host = f"127.0.0.1:{rest}"
                ended.append(ask(host, PREDICT, body, timeout=300).status)
                return
            steps = tf.make_tensor_proto([10**12], tf.int64)
            with grpc.insecure_channel(f"127.0.0.1:{rpc}") as channel:
                predict(channel, {"steps": steps}, "toy", "spin", timeout=None)
        except (OSError, grpc.RpcError) as error:
            ended.append(error)

    client = threading.Thread(target=wait_for_ever)
    try:
        for line in process.stderr:
            if line.startswith("gRPC on"):
                break
        client.start()
        time.sleep(1)
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        process.wait(SECONDS)
        assert time.monotonic() - began < 20
        client.join(SECONDS)
        assert len(ended) == 1
    finally:
        timer.cancel()
        process.kill()
        process.communicate()
