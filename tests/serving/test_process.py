"""The command as a process that is killed, and that is told to stop."""

import json
import signal
import socket
import threading
import time

import pytest
import tensorflow as tf

from tests.cli.conftest import start
from tests.serving.asking import ask

PREDICT = "/v1/models/toy:predict"
ONE = b'{"instances": ["a"]}'


def started(base, rest_port, port=0):
    """A process that answers on a port, and kills itself if it hangs."""
    process = start(
        *("serve", "--engine", "embedded", "--model_base_path", base),
        *("--rest_api_port", rest_port, "--port", port, "--no-access-log"),
    )
    timer = threading.Timer(300, process.kill)
    timer.daemon = True
    timer.start()
    for line in process.stderr:
        if line.startswith("gRPC on" if port else "REST on"):
            return process
    raise AssertionError(f"not started: {process.wait()}")


@pytest.mark.slow
def test_killed_under_load_and_started_again(toy_base):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    answered, stop = [], threading.Event()

    def client():
        while not stop.is_set():
            try:
                answer = ask(f"127.0.0.1:{port}", PREDICT, ONE)
            except OSError:
                time.sleep(0.05)  # nobody listens
            except Exception as error:
                answered.append(repr(error))
            else:
                answered.append((answer.status, json.loads(answer.body)))

    clients = [threading.Thread(target=client) for _ in range(4)]
    process = started(toy_base, port)
    try:
        for one in clients:
            one.start()
        wait_for_answers(answered, 20)
        process.kill()
        process.communicate()
        process = started(toy_base, port)
        answered.clear()
        wait_for_answers(answered, 20)
    finally:
        stop.set()
        for one in clients:
            one.join()
        process.send_signal(signal.SIGTERM)
        process.communicate()
    assert process.returncode == 0
    assert all(a == (200, {"predictions": ["A"]}) for a in answered)


@pytest.mark.medium
def test_what_must_be_compiled_is_refused(tmp_path):
    """As by the stock server, which runs without XLA."""
    module = tf.Module()
    compiled = tf.function(lambda x: x + 1.0, jit_compile=True, autograph=False)
    serve = tf.function(
        lambda x: {"y": compiled(x)},
        input_signature=[tf.TensorSpec([None], tf.float32, name="x")],
        autograph=False,
    )
    tf.saved_model.save(module, str(tmp_path / "toy/1"), serve)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = started(tmp_path / "toy", port)
    try:
        answer = ask(f"127.0.0.1:{port}", PREDICT, b'{"instances": [1.0]}')
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate()
    assert answer.status == 500  # as TensorFlow says, INTERNAL
    assert "XLA compilation disabled" in json.loads(answer.body)["error"]


def wait_for_answers(answered, count):
    end = time.monotonic() + 60
    while len(answered) < count and time.monotonic() < end:
        time.sleep(0.01)
    assert len(answered) >= count
