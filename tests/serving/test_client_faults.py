"""Clients see nothing of what happens to the server: no request is lost."""

import concurrent.futures
import contextlib
import itertools
import shutil
import threading

import pytest

from keras_transformer.serving import Backoff, Client
from keras_transformer.serving.server.config_files import ModelConfig
from tests.attack.served import Served
from tests.fake_models import write_version
from tests.serving.asking import free_ports, wait_for


@contextlib.contextmanager
def load(clients, marks):
    """Has each client ask in a thread of its own, and checks the answers.

    Args:
        clients: of the same servers.
        marks: what may stand before an answer: a version's each.

    Yields:
        a function that waits until a condition of the marks and the number of
        the answers from then on holds.
    """
    stop, seen = threading.Event(), []

    def work(place, client):
        for number in itertools.count():
            texts = [f"t{place} n{number} r{row}" for row in range(3)]
            found = client.predict({"text": texts})["translation"]
            for text, answer in zip(texts, found, strict=True):
                mark = answer.removesuffix(text.upper())
                assert mark in marks, (text, answer)
                seen.append(mark)
            if stop.is_set():
                return

    def wait(condition):
        before = len(seen)

        def holds():
            assert not any(future.done() for future in futures), futures
            return condition({*seen[before:]}, len(seen) - before)

        wait_for(holds, 240)

    with concurrent.futures.ThreadPoolExecutor(len(clients)) as pool:
        futures = [pool.submit(work, *row) for row in enumerate(clients)]
        try:
            yield wait
        except BaseException:
            for client in clients:
                client.close()
            raise
        finally:
            stop.set()
    for future in futures:
        future.result()


@pytest.fixture
def clients(closed):
    def make(*urls):
        patient = Backoff(retries=1000, longest_seconds=0.5)
        options = {"batch_size": 2, "timeout": 600, "backoff": patient}
        return [closed(Client(url, "toy", **options)) for url in urls]

    return make


@pytest.mark.medium
def test_published_corrupted_and_removed_under_load(tmp_path, serve, clients):
    write_version(tmp_path, 1, mark="one ")
    server = serve(
        models=(ModelConfig("toy", tmp_path),), poll_seconds=0.05, batching=True
    )
    urls = [f"http://127.0.0.1:{server.rest_port}"] * 2
    urls += [f"grpc://127.0.0.1:{server.port}"] * 2
    first, *others = clients(*urls)
    with load([first, *others], {"one ", "two ", "four "}) as wait:
        wait(lambda seen, count: seen == {"one "} and count > 20)
        write_version(tmp_path, 2, mark="two ")
        wait(lambda seen, count: "two " in seen)
        broken = shutil.copytree(tmp_path / "2", tmp_path / ".tmp-3")
        (broken / "variables/variables.index").write_bytes(b"damaged")
        broken.rename(tmp_path / "3")
        wait_for(lambda: state_of(first, 3) == "END")
        wait(lambda seen, count: seen == {"two "} and count > 20)
        write_version(tmp_path, 4, mark="four ")
        wait(lambda seen, count: "four " in seen)
        shutil.rmtree(tmp_path / "3")
        shutil.rmtree(tmp_path / "4")
        wait(lambda seen, count: "two " in seen)


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
        with load(clients(*urls), {""}) as wait:
            for _ in range(times):
                with Served(*options, ports=ports) as server:
                    wait(lambda seen, count: count > 50)
                    server.process.kill()
            server = stack.enter_context(Served(*options, ports=ports))
            wait(lambda seen, count: count > 50)
    assert server.process.returncode == 0
