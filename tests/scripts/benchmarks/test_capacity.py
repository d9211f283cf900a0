"""The capacity benchmark: its model and simulation against known queues."""

import dataclasses
import json
import threading
import time

import numpy as np
import pytest
from tensorflow.core.framework.types_pb2 import DT_FLOAT
from tensorflow.core.protobuf.meta_graph_pb2 import SignatureDef

from keras_transformer.serving.server.batching import Batcher
from keras_transformer.serving.server.config_files import BatchingParameters
from scripts.benchmarks import page_parts
from scripts.benchmarks.capacity import __main__ as benchmark
from scripts.benchmarks.capacity import table
from scripts.benchmarks.capacity.load import poisson_load
from scripts.benchmarks.capacity.queueing import BatchQueue
from scripts.benchmarks.capacity.service_times import ServiceTimes
from scripts.benchmarks.capacity.simulation import simulate


def linear(alone=0.05, each=0.01, slope=0.0, overhead=0.0):
    """Times of `alone + each * size + slope * longest` seconds."""
    rows = [
        (size, longest, alone + each * size + slope * longest)
        for size in (1, 2, 64)
        for longest in (10, 30)
    ]
    return ServiceTimes.fit(rows, [10, 20, 30], overhead)


def test_times_are_interpolated_between_what_was_measured():
    times = linear(slope=0.001, overhead=0.002)
    random = np.random.default_rng(0)
    for size, longest in ((1, 10), (5, 20), (64, 30)):
        expected = 0.05 + 0.012 * size + 0.001 * longest
        assert times.seconds(size, longest, random) == pytest.approx(expected)
    samples = times.samples(64, 8, random)
    assert samples.shape == (65, 8)
    assert (samples[0] == 0).all()
    assert samples[64].max() == pytest.approx(0.05 + 64 * 0.012 + 0.03)


def test_noise_makes_no_time_fall_with_length():
    rows = [(1, 10, 0.05), (1, 30, 0.04), (1, 20, 0.06)]
    times = ServiceTimes.fit(rows, [10])
    assert times.lines[0].tolist() == [pytest.approx(0.05), 0.0]
    # What the line leaves over is drawn again.
    drawn = {times.seconds(1, 20, np.random.default_rng(n)) for n in range(40)}
    assert sorted(drawn) == pytest.approx([0.04, 0.05, 0.06])


def test_batches_in_a_row_meet_the_machine_at_one_speed():
    """Half of the rounds of measurements were three times as slow."""
    rows = [
        (size, 10, 0.01 * speed)
        for speed in (1, 3) * 8
        for size in (1, 2, 64)
        for _ in range(1)
    ]
    times = ServiceTimes.fit(rows, [10])
    random = np.random.default_rng(0)
    for column in range(16):
        drawn = [times.seconds(1, 10, random, column) for _ in range(9)]
        assert drawn == pytest.approx([0.01 * (3 if column % 2 else 1)] * 9)
    # A slow spell holds up all who come in it; slow batches by chance don't.
    rate = 20 / 0.02
    in_spells = simulate(times, rate, 40_000)
    mixed = dataclasses.replace(
        times, ratios=times.ratios.reshape(3, -1)[:, :1]
    )
    assert in_spells["p99"] > simulate(mixed, rate, 40_000)["p99"]
    slow = times.measured_near([row for row in rows if row[2] == 0.03])
    assert np.unique(slow.ratios).tolist() == pytest.approx([1.5])
    assert slow.lines is times.lines


@pytest.mark.parametrize("load", [0.3, 0.7])
def test_simulation_of_single_sentences_is_a_queue_that_is_known(load):
    """M/D/1: the mean wait is S rho / (2 (1 - rho)); Pollaczek-Khinchine."""
    times = linear(alone=0.0, each=0.01)
    found = simulate(times, load * 100, 40_000, largest=1, timeout=0.0)
    wait = 0.01 * load / (2 * (1 - load))
    assert found["mean"] - 0.01 == pytest.approx(wait, rel=0.1)
    assert found["batch_size"] == 1


def test_simulated_workers_share_a_queue():
    """M/D/2 waits less than half of M/D/1 at the same load."""
    times = linear(alone=0.0, each=0.01)
    one = simulate(times, 60, 40_000, largest=1, timeout=0.0)
    two = simulate(times, 120, 40_000, 2, largest=1, timeout=0.0)
    assert two["mean"] - 0.01 < 0.6 * (one["mean"] - 0.01)


def test_who_is_alone_waits_for_company_and_is_computed():
    found = simulate(linear(), 0.01, 500, timeout=0.005)
    assert found["p50"] == pytest.approx(0.005 + 0.06)
    queue = BatchQueue(linear(), timeout=0.005)
    assert queue.latency(0.01, 0.5) == pytest.approx(0.065)


@pytest.mark.parametrize(
    ("load", "quantile"),
    [
        (0.3, 0.99),
        (0.85, 0.99),
        *(
            pytest.param(load, quantile, marks=pytest.mark.slow)
            for load in (0.1, 0.3, 0.5, 0.7, 0.85)
            for quantile in (0.5, 0.95)
        ),
    ],
)
def test_model_and_simulation_agree(load, quantile):
    times = linear(slope=0.002)
    queue = BatchQueue(times)
    rate = load * queue.full_rate
    name = f"p{100 * quantile:.0f}"
    simulated = simulate(times, rate)[name]
    assert queue.latency(rate, quantile) == pytest.approx(simulated, rel=0.1)


def test_rates_beyond_full_batches_are_never_borne():
    queue = BatchQueue(linear(), largest=16)
    assert queue.full_rate == pytest.approx(16 / (0.05 + 0.16))
    assert queue.latency(queue.full_rate * 1.01) == float("inf")
    assert queue.bearable_rate(0.05) == 0
    rate = queue.bearable_rate(0.5)
    assert 0 < rate < queue.bearable_rate(1.0) < queue.full_rate
    assert queue.latency(rate) <= 0.5


@pytest.mark.parametrize(
    ("rate", "bearable", "expected"),
    [(100, 50, 2), (101, 50, 3), (1, 50, 1), (10, 0, None)],
)
def test_replicas(rate, bearable, expected):
    assert table.replicas(rate, bearable) == expected


@pytest.fixture
def answering():
    """Starts a server that answers after some seconds, with a status."""
    import http.server

    servers = []

    def start(seconds=0.0, status=200, idle_seconds=None):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                bodies.append(json.loads(body))
                time.sleep(seconds)
                self.send_response(status)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")
                # Only now: a new connection may wait long on a busy machine.
                self.connection.settimeout(idle_seconds)

            def log_message(self, *_):
                pass

        bodies = []
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"127.0.0.1:{server.server_port}", bodies

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def test_load_is_open_whatever_the_server_does(answering):
    """It sends at its own moments, and doesn't wait for answers."""
    host, bodies = answering(seconds=0.5)
    began = time.monotonic()
    found = poisson_load(host, "/", ["a", "狗"], rate=50, seconds=1)
    assert time.monotonic() - began < 5
    # Poisson: 50 and 4 standard deviations.
    assert 22 < len(found["latencies"]) == len(bodies) < 78
    assert min(found["latencies"]) >= 0.5
    assert {body["instances"][0] for body in bodies} == {"a", "狗"}
    assert found["failed"] == 0


def test_refused_requests_are_counted(answering):
    host, _ = answering(status=503)
    found = poisson_load(host, "/", ["a"], rate=20, seconds=1)
    assert found["latencies"] == []
    assert found["failed"] > 3


def test_connections_that_the_server_closes_are_replaced(answering):
    host, bodies = answering(idle_seconds=0.02)
    found = poisson_load(host, "/", ["a"], rate=20, seconds=1)
    assert found["failed"] == 0
    assert len(found["latencies"]) == len(bodies) > 3


def report():
    times = linear()
    queue = BatchQueue(times)
    measured = {"p99": 0.2, "batch_size": 2.0}
    return {
        "environment": {"cores": 2},
        "model": "toy",
        "weights_mib": 1.0,
        "memory_mib": 400.0,
        "overhead_seconds": 0.002,
        "service": [{"batch_size": 1, "longer_characters": 9, "longer_ms": 60}],
        "rates": [10, 1000],
        "capacities": [
            {"p99": 0.5, "rate": 40.0, "simulated_p99": 0.48},
            {"p99": 0.01, "rate": 0.0, "simulated_p99": 0.0},
        ],
        "checks": [
            {
                "load": 0.5,
                "rate": 40.0,
                "model": {"p99": queue.latency(40)},
                "simulated": {"p99": 0.22, "batch_size": 2.1},
                "measured": measured,
            }
        ],
    }


def test_tables_replace_those_of_a_page(tmp_path, capsys):
    page = tmp_path / "page.md"
    marks = "before\n{}\nold\n{}\nafter\n".format(
        *page_parts.marks(table.SCRIPT)
    )
    page.write_text(marks)
    source = tmp_path / "report.json"
    source.write_text(json.dumps(report()))
    words = ["--report", str(source), "--write", str(page)]
    assert benchmark.main(words) == 0
    text = page.read_text()
    assert "old" not in text
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "| 500 ms | 40.0 | 480 ms | 1 | 25 |" in text
    assert "| 10 ms | 0.0 |  | none will do | none will do |" in text
    # The second time nothing changes.
    assert benchmark.main(words) == 0
    assert page.read_text() == text
    page.write_text("no marks")
    with pytest.raises(ValueError, match="not between"):
        benchmark.main(words)


def test_the_guide_has_the_marks():
    text = (benchmark.pathlib.Path(benchmark.__file__).parents[3]).joinpath(
        "docs", "serving.md"
    )
    text = text.read_text(encoding="utf-8")
    assert [text.count(mark) for mark in page_parts.marks(table.SCRIPT)] == [
        1,
        1,
    ]


@pytest.mark.slow
def test_measured_from_end_to_end(tmp_path, capsys):
    words = ["--quick", "--batches", "2", "--seconds", "3", "--json"]
    assert benchmark.main([*words, "--loads", "0.2"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert "quick" in found
    (check,) = found["checks"]
    assert check["measured"]["requests"] > 3
    assert check["simulated"]["p99"] > 0


class Sleeping:
    """A servable whose batches take the seconds that a line gives."""

    name = "sleeping"

    def __init__(self, alone, each):
        self._alone, self._each = alone, each
        self.rows = []

    def signature(self, name):
        signature = SignatureDef()
        signature.inputs["x"].dtype = DT_FLOAT
        signature.inputs["x"].tensor_shape.unknown_rank = True
        return signature

    def run_batch(self, name, inputs, outputs=()):
        self.rows.append(len(inputs["x"]))
        time.sleep(self._alone + self._each * len(inputs["x"]))
        return {"y": inputs["x"]}


@pytest.mark.slow  # And by the clock: little else may run meanwhile.
@pytest.mark.parametrize(
    ("load", "workers"), [(0.25, 1), (0.5, 1), (0.75, 1), (0.75, 2)]
)
def test_simulation_is_the_servers_batching(load, workers):
    """Requests at random moments to the embedded server's own queue."""
    parameters = BatchingParameters(64, 5000, 16, workers)
    times = linear(alone=0.08, each=0.004)
    rate = workers * load * BatchQueue(times).full_rate
    servable = Sleeping(0.08, 0.004)
    batcher = Batcher(parameters, together=True)
    draw = np.random.default_rng(1)
    moments = np.cumsum(draw.exponential(1 / rate, int(5 * rate)))
    latencies, began = [], time.monotonic()
    for moment in moments:
        time.sleep(max(0.0, began + moment - time.monotonic()))
        future = batcher.submit(servable, "", {"x": np.zeros(1, np.float32)})
        future.add_done_callback(
            lambda _, moment=moment: latencies.append(
                time.monotonic() - began - moment
            )
        )
    batcher.close(60)
    simulated = simulate(times, rate, workers=workers)
    assert len(latencies) == len(moments)
    measured = np.quantile(latencies, 0.99)
    assert simulated["p99"] == pytest.approx(measured, rel=0.25)
    size = np.mean(servable.rows)
    assert simulated["batch_size"] == pytest.approx(size, rel=0.25)
