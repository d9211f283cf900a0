"""Monitoring: metrics in Prometheus' text format, and a log of requests.

The log has a line of JSON for each request, by default without its text. The
metrics have TensorFlow Serving's names, with a leading colon and without
`_total`, so that its dashboards and alerts work. Source: the exposition format
0.0.4 of Prometheus.
"""

import bisect
import contextlib
import dataclasses
import datetime
import json
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from keras_transformer.contract.status import Code, shortened

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
# Upper bounds of buckets in microseconds: 10 x 1.8^n, as in TensorFlow Serving.
_LATENCIES = tuple(10 * 1.8**power for power in range(33))
_BATCH_SIZES = tuple(2.0**power for power in range(15))

_REQUEST_COUNT = ":tensorflow:serving:request_count"
_REQUEST_LATENCY = ":tensorflow:serving:request_latency"
_RUNTIME_LATENCY = ":tensorflow:serving:runtime_latency"
_BATCH_SIZE = ":tensorflow:serving:batching_session:processed_batch_size"
_QUEUING_LATENCY = ":tensorflow:serving:batching_session:queuing_latency"
# Maximum bytes of a string in a line of the log.
_LONGEST_FIELD = 1000


class Metrics:
    """Counters and histograms since the start. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counters: dict = {}
        self._histograms: dict = {}
        self._read: dict = {}

    def follow(self, name: str, read: Callable[[], int]) -> None:
        """Adds a counter whose value is counted elsewhere.

        Args:
            name: the counter's name.
            read: function that returns the value.
        """
        self._read[name] = read

    def request(
        self, model: str, api: str, entry: str, code: Code, seconds: float
    ) -> None:
        """Counts an answered request.

        Args:
            model: name of a served model; arbitrary names would grow the page.
            api: "Predict" or another method.
            entry: "REST" or "GRPC".
            code: `Code` of the answer.
            seconds: duration of the request.
        """
        counter = (("model_name", model), ("status", code.name))
        labels = (("model_name", model), ("API", api), ("entrypoint", entry))
        with self._lock:
            key = (_REQUEST_COUNT, counter)
            self._counters[key] = self._counters.get(key, 0) + 1
            self._observe(_REQUEST_LATENCY, labels, _LATENCIES, seconds * 1e6)

    def batch(
        self, model: str, rows: int, seconds: float, waits: list[float]
    ) -> None:
        """Counts a run of a batch.

        Args:
            model: the model's name.
            rows: number of rows in the batch.
            seconds: duration of the run.
            waits: seconds that each of its requests was queued.
        """
        labels = (("model_name", model),)
        with self._lock:
            for wait in waits:
                self._observe(_QUEUING_LATENCY, labels, _LATENCIES, wait * 1e6)
            self._observe(_RUNTIME_LATENCY, labels, _LATENCIES, seconds * 1e6)
            self._observe(_BATCH_SIZE, labels, _BATCH_SIZES, rows)

    def page(self) -> str:
        """Returns all metrics in Prometheus' text format."""
        with self._lock:
            lines: list = []
            for (name, labels), value in sorted(self._counters.items()):
                _head(lines, name, "counter")
                lines.append(f"{name}{_labels(labels)} {value}")
            for (name, labels), histogram in sorted(self._histograms.items()):
                _head(lines, name, "histogram")
                lines += histogram.lines(name, labels)
        for name, read in self._read.items():
            _head(lines, name, "counter")
            lines.append(f"{name} {read()}")
        return "\n".join(lines) + "\n"

    def _observe(self, name, labels, ends, value):
        histogram = self._histograms.setdefault(
            (name, labels), _Histogram(ends)
        )
        histogram.observe(value)


@dataclasses.dataclass
class Entry:
    """A request and its answer, as they are logged.

    Attributes:
        entry: entry point, "REST" or "GRPC". The name is a key of the log.
        api: "Predict", "GetModelStatus" and so on.
        peer: the client's address.
        method: HTTP method; "" for gRPC.
        path: the requested path; "" for gRPC.
        model: the model's name.
        version: the version that answered, or the requested one.
        signature: name of the signature.
        rows: number of rows of the inputs.
        bytes_in: size of the body.
        bytes_out: size of the answer.
        code: `Code` of the answer.
        status: HTTP status; None for gRPC.
        error: error message, which may quote the request.
        text: the request's strings, only if they are logged.
        began: start time in seconds, as of `time.perf_counter`.
        seconds: duration of the request.
    """

    entry: str
    api: str = ""
    peer: str = ""
    method: str = ""
    path: str = ""
    model: str = ""
    version: int | None = None
    signature: str = ""
    rows: int | None = None
    bytes_in: int = 0
    bytes_out: int = 0
    code: Code = Code.OK
    status: int | None = None
    error: str = ""
    text: dict | None = None
    began: float = dataclasses.field(default_factory=time.perf_counter)
    seconds: float = 0.0

    def end(self) -> None:
        """Sets the duration."""
        self.seconds = time.perf_counter() - self.began


class AccessLog:
    """Writes entries as lines of JSON to stderr.

    Args:
        enabled: bool, whether to write anything.
        with_text: bool, whether to also write the requests' strings, and error
            messages, which may quote them.
    """

    def __init__(self, enabled: bool = True, with_text: bool = False) -> None:
        self.with_text = with_text
        self._enabled = enabled
        self._lock = threading.Lock()

    def write(self, entry: Entry) -> None:
        """Writes an entry without its empty fields."""
        if not self._enabled:
            return
        now = datetime.datetime.now(datetime.UTC)
        line: dict[str, Any] = {"time": now.isoformat(timespec="milliseconds")}
        for field in dataclasses.fields(entry):
            value = getattr(entry, field.name)
            if isinstance(value, str):
                value = shortened(value, _LONGEST_FIELD)
            if value not in (None, ""):
                line[field.name] = value
        del line["began"]
        line["code"] = entry.code.name
        line["seconds"] = round(entry.seconds, 6)
        if not self.with_text:
            line.pop("error", None)
            line.pop("text", None)
        text = json.dumps(line)
        # Failing to write the log must not fail the request.
        with self._lock, contextlib.suppress(OSError):
            print(text, file=sys.stderr, flush=True)


class _Histogram:
    def __init__(self, ends):
        self._ends = ends
        self._counts = [0] * (len(ends) + 1)
        self._sum = 0.0

    def observe(self, value):
        self._counts[bisect.bisect_left(self._ends, value)] += 1
        self._sum += value

    def lines(self, name, labels):
        total = 0
        ends = [*map(str, self._ends), "+Inf"]
        for end, count in zip(ends, self._counts, strict=True):
            total += count
            bucket = _labels((*labels, ("le", end)))
            yield f"{name}_bucket{bucket} {total}"
        yield f"{name}_sum{_labels(labels)} {self._sum}"
        yield f"{name}_count{_labels(labels)} {total}"


def _head(lines, name, kind):
    """Adds the line of a metric's type, unless it is there already."""
    line = f"# TYPE {name} {kind}"
    if line not in lines:
        lines.append(line)


def _labels(labels):
    pairs = [f'{name}="{_escaped(value)}"' for name, value in labels]
    return "{" + ",".join(pairs) + "}"


def _escaped(value):
    value = value.replace("\\", r"\\").replace('"', r"\"")
    return value.replace("\n", r"\n")
