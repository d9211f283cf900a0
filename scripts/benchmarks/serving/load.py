"""Load on a server over REST, by wrk, and probes of its answers.

wrk takes a few per cent of a core for some hundred requests a second, so that
the server has the machine; its script `wrk.lua` varies sentences.
"""

import http.client
import json
import pathlib
import shutil
import subprocess
import threading
import time

_SCRIPT = pathlib.Path(__file__).with_name("wrk.lua")
# Longer than the server lets any request wait.
_TIMEOUT = 60
_PROBE_SECONDS = 0.5


def missing_wrk() -> str:
    """What to install where wrk isn't; "" where it is."""
    if shutil.which("wrk"):
        return ""
    return "wrk is not on the PATH. Accepted: apt-get install wrk"


def write_bodies(path: pathlib.Path, sentences: list[str]) -> pathlib.Path:
    """A request of one sentence on each line; returns the path."""
    lines = [
        json.dumps({"signature_name": "serving_default", "instances": [text]})
        for text in sentences
    ]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def first_of(bodies: pathlib.Path) -> str:
    """The first request of a file."""
    with bodies.open(encoding="utf-8") as lines:
        return next(lines).rstrip("\n")


def load(
    url: str,
    bodies: pathlib.Path,
    connections: int,
    seconds: float,
    rate: float = 0.0,
) -> dict:
    """Sends requests for a while.

    Args:
        url: to which.
        bodies: written by `write_bodies`.
        connections: clients at a time; each waits for its answer.
        seconds: how long.
        rate: requests a second by all of them; 0: as many as are answered.

    Returns:
        `seconds`, `statuses` with the number of each, `connection_errors`,
        `timeouts`, and milliseconds of all answers: `p50_ms`, `p95_ms`,
        `p99_ms`, `max_ms`.
    """
    command = ["wrk", "-t1", f"-c{connections}", f"-d{max(1, round(seconds))}s"]
    command += [f"--timeout={_TIMEOUT}s", f"--script={_SCRIPT}", url]
    command += ["--", str(bodies), str(rate)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines or not lines[-1].startswith("{"):
        told = (done.stderr or done.stdout).strip()
        raise SystemExit(f"{' '.join(command)} failed: {told[-500:]}")
    return json.loads(lines[-1])


class Probe:
    """Asks twice a second, so that accepted and refused can be told apart.

    wrk measures all answers as one. A probe comes at any moment alike, so
    its latencies are those of any client's.

    Args:
        host: `host:port` of REST.
        path: of predict.
        body: JSON, of one sentence.
        expected: the body of the right answer.
    """

    def __init__(self, host: str, path: str, body: str, expected: bytes):
        self._request = host, path, body
        self._expected = expected
        self._stop = threading.Event()
        self._answers = []
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()

    def summary(self) -> dict:
        """How many probes got which status, what was wrong, latencies.

        Returns:
            `statuses`, `wrong_answers`, and of the accepted `p50_ms`,
            `p95_ms`, `p99_ms` and `max_ms`.
        """
        statuses, accepted, wrong = {}, [], 0
        for status, body, milliseconds in self._answers:
            key = str(status)
            statuses[key] = statuses.get(key, 0) + 1
            if status == 200:
                accepted.append(milliseconds)
                wrong += texts_of(body) != texts_of(self._expected)
        accepted.sort()
        return {
            "statuses": statuses,
            "wrong_answers": wrong,
            **{f"p{n}_ms": _percentile(accepted, n) for n in (50, 95, 99)},
            "max_ms": accepted[-1] if accepted else None,
        }

    def _work(self):
        while not self._stop.wait(_PROBE_SECONDS):
            began = time.perf_counter()
            try:
                status, body = ask(*self._request)
            except OSError as error:
                status, body = type(error).__name__, b""
            milliseconds = 1000 * (time.perf_counter() - began)
            self._answers.append((status, body, milliseconds))


def ask(host: str, path: str, body: str | None = None) -> tuple[int, bytes]:
    """Status and body of one request."""
    connection = http.client.HTTPConnection(host, timeout=_TIMEOUT)
    try:
        connection.request("POST" if body else "GET", path, body)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def texts_of(body: bytes) -> list[str]:
    """The translations of an answer.

    Not the scores: their last digit is up to the neighbours in a batch.
    """
    return [row["translation"] for row in json.loads(body)["predictions"]]


def _percentile(values, percent):
    """Of sorted values, the nearest; None of none."""
    if not values:
        return None
    return values[min(len(values) - 1, len(values) * percent // 100)]
