"""What the benchmark of serving measures, each in processes of its own."""

import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import threading
import time

from scripts.benchmarks.serving.load import (
    Probe,
    ask,
    first_of,
    load,
    texts_of,
)

_ROOT = pathlib.Path(__file__).resolve().parents[3]
# More clients than requests that the server takes at once, or it would never
# have to refuse one.
OVERLOAD_CONNECTIONS = 512
# Nearly as many as it takes (`--max-requests`), for the largest batches.
CAPACITY_CLIENTS = 192
_MEMORY_SECONDS = 10
_RECOVERY_SECONDS = 30


class Server:
    """The embedded server in a process, on free ports.

    Args:
        base: the model's folder.
        options: more of `keras-transformer serve`.

    Attributes:
        host: `host:port` of REST.
        path: of predict.
        url: both.
    """

    def __init__(self, base: pathlib.Path, options: list[str]):
        command = ["serve", "--engine", "embedded", "--no-access-log"]
        command += ["--model_base_path", str(base), "--model_name", "model"]
        command += ["--rest_api_port", str(_free_port()), "--port", "0"]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "keras_transformer", *command, *options],
            stderr=subprocess.PIPE,
            text=True,
            cwd=_ROOT,
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        )
        try:
            self.host = self._wait_for_host()
        except BaseException:
            self._process.kill()
            raise
        # A pipe that is full would stop it.
        self._drain = threading.Thread(
            target=self._process.stderr.read, daemon=True
        )
        self._drain.start()
        self.path = "/v1/models/model:predict"
        self.url = f"http://{self.host}{self.path}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._drain.join()
        self._process.stderr.close()

    def _wait_for_host(self):
        said = []
        for line in self._process.stderr:
            said.append(line)
            if match := re.match(r"REST on (\S+)", line):
                return match[1]
        raise SystemExit(f"the server did not start: {''.join(said)}")

    def is_alive(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    def memory_mib(self) -> float:
        """What of the process lies in memory."""
        path = pathlib.Path(f"/proc/{self._process.pid}/status")
        text = path.read_text(encoding="utf-8")
        match = re.search(r"VmRSS:\s+(\d+) kB", text)
        return int(match[1]) / 1024

    def batch_size(self) -> float:
        """Sentences of a batch, on average since the start."""
        _, page = ask(self.host, "/monitoring/prometheus/metrics")
        name = r"batch\w*size"
        numbers = [
            re.search(rf"{name}_{part}\{{.*\}} (\S+)", page.decode())
            for part in ("sum", "count")
        ]
        if None in numbers:
            return 0.0
        total, count = (float(number[1]) for number in numbers)
        return round(total / count, 2)


def throughput(base, options, bodies, clients, warm_up, seconds) -> dict:
    """Sentences a second that clients of one sentence each get.

    Returns:
        what `load` returns, `sentences_per_second`, and `batch_size`, the
        mean.
    """
    with Server(base, options) as server:
        # The first run of a graph takes long, however long the warm-up is.
        ask(server.host, server.path, first_of(bodies))
        load(server.url, bodies, clients, warm_up)
        result = load(server.url, bodies, clients, seconds)
        result["batch_size"] = server.batch_size()
    if set(result["statuses"]) != {"200"} or result["connection_errors"]:
        raise SystemExit(f"not every request was answered: {result}")
    answers = result["statuses"]["200"]
    result["sentences_per_second"] = answers / result["seconds"]
    return result


def overload(base, options, bodies, rate, seconds) -> dict:
    """What becomes of the server under a load that it can't bear.

    Args:
        base: the model's folder.
        options: of the server.
        bodies: see `load`.
        rate: requests a second.
        seconds: how long.

    Returns:
        what `load` returns; `offered_per_second`; `accepted`, a `Probe`'s
        summary; `memory_mib`, each 10 s; `growth_mib`, of the last over that
        after a minute; `alive`, whether it runs and answers right afterwards.
    """
    body = first_of(bodies)
    with Server(base, options) as server:
        _, expected = ask(server.host, server.path, body)
        probe = Probe(server.host, server.path, body, expected)
        memory, stop = [], threading.Event()

        def watch():
            while not stop.wait(_MEMORY_SECONDS) and server.is_alive():
                memory.append(round(server.memory_mib(), 1))

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        where = server.url, bodies, OVERLOAD_CONNECTIONS
        try:
            with probe:
                result = load(*where, seconds, rate)
        finally:
            stop.set()
            watcher.join()
        answers = sum(result["statuses"].values())
        after_a_minute = memory[5 if len(memory) > 6 else 0 :]
        return {
            **result,
            "offered_per_second": answers / result["seconds"],
            "accepted": probe.summary(),
            "memory_mib": memory,
            "growth_mib": (
                round(after_a_minute[-1] - after_a_minute[0], 1)
                if after_a_minute
                else None
            ),
            "alive": server.is_alive()
            and _recovers(server, body, texts_of(expected)),
        }


def _recovers(server, body, texts):
    """Whether it answers right, once it has dropped those that have gone."""
    end = time.monotonic() + _RECOVERY_SECONDS
    while time.monotonic() < end:
        status, answer = ask(server.host, server.path, body)
        if status == 200:
            return texts_of(answer) == texts
        time.sleep(0.5)
    return False


def translator_rate(factory, sentences, workers, batch_size) -> float:
    """Sentences a second of `translate`, its start not counted.

    Args:
        factory: see `keras_transformer.translation.workers`.
        sentences: to translate.
        workers: processes, each with a thread.
        batch_size: sentences at a time.
    """
    from keras_transformer.cli.console import load_tensorflow
    from keras_transformer.translation.stream import stream_lines
    from keras_transformer.translation.workers import translation_workers

    def translate(pool):
        began = time.perf_counter()
        batches = pool.map
        for _ in stream_lines(sentences, batches, batch_size):
            pass
        return time.perf_counter() - began

    with translation_workers(factory, workers, 1, load_tensorflow) as pool:
        translate(pool)  # the first time, graphs are traced
        return len(sentences) / translate(pool)


def _free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]
