#!/usr/bin/env python3
"""Says how many replicas a rate and a latency need.

    .venv/bin/python scripts/benchmarks/capacity --json > capacity.json
    .venv/bin/python scripts/benchmarks/capacity \\
        --report capacity.json --write docs/serving.md

Measures how long batches take on one core, by size and sentence length, and,
by bursts that fill batches, what a request costs beside them. A queueing model
(`queueing.py`) makes the table of these; a simulation with the measured times
(`simulation.py`) and requests at random moments against the embedded server on
one core (`load.py`) check it, at three loads. A shared machine's speed changes
within seconds: windows of load and batches take turns, and each window is
simulated with the times from just before and after it. `--report` measures
nothing and takes an earlier output; `--write` puts the tables into a page.
`--memory` measures what a server takes, through TensorFlow's C API. Needs two
cores, and that nothing else runs. Without `--saved-model` a model of the
notebook's shape with random weights gives 20 tokens for each sentence.
"""

import argparse
import contextlib
import json
import multiprocessing
import os
import pathlib
import statistics
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

import numpy as np

from keras_transformer.export.registry.version_folders import find_saved_model
from scripts.benchmarks import command
from scripts.benchmarks.capacity import memory, service_times, table
from scripts.benchmarks.capacity.load import poisson_load
from scripts.benchmarks.capacity.queueing import BatchQueue
from scripts.benchmarks.capacity.service_times import ServiceTimes
from scripts.benchmarks.capacity.simulation import simulate, summary
from scripts.benchmarks.corpus import source_sentences
from scripts.benchmarks.serving.load import ask, first_of, write_bodies
from scripts.benchmarks.serving.measure import Server
from scripts.benchmarks.serving.settings import model, server_options

_LARGEST, _TIMEOUT = 64, 0.005  # of the exported batching.config
_LATENCIES = (0.25, 0.5, 1.0, 2.0)
_RATES = (10, 50, 100, 500, 1000)
# Requests sent at once, three full batches, and how often.
_BURST, _BURSTS = 3 * _LARGEST, 5
_AT_ONCE = 20_000  # a second
_WINDOW = 5.0  # seconds of load, between which batches are measured
_BETWEEN = 3  # batches of each size, between two windows
_SIMULATED = 20_000  # sentences, for each window
QUICK = {"rounds": 1, "batches": 6, "seconds": 10.0, "sentences": 240}


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; the exit status."""
    the_parser = parser()
    options = command.parse(the_parser, arguments, QUICK)
    if options.memory:
        print(json.dumps(_memory(options)))
        return 0
    if options.report:
        report = json.loads(options.report.read_text(encoding="utf-8"))
    elif len(os.sched_getaffinity(0)) < 2:
        command.say(
            f"{the_parser.prog}: needs two cores, one for the server and one "
            "for what asks it"
        )
        return 2
    else:
        with tempfile.TemporaryDirectory() as scratch:
            report = _measure_all(options, pathlib.Path(scratch))
        report = command.labelled(report, options)
    command.say(table.page(report))
    if options.write:
        table.write_into(options.write, report)
    if options.json:
        print(json.dumps(report))
    return 0


def _memory(options):
    """What a server's process takes, measured in one without Python's."""
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        where = options.saved_model, options.precision, scratch, options.data
        folder = find_saved_model(model(*where))
        texts = source_sentences(options.input, options.sentences, options.data)
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            measured = pool.apply(memory.measure, (folder, texts))
        return {"weights": _size(folder / "variables") / 2**20, **measured}


def _measure_all(options, scratch):
    base = model(options.saved_model, options.precision, scratch, options.data)
    texts = source_sentences(options.input, options.sentences, options.data)
    folder = find_saved_model(base)
    lengths = list(map(len, texts))
    with _Batches(folder, texts) as batches:
        command.say("the times of batches, on one core")
        rows = batches("measure", options.batches)
        command.say("the server, full batches")
        overhead, memory = _overhead(base, texts, scratch, batches)
        times = ServiceTimes.fit(rows, lengths, overhead)
        full_rate = BatchQueue(times).full_rate
        rates = {load: load * full_rate for load in options.loads}
        rounds = {load: [] for load in rates}
        for number in range(options.rounds):
            for load, rate in rates.items():
                command.say(
                    f"{rate:.1f} sentences a second, round {number + 1}"
                )
                with _server(base, scratch, texts) as server:
                    where = server, texts, rate, options.seconds, number
                    *sides, between = _in_turn(*where, batches, times)
                rounds[load].append(sides)
                rows += between
                p99 = [1000 * side["p99"] for side in sides]
                command.say("  p99 {:.0f} ms, simulated {:.0f} ms".format(*p99))
    times = ServiceTimes.fit(rows, lengths, overhead)
    queue = BatchQueue(times, _LARGEST, _TIMEOUT)
    return {
        "environment": command.environment(),
        "options": {k: str(v) for k, v in vars(options).items()},
        "model": str(options.saved_model or "notebook, random, 20 tokens"),
        "weights_mib": _size(folder / "variables") / 2**20,
        "memory_mib": memory,
        "service": service_times.table(rows),
        "rows": rows,
        "lengths": lengths,
        "overhead_seconds": overhead,
        "full_rate": queue.full_rate,
        "checks": [
            _check(load, rates[load], results, queue)
            for load, results in rounds.items()
        ],
        "rates": list(_RATES),
        "capacities": [_capacity(queue, times, p99) for p99 in _LATENCIES],
    }


def _capacity(queue, times, p99):
    rate = queue.bearable_rate(p99)
    simulated = simulate(times, rate)["p99"] if rate else 0.0
    return {"p99": p99, "rate": rate, "simulated_p99": simulated}


def _in_turn(server, texts, rate, seconds, number, batches, times):
    """Windows of load, batches between them, and each window's simulation.

    Returns:
        measured and simulated latencies, as `_without_latencies`, and the rows
        of the batches.
    """
    windows = max(1, round(seconds / _WINDOW))
    _window(server, texts, rate, min(5.0, seconds), 1000 + number)
    near = batches("measure", _BETWEEN)
    rows, measured, simulated, late = list(near), [], [], []
    for window in range(windows):
        seed = 100 * number + window
        result = _window(server, texts, rate, seconds / windows, seed)
        before, near = near, batches("measure", _BETWEEN)
        rows += near
        # As in the simulation, until queues are as long as they get.
        measured += result["latencies"][len(result["latencies"]) // 10 :]
        late.append(result["late"])
        times = times.measured_near(before + near)
        simulated.append(simulate(times, rate, _SIMULATED, seed=seed))
    joined = summary(np.concatenate([one["latencies"] for one in simulated]))
    sizes = [one["batch_size"] for one in simulated]
    return (
        {
            **_without_latencies(summary(measured)),
            "requests": len(measured),
            "late_p99": max(late),
            "batch_size": server.batch_size(),
        },
        {**_without_latencies(joined), "batch_size": statistics.mean(sizes)},
        rows,
    )


def _without_latencies(result):
    return {key: result[key] for key in result if key != "latencies"}


def _window(server, texts, rate, seconds, seed):
    """Requests at random moments, from the last core."""
    with _cores(last=True):
        result = poisson_load(
            server.host, server.path, texts, rate, seconds, seed
        )
    if result["failed"] or not result["latencies"]:
        raise SystemExit(f"{result['failed']} requests failed at {rate:.1f}/s")
    return result


def _check(load, rate, rounds, queue):
    """A load by the model, by the simulation, and measured: medians."""
    measured, simulated = (
        {name: statistics.median(r[name] for r in side) for name in side[0]}
        for side in zip(*rounds, strict=True)
    )
    return {
        "load": load,
        "rate": rate,
        "model": {"p99": queue.latency(rate), "p50": queue.latency(rate, 0.5)},
        "simulated": simulated,
        "measured": measured,
        "p99_of_rounds": [[one["p99"] for one in r] for r in rounds],
    }


def _overhead(base, texts, scratch, batches):
    """Seconds that a request costs beside its batch, and the server's MiB.

    The time until all of a burst are answered, without that of full batches
    measured just afterwards; the median.
    """
    moment = _BURST / _AT_ONCE
    differences = []
    with _server(base, scratch, texts) as server:
        for number in range(_BURSTS):
            result = _window(server, texts, _AT_ONCE, moment, number)
            answered = result["latencies"]
            last = (max(answered) - _TIMEOUT) / len(answered)
            full = batches("full_seconds", _BURST // _LARGEST) / _LARGEST
            differences.append(last - full)
        return max(0.0, statistics.median(differences)), server.memory_mib()


@contextlib.contextmanager
def _server(base, scratch, texts):
    """The embedded server with one worker, on the first core."""
    options = server_options({"num_batch_threads": 1}, scratch)
    # What a process starts has its cores.
    with _cores(last=False):
        server = Server(base, options)
    with server:
        bodies = write_bodies(scratch / "bodies", texts)
        ask(server.host, server.path, first_of(bodies))
        yield server


@contextlib.contextmanager
def _cores(last: bool):
    """On the last core, or on the first alone; afterwards as before."""
    before = os.sched_getaffinity(0)
    core = max(before) if last else min(before)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


class _Batches:
    """Measures batches in a process of its own, on the server's core."""

    def __init__(self, folder, texts):
        context = multiprocessing.get_context("spawn")
        with _cores(last=False):
            self._pool = context.Pool(1, service_times.start, (folder, texts))

    def __call__(self, method, *arguments):
        """What a method of `service_times.Batches` returns there."""
        return self._pool.apply(service_times.call, (method, *arguments))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._pool.close()
        self._pool.join()


def _size(folder):
    return sum(path.stat().st_size for path in folder.iterdir())


def _loads(text):
    return [float(part) for part in text.split(",")]


def parser() -> argparse.ArgumentParser:
    """The options."""
    made = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = made.add_argument
    add("--saved-model", type=pathlib.Path, help="a version, or their folder")
    add("--precision", default="float32", help="of random weights")
    add("--input", help="sentences, a line each, or a TSV's first column")
    add("--sentences", type=int, default=960, help="different ones")
    add("--batches", type=int, default=30, help="of each size")
    add("--seconds", type=float, default=60.0, help="of each measurement")
    add(
        "--loads",
        type=_loads,
        default=[0.25, 0.5, 0.75],
        metavar="PART,...",
        help="that are checked, as parts of what full batches bear",
    )
    add("--memory", action="store_true", help="measure that alone, in MiB")
    add("--report", type=pathlib.Path, metavar="JSON", help="measure nothing")
    add("--write", type=pathlib.Path, metavar="PAGE", help="refresh its tables")
    command.add_options(made)
    return made


if __name__ == "__main__":
    sys.exit(main())
