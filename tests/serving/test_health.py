"""gRPC's health service has limits, and a server that hangs still ends."""

import contextlib
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import grpc
import numpy as np
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from keras_transformer.serving.server import health
from keras_transformer.serving.server.health import HealthService
from tests.attack.served import Served
from tests.serving.asking import PREDICT, ask, spin, wait_for
from tests.serving.rpc import predict

SECONDS = 60


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

        def watches():
            with contextlib.suppress(grpc.RpcError):
                return next(watch(health_pb2.HealthCheckRequest())).status

        wait_for(watches)


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
    options = ("--rest_api_timeout_in_ms", 600_000, "--drain-seconds", 1)
    ended = []

    def wait_without_end(server):
        try:
            if entry == "rest":
                answer = ask(server, PREDICT, spin(10**12), timeout=300)
                ended.append(answer.status)
                return
            steps = np.array([10**12])
            with server.channel() as channel:
                predict(channel, "spin", steps=steps, timeout=None)
        except (OSError, grpc.RpcError) as error:
            ended.append(error)

    with Served("--model_base_path", toy_base, *options) as server:
        client = threading.Thread(target=wait_without_end, args=[server])
        client.start()
        time.sleep(1)
        began = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        server.process.wait(SECONDS)
        assert time.monotonic() - began < 20
        client.join(SECONDS)
    assert len(ended) == 1


@pytest.mark.medium
def test_sigterm_just_after_the_start_ends_the_server(toy_base):
    for _ in range(4):
        with Served("--model_base_path", toy_base) as server:
            began = time.monotonic()
        assert server.process.returncode == 0
        assert time.monotonic() - began < 20
