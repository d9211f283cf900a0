#!/usr/bin/env python3
"""Measures translating: tokens per second, latency, memory, BLEU.

    .venv/bin/python scripts/benchmarks/decoding --peer --json
    .venv/bin/python scripts/benchmarks/decoding --run runs/en-zh \\
        --batch 1 8 64 --beam 1 4 --length 20 60 120 --json > results.json

Every sentence is forced to the same number of output tokens, so that speed
doesn't depend on what a model says; without `--run` the weights are random.
Two ways are measured: `served`, an export in a session without XLA, as stock
TensorFlow Serving runs it, and `translator`, what `translate` uses. Text goes
in and text comes out. Each worker is a process of its own, each setting is
measured in all rounds, and the median counts. With `--peer` the rounds are
run in turn with CTranslate2 (`scripts/benchmarks/peers decode`), and the last
line is `{"ratios": ...}`, each side at its best setting. `--quick` measures
fewer sentences, in int8 where the machine can.
Nothing else should run meanwhile.
"""

import argparse
import itertools
import os
import pathlib
import statistics
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

from keras_transformer.system.machine import (
    multiplies_bfloat16,
    multiplies_int8,
    usable_cores,
)
from scripts.benchmarks import command
from scripts.benchmarks.corpus import corpus_folder, source_sentences
from scripts.benchmarks.decoding.measure import (
    Cell,
    Setting,
    bleu,
    measure,
    measure_peer,
    ratios,
)
from scripts.benchmarks.models import (
    export_beam,
    export_forced,
    make_run,
)

_PRECISIONS = ["float32", "bfloat16"] + ["int8"] * multiplies_int8()
QUICK = {"rounds": 1, "sentences": 128, "peer_repeats": 1}


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; the exit status."""
    return command.run(
        _parser(), arguments, QUICK, _measure_all, "cells", _line
    )


def _measure_all(options, scratch):
    if options.precision is None:
        options.precision = _precisions(options)
    folder = options.run or make_run(scratch, options.data)
    texts = source_sentences(options.input, options.sentences, options.data)
    measured = {setting: [] for setting in _settings(options)}
    exports = {
        (precision, length, beam): export_forced(
            scratch,
            folder,
            precision,
            length,
            options.data,
            options.shortlist,
            beam,
        )
        for precision in options.precision
        for length in options.length
        for beam in {export_beam(beam, options.beam) for beam in options.beam}
        if "served" in options.kind
    }
    peers = []
    for number in range(options.rounds):
        if options.peer:
            command.say(f"round {number + 1}: CTranslate2")
            size = options.sentences, options.peer_repeats
            data = corpus_folder(options.data)
            peers.append(measure_peer(options.peers, data, *size))
        for setting in measured:
            command.say(f"round {number + 1}: {setting}")
            cell = setting.cell
            beam = export_beam(cell.beam, options.beam)
            export = exports.get((setting.precision, cell.length, beam))
            measured[setting].append(measure(setting, folder, export, texts))
    rows = [_summary(*item) for item in measured.items()]
    report = {
        "environment": command.environment(),
        "rounds": options.rounds,
        "sentences": len(texts),
        "cells": rows,
    }
    if options.run and options.bleu:
        report["bleu"] = bleu(folder, options.bleu, options.precision)
    if options.peer:
        report["peers"] = peers
        report["ratios"] = ratios(rows, peers)
    return report


def _precisions(options):
    if not options.quick:
        return _PRECISIONS
    if multiplies_int8():
        return ["int8"]
    return ["bfloat16" if multiplies_bfloat16() else "float32"]


def _settings(options):
    """Every setting asked for; with `--peer` the cells that are compared."""
    cells = [
        Cell(batch, beam, length)
        for batch, beam, length in itertools.product(
            options.batch, options.beam, options.length
        )
        if not options.peer or (batch, beam) in ((1, 1), (64, 1), (64, 4))
    ]
    for cell, kind, precision in itertools.product(
        cells, options.kind, options.precision
    ):
        workers = 1 if cell.batch == 1 else options.workers
        yield Setting(cell, kind, precision, workers, options.threads)


def _summary(setting, rounds):
    """The median and the spread of all rounds."""
    rates = [one["tokens_per_second"] for one in rounds]
    row = {**setting.to_dict(), **rounds[-1]}
    row.update(
        tokens_per_second=round(statistics.median(rates)),
        slowest=round(min(rates)),
        fastest=round(max(rates)),
    )
    for name in ("latency_p50_ms", "latency_p95_ms", "peak_memory_mib"):
        row[name] = round(statistics.median(one[name] for one in rounds), 1)
    return row


def _line(row):
    return (
        f"{row['kind']:<10} batch {row['batch']:<3} beam {row['beam']} "
        f"length {row['length']:<3} {row['precision']:<8} "
        f"{row['workers']} x {row['threads']}: {row['tokens_per_second']:>6} "
        f"tokens/s ({row['slowest']} to {row['fastest']}), latency "
        f"{row['latency_p50_ms']} / {row['latency_p95_ms']} ms, "
        f"{row['peak_memory_mib']:.0f} MiB"
    )


def _parser():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--run", help="a run's folder; none: random weights")
    add("--input", help="sentences, the first column of a TSV; none: dev.tsv")
    add("--shortlist", metavar="TSV", help="pairs for `served` to have one")
    add("--bleu", metavar="TSV", help="pairs to measure BLEU on, with --run")
    add("--sentences", type=int, default=640)
    add("--batch", type=int, nargs="+", default=[1, 64])
    add("--beam", type=int, nargs="+", default=[1, 4])
    add("--length", type=int, nargs="+", default=[20], help="output tokens")
    add("--kind", nargs="+", default=["served", "translator"])
    names = ["float32", "bfloat16", "int8"]
    told = f"default: {', '.join(_PRECISIONS)}"
    add("--precision", nargs="+", choices=names, help=told)
    add("--workers", type=int, default=usable_cores(), help="for batches")
    add("--threads", type=int, default=1, help="of each worker")
    add("--peer-repeats", type=int, default=3)
    command.add_options(parser)
    command.add_peer_options(parser, "CTranslate2")
    return parser


if __name__ == "__main__":
    sys.exit(main())
