"""What hosts agree on, with a coordination service in memory."""

import random
import threading
import time
import types

import pytest

from keras_transformer.api import runs
from keras_transformer.config import Config, TrainingConfig
from keras_transformer.errors import InputError
from keras_transformer.training import checkpoint, hosts
from keras_transformer.translation.trained_run import TrainedRun

COUNT = 3


class Service:
    """What is used of JAX's coordination service, between threads."""

    def __init__(self, count):
        self._values = {}
        self._changed = threading.Condition()
        self._barriers = {}
        self._count = count

    def key_value_set(self, key, value, allow_overwrite=False):
        with self._changed:
            assert allow_overwrite or key not in self._values
            self._values[key] = value
            self._changed.notify_all()

    def blocking_key_value_get(self, key, milliseconds):
        with self._changed:
            seconds = min(60, milliseconds / 1000)
            assert self._changed.wait_for(lambda: key in self._values, seconds)
            return self._values[key]

    def key_value_dir_get(self, folder):
        with self._changed:
            pairs = self._values.items()
            return [(k, v) for k, v in pairs if k.startswith(folder)]

    def wait_at_barrier(self, name, milliseconds):
        with self._changed:
            barrier = self._barriers.setdefault(
                name, threading.Barrier(self._count)
            )
        barrier.wait(60)


@pytest.fixture
def on_hosts(monkeypatch):
    """Runs a function of the host's number, on a thread for each host."""
    local = threading.local()
    service = Service(COUNT)

    def next_name(kind):
        local.numbers = getattr(local, "numbers", 0) + 1
        return f"{kind}/{local.numbers}"

    monkeypatch.setattr(hosts, "count", lambda: COUNT)
    monkeypatch.setattr(hosts, "index", lambda: local.index)
    monkeypatch.setattr(hosts, "_next_name", next_name)
    monkeypatch.setattr(hosts.compat, "coordination_client", lambda: service)

    def run(action):
        results = [None] * COUNT

        def one(number):
            local.index = number
            try:
                results[number] = action(number)
            except Exception as error:
                results[number] = error

        threads = [
            threading.Thread(target=one, args=(number,), daemon=True)
            for number in range(COUNT)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()
        return results

    return run


def test_one_process_is_the_chief_and_waits_for_nobody():
    assert hosts.is_chief()
    assert hosts.count() == hosts.replicas() == 1
    hosts.wait()
    assert hosts.from_chief({"a": 1}) == {"a": 1}
    assert hosts.all_have(2) == [2]
    assert hosts.together(lambda: 3) == 3
    with pytest.raises(InputError, match="^why$"):
        hosts.together(refuse)
    with hosts.agreed_stop(lambda: True) as stop:
        assert stop()


def refuse():
    raise InputError("why")


def test_all_have_what_the_chief_has(on_hosts):
    def action(number):
        first = hosts.from_chief({"host": number})
        hosts.wait()
        return first, hosts.from_chief(f"{number} 你"), hosts.all_have(number)

    assert on_hosts(action) == [({"host": 0}, "0 你", [0, 1, 2])] * COUNT


def test_an_error_of_one_host_is_one_of_all(on_hosts):
    def action(number):
        assert hosts.together(lambda: number) == number
        return hosts.together(refuse if number == 1 else lambda: number)

    errors = on_hosts(action)
    assert all(isinstance(error, hosts.CommonError) for error in errors)
    assert list(map(str, errors)) == ["host 1: why", "why", "host 1: why"]


def test_only_the_chief_acts(on_hosts):
    def action(number):
        return hosts.by_chief(lambda: number)()

    assert on_hosts(action) == [0, None, None]


def test_hosts_that_resume_to_other_epochs_are_refused(on_hosts, monkeypatch):
    def load(folder):
        training = TrainingConfig(epochs=5 + hosts.index() // 2)
        config = Config(training=training)
        return types.SimpleNamespace(manifest={"id": "a"}, config=config)

    for name in ("run_config", "_use_threads", "_continue_with"):
        monkeypatch.setattr(runs, name, lambda *_: None)
    monkeypatch.setattr(TrainedRun, "load", load)
    errors = on_hosts(
        lambda _: runs.open_run(None, "out", None, None, True, None)
    )
    for error in errors:
        assert isinstance(error, hosts.CommonError)
        assert "out: training.epochs is 5 on host 0, 6 here" in str(error)


@pytest.mark.parametrize("ahead", [0, 5])
@pytest.mark.parametrize("seed", range(4))
def test_all_stop_after_the_same_step(on_hosts, monkeypatch, seed, ahead):
    """Steps that need all hosts, some of which run ahead of the devices."""
    monkeypatch.setattr(hosts, "_POLL", 0.01)
    begun = [0] * COUNT
    changed = threading.Condition()
    asked = random.Random(seed).choices(range(30, 60), k=COUNT)
    if seed == 0:
        asked = [None, None, 40]  # only one is asked

    def action(number):
        delays = random.Random(10 * seed + number)
        step = 0
        with hosts.agreed_stop(
            lambda: asked[number] is not None and step >= asked[number]
        ) as stop:
            while True:
                with changed:
                    begun[number] = step = step + 1
                    changed.notify_all()
                    # What it hands out waits for the others' devices.
                    needed = step - ahead
                    assert changed.wait_for(
                        lambda n=needed: min(begun) >= n, 30
                    )
                if stop():
                    return step
                time.sleep(delays.uniform(0, 0.004))

    stopped = on_hosts(action)
    assert len(set(stopped)) == 1, stopped
    assert stopped[0] >= min(step for step in asked if step is not None)


def test_a_service_that_fails_once_is_asked_again(on_hosts, monkeypatch):
    monkeypatch.setattr(hosts, "_POLL", 0.01)
    client = hosts.compat.coordination_client()
    for name in ("key_value_dir_get", "key_value_set"):
        monkeypatch.setattr(client, name, failing_once(getattr(client, name)))

    def action(number):
        with hosts.agreed_stop(lambda: True) as stop:
            for _ in range(500):
                if stop():
                    return "stopped"
                time.sleep(0.02)

    assert on_hosts(action) == ["stopped"] * COUNT


def failing_once(call):
    """A function that fails the first time that a host calls it."""
    called = set()

    def fail_first(*arguments):
        if threading.get_ident() not in called:
            called.add(threading.get_ident())
            raise RuntimeError("UNAVAILABLE")
        return call(*arguments)

    return fail_first


def test_all_wait_until_the_chief_has_saved(on_hosts, monkeypatch, tmp_path):
    saved = threading.Event()

    def save(*_):
        time.sleep(0.1)
        saved.set()

    monkeypatch.setattr(checkpoint, "save_checkpoint", save)
    training = types.SimpleNamespace(checkpoint_every=1, epochs=5)
    memory = types.SimpleNamespace(memory={})

    def action(number):
        callback = checkpoint.Checkpoint(
            tmp_path, "run", None, memory, None, training, bool
        )
        callback.set_model(types.SimpleNamespace(stop_training=False))
        callback.on_epoch_end(0)
        return saved.is_set()

    assert on_hosts(action) == [True] * COUNT


@pytest.mark.parametrize("asked_at", [18, 19, 20])
def test_a_training_that_ends_anyway_waits_for_nobody(
    on_hosts, monkeypatch, asked_at
):
    monkeypatch.setattr(hosts, "_POLL", 0.005)
    barrier = threading.Barrier(COUNT)

    def action(number):
        step = 0
        with hosts.agreed_stop(
            lambda: number == 1 and step >= asked_at
        ) as stop:
            while step < 20:
                step += 1
                barrier.wait(30)
                if stop():
                    break
                time.sleep(0.01 * number)
        return step

    assert len(set(on_hosts(action))) == 1
