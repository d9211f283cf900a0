"""Clients see nothing of what happens to the server: no request is lost."""

import contextlib
import shutil
import threading
import time

import pytest

from keras_transformer.serving import Backoff, Client
from keras_transformer.serving.server.config_files import ModelConfig
from tests.attack.served import Served
from tests.fake_models import write_version
from tests.serving.asking import free_ports, wait_for


class Load:
    """Threads that ask with texts of their own, and check each answer.

    Args:
        clients: one a thread.
        marks: what may stand before an answer: a version's each.
    """

    def __init__(self, clients, marks):
        self._clients, self._marks = clients, marks
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._work, args=[place, client])
            for place, client in enumerate(clients)
        ]
        self.answered, self.wrong, self.seen = 0, [], set()
        self._lock = threading.Lock()

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, failed, *_):
        self._stop.set()
        if failed:
            for client in self._clients:
                client.close()
        for thread in self._threads:
            thread.join()

    def _work(self, place, client):
        number = 0
        while not self._stop.is_set():
            number += 1
            texts = [f"t{place} n{number} r{row}" for row in range(3)]
            try:
                found = client.predict({"text": texts})["translation"]
            except Exception as error:
                found = [repr(error)] * 3
            with self._lock:
                self._check(texts, found)

    def _check(self, texts, found):
        for text, answer in zip(texts, found, strict=True):
            mark = answer.removesuffix(text.upper())
            if mark in self._marks:
                self.seen.add(mark)
                self.answered += 1
            else:
                self.wrong.append((text, answer))

    def wait(self, condition, seconds=240):
        """Until a condition of the answers from now on holds."""
        with self._lock:
            self.seen.clear()
            before = self.answered
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            with self._lock:
                if condition(self.seen, self.answered - before):
                    return
            time.sleep(0.02)
        pytest.fail(f"never: seen {self.seen}, wrong {self.wrong[:3]}")


@pytest.fixture
def clients():
    made = []

    def make(*urls):
        patient = Backoff(retries=1000, longest_seconds=0.5)
        options = {"batch_size": 2, "timeout": 600, "backoff": patient}
        new = [Client(url, "toy", **options) for url in urls]
        made.extend(new)
        return new

    yield make
    for one in made:
        one.close()


def test_published_corrupted_and_removed_under_load(tmp_path, serve, clients):
    write_version(tmp_path, 1, mark="one ")
    server = serve(
        models=(ModelConfig("toy", tmp_path),),
        poll_seconds=0.05,
        batching=True,
    )
    urls = [f"http://127.0.0.1:{server.rest_port}"] * 2
    urls += [f"grpc://127.0.0.1:{server.port}"] * 2
    with Load(clients(*urls), {"one ", "two ", "four "}) as load:
        load.wait(lambda seen, count: seen == {"one "} and count > 20)
        write_version(tmp_path, 2, mark="two ")
        load.wait(lambda seen, count: "two " in seen)
        broken = shutil.copytree(tmp_path / "2", tmp_path / ".tmp-3")
        (broken / "variables/variables.index").write_bytes(b"damaged")
        broken.rename(tmp_path / "3")
        wait_for(lambda: state_of(clients(urls[0])[-1], 3) == "END")
        load.wait(lambda seen, count: seen == {"two "} and count > 20)
        write_version(tmp_path, 4, mark="four ")
        load.wait(lambda seen, count: "four " in seen)
        shutil.rmtree(tmp_path / "3")
        shutil.rmtree(tmp_path / "4")
        load.wait(lambda seen, count: "two " in seen)
    assert load.wrong == []


def state_of(client, version):
    """The state of a version that has failed or is there."""
    rows = {row.version: row for row in client.versions()}
    return version in rows and rows[version].message and rows[version].state


@pytest.mark.medium
@pytest.mark.parametrize("times", [1, pytest.param(5, marks=pytest.mark.slow)])
def test_killed_and_started_again_under_load(toy_base, clients, times):
    ports = free_ports(2)
    urls = [f"http://127.0.0.1:{ports[0]}"] * 2
    urls += [f"grpc://127.0.0.1:{ports[1]}"] * 2
    options = ("--model_base_path", toy_base, "--no-access-log")
    with contextlib.ExitStack() as stack:
        # The last server ends after the load.
        with Load(clients(*urls), {""}) as load:
            for _ in range(times):
                with Served(*options, ports=ports) as server:
                    load.wait(lambda seen, count: count > 50)
                    server.process.kill()
            server = stack.enter_context(Served(*options, ports=ports))
            load.wait(lambda seen, count: count > 50)
    assert load.wrong == []
    assert server.process.returncode == 0
