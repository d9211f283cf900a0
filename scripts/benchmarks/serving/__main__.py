#!/usr/bin/env python3
"""Measures the embedded server under load, and beyond what it can bear.

    .venv/bin/python scripts/benchmarks/serving --json
    .venv/bin/python scripts/benchmarks/serving \\
        --saved-model saved_models/en-zh --input in.txt --overload-seconds 60

Sentences a second of 32 clients that send one sentence each over REST, with
batching and without, beside those of `translate` in batches of 32 with the
same export, the same sentences and no XLA; medians of rounds that are run in
turn. `--batching num_batch_threads=1 --batching num_batch_threads=2` compares
settings, and goes on with the best. Then twice the rate that 192 clients reach,
for ten minutes: what is answered, how late, and whether memory grows. Load is
made by wrk. Nothing else should run meanwhile. Without `--saved-model` a model
of the notebook's shape with random weights gives 20 tokens for each sentence.
`--quick` measures ten seconds of each and no overload.
"""

import argparse
import json
import os
import pathlib
import signal
import statistics
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

from keras_transformer.system.machine import usable_cores
from scripts.benchmarks import command
from scripts.benchmarks.corpus import source_sentences
from scripts.benchmarks.serving.load import missing_wrk, write_bodies
from scripts.benchmarks.serving.measure import (
    CAPACITY_CLIENTS,
    overload,
    throughput,
    translator_rate,
)
from scripts.benchmarks.serving.settings import (
    model,
    server_options,
    setting,
    setting_name,
    thread_options,
)

_SAID = ("sentences_per_second", "p50_ms", "p95_ms", "p99_ms")


QUICK = {
    "rounds": 1,
    "sentences": 240,
    "seconds": 10.0,
    "warm_up": 3.0,
    "overload_seconds": 0.0,
}


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; the exit status."""
    the_parser = parser()
    options = command.parse(the_parser, arguments, QUICK)
    if problem := missing_wrk():
        command.say(f"{the_parser.prog}: {problem}")
        return 2
    # So that no server outlives this process.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory() as scratch:
        report = _measure_all(options, pathlib.Path(scratch))
    for line in _table(report):
        command.say(line)
    shown = report if options.json else {"ratios": report["ratios"]}
    print(json.dumps(command.labelled(shown, options)))
    return 0


def _measure_all(options, scratch):
    base = model(options.saved_model, options.precision, scratch, options.data)
    texts = source_sentences(options.input, options.sentences, options.data)
    # Neighbours would be of one length, which flatters batches.
    texts = [text for first in range(7) for text in texts[first::7]]
    bodies = write_bodies(scratch / "bodies", texts)
    settings = {
        setting_name(values): server_options(values, scratch)
        for values in options.batching or [{}]
    }
    rounds = _rounds(options, base, texts, bodies, settings)
    rows = {name: _summary(rounds[name]) for name in settings}
    best = max(rows, key=lambda name: rows[name]["sentences_per_second"])
    report = {
        "environment": command.environment(),
        "options": {k: str(v) for k, v in vars(options).items()},
        "translator": _median(rounds["translator"]),
        "settings": rows,
        "best": best,
        "batched": rows[best],
        "unbatched": _summary(rounds["unbatched"]),
    }
    report["ratios"] = _ratios(report)
    if options.overload_seconds:
        where = base, settings[best], bodies
        report["overload"] = _overload(options, *where)
    return report


def _overload(options, *where):
    """Twice what the server reaches with as many clients as it takes."""
    command.say(f"the server, {CAPACITY_CLIENTS} clients")
    times = options.warm_up, options.seconds
    reached = throughput(*where, CAPACITY_CLIENTS, *times)
    capacity = reached["sentences_per_second"]
    seconds = options.overload_seconds
    command.say(f"{2 * capacity:.0f} a second for {seconds:g} s")
    measured = overload(*where, 2 * capacity, seconds)
    return {"capacity_per_second": capacity, **measured}


def _rounds(options, base, texts, bodies, settings):
    """What each round measured, by setting."""
    plain = thread_options((options.batching or [{}])[0])
    load = bodies, options.clients, options.warm_up, options.seconds
    rounds = {name: [] for name in ("translator", *settings, "unbatched")}
    for number in range(1, options.rounds + 1):
        command.say(f"round {number}: the translator")
        rounds["translator"].append(_translator(options, base, texts))
        for name, server in [*settings.items(), ("unbatched", plain)]:
            command.say(f"round {number}: the server, {name}")
            rounds[name].append(throughput(base, server, *load))
            rate = rounds[name][-1]["sentences_per_second"]
            command.say(f"  {rate:.1f} sentences a second")
    return rounds


def _translator(options, base, texts):
    from keras_transformer.exporting.saved_translator import (
        SavedTranslatorFactory,
    )

    factory = SavedTranslatorFactory(str(base))
    return translator_rate(factory, texts, options.workers, options.batch_size)


def _median(rates):
    return {
        "sentences_per_second": statistics.median(rates),
        "slowest": min(rates),
        "fastest": max(rates),
    }


def _summary(rounds):
    names = [*_SAID, "max_ms", "batch_size"]
    row = {
        name: statistics.median(one[name] for one in rounds) for name in names
    }
    rates = [one["sentences_per_second"] for one in rounds]
    return {**row, "slowest": min(rates), "fastest": max(rates)}


def _ratios(report):
    rate = report["batched"]["sentences_per_second"]
    others = ("translator", "unbatched")
    return {
        f"served_vs_{name}": round(
            rate / report[name]["sentences_per_second"], 3
        )
        for name in others
    }


def _table(report):
    """Lines for a person."""
    rows = {"translator": report["translator"], **report["settings"]}
    for name, row in {**rows, "unbatched": report["unbatched"]}.items():
        rate = f"{row['sentences_per_second']:.1f} a second"
        spread = f"({row['slowest']:.1f} to {row['fastest']:.1f})"
        line = f"{name:<11} {rate} {spread}"
        if "p50_ms" in row:
            times = [f"{row[key]:.0f}" for key in _SAID[1:]]
            line += f", p50/p95/p99 {' / '.join(times)} ms"
            line += f", {row['batch_size']:.1f} in a batch"
        yield line
    yield f"the best of the server's settings: {report['best']}"
    for name, ratio in report["ratios"].items():
        yield f"{name:<24} {ratio:.3f}"
    if "overload" not in report:
        return
    row = report["overload"]
    accepted = row["accepted"]
    yield f"capacity   {row['capacity_per_second']:.1f} a second"
    yield (
        f"overload   {row['offered_per_second']:.1f} answers a second: "
        f"{row['statuses']}, lost {row['connection_errors']}, timeouts "
        f"{row['timeouts']}, alive and right afterwards: {row['alive']}"
    )
    times = [accepted[key] for key in (*_SAID[1:], "max_ms")]
    times = " / ".join("-" if t is None else f"{t:.0f}" for t in times)
    yield f"accepted   p50/p95/p99/max {times} ms, of {accepted['statuses']}"
    yield f"           with {accepted['wrong_answers']} wrong answers"
    memory = " ".join(f"{mib:.0f}" for mib in row["memory_mib"])
    yield f"memory     {memory} MiB, growth {row['growth_mib']} MiB"


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
    add("--clients", type=int, default=32)
    add("--seconds", type=float, default=30.0, help="of each measurement")
    add("--warm-up", type=float, default=5.0, help="seconds before it")
    add("--overload-seconds", type=float, default=600.0, help="0: none")
    add("--batch-size", type=int, default=32, help="of the translator")
    add("--workers", type=int, default=usable_cores(), help="of it, too")
    add(
        "--batching",
        action="append",
        type=setting,
        metavar="NAME=NUMBER,...",
        help="a setting to measure, in place of the exported batching.config's "
        "values; may be repeated, and the best is what counts",
    )
    command.add_options(made)
    return made


if __name__ == "__main__":
    sys.exit(main())
