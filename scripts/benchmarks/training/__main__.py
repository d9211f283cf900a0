#!/usr/bin/env python3
"""Measures training: tokens per second, arithmetic, memory, parts of a step.

    .venv/bin/python scripts/benchmarks/training --peer --dev-loss --json

The notebook's model and batches, on Tatoeba unless `--data` says otherwise.
Source and target tokens count, padding doesn't. Each setting is measured in
all rounds, each time in a process of its own, and the median counts. With
`--peer` the rounds are run in turn with OpenNMT-tf (`scripts/benchmarks/peers
train`), and the last line is `{"ratios": ...}`. `--dev-loss` trains an epoch
with each precision, and a precision whose dev loss is more than 1 % above
float32's is not the fastest. `--quick` measures a minute of each side in
float32. Nothing else should run meanwhile.

    .venv/bin/python scripts/benchmarks/training --backend jax --preset base \\
        --peer --torch-python /path/to/python --json

measures a preset on JAX and on its accelerator, if there is one: also the share
of the device's peak in bfloat16, compiling and memory. There the peer is
PyTorch's `nn.Transformer` on the same batches, left out where that Python has
no torch. No step counts that had to be compiled first. With `--quick` a few
steps of `base` are measured, on batches that a processor can bear.
"""

import argparse
import os
import pathlib
import statistics
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

from keras_transformer.system.machine import usable_cores
from scripts.benchmarks import command
from scripts.benchmarks.corpus import corpus_folder, prepare_data
from scripts.benchmarks.training import jax_report
from scripts.benchmarks.training.measure import (
    Setting,
    dev_loss,
    in_process,
    matrix_rate,
    measure,
    measure_peer,
)

QUICK = {
    "rounds": 1,
    "warm_up": 10,
    "steps": 40,
    "peer_steps": 60,
    "precision": ["float32"],
}
TOLERANCE = 1.01  # of the dev loss, relative to float32's


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; the exit status."""
    parser = _parser()
    options = parser.parse_args(arguments)
    measure, line, quick = _measure_all, _line, QUICK
    if options.backend == "jax":
        measure, line = jax_report.measure_all, jax_report.line
        quick = {**QUICK, **jax_report.QUICK[options.preset]}
    return command.run(parser, arguments, quick, measure, "settings", line)


def _measure_all(options, scratch):
    run, data = _make_run(options, scratch)
    settings = [
        Setting(precision, threads)
        for precision in options.precision
        for threads in options.threads
    ]
    measured = {setting: [] for setting in settings}
    rates, peers = [], []
    for number in range(options.rounds):
        rates.append(in_process(matrix_rate))
        if options.peer:
            command.say(f"round {number + 1}: OpenNMT-tf")
            peer = options.peers, corpus_folder(options.data)
            peers.append(in_process(measure_peer, *peer, options.peer_steps))
        for setting in settings:
            command.say(f"round {number + 1}: {setting}")
            size = options.warm_up, options.steps
            measured[setting].append(
                in_process(measure, setting, run, data, *size)
            )
    rows = [_summary(*item) for item in measured.items()]
    if options.dev_loss:
        for setting, row in zip(settings, rows, strict=True):
            command.say(f"an epoch: {setting}")
            where = run, data, scratch
            row["epoch"] = in_process(dev_loss, setting, *where)
    report = {
        "environment": command.environment(),
        "rounds": options.rounds,
        "matrix_gflops": {
            name: statistics.median(rate[name] for rate in rates)
            for name in ("float32", "bfloat16")
        },
        "settings": rows,
    }
    if options.peer:
        report["peers"] = peers
        report["ratios"] = _ratios(report)
    return report


def _make_run(options, scratch):
    """A run of the notebook's shape that was never trained, and its data."""
    from keras_transformer.config.presets import preset
    from keras_transformer.training.run import Run

    config = preset("notebook").updated(
        {
            "model": {"dropout": 0.1},
            "training": {"batch_sentences": options.batch_sentences},
        }
    )
    data = prepare_data(scratch, config.data, options.data)
    return Run.create(scratch / "run", config, data).folder, data.path


def _summary(setting, measured):
    """The median of all rounds, and the spread of the rate."""
    rates = [one["tokens_per_second"] for one in measured]
    row = {"precision": setting.precision, "threads": setting.threads}
    row |= {
        name: statistics.median(one[name] for one in measured)
        for name in measured[0]
        if name != "step_ms"
    }
    row["slowest"], row["fastest"] = min(rates), max(rates)
    row["step_ms"] = measured[-1]["step_ms"]
    return row


def _ratios(report):
    """To the peer and to the machine's own matrix product."""
    rows, peers = report["settings"], report["peers"]
    peer = statistics.median(one["tokens_per_second"] for one in peers)
    plain = _fastest(row for row in rows if row["precision"] == "float32")
    fastest = _fastest(row for row in rows if _as_good(row, plain))
    rate = report["matrix_gflops"]["float32"]
    memory = statistics.median(one["peer_memory_mib"] for one in peers)
    return {
        "float32_vs_opennmt_tf": round(plain["tokens_per_second"] / peer, 3),
        "fastest_vs_opennmt_tf": round(fastest["tokens_per_second"] / peer, 3),
        "fastest_policy": fastest["precision"],
        "float32_share_of_matmul_rate": round(plain["gflops"] / rate, 3),
        "memory_vs_opennmt_tf": round(plain["peak_memory_mib"] / memory, 3),
    }


def _fastest(rows):
    return max(rows, key=lambda row: row["tokens_per_second"])


def _as_good(row, plain):
    """Whether the dev loss, where it was measured, is near float32's."""
    if "epoch" not in row:
        return True
    return row["epoch"]["dev_loss"] <= TOLERANCE * plain["epoch"]["dev_loss"]


def _line(row):
    parts = ", ".join(f"{name} {ms}" for name, ms in row["step_ms"].items())
    text = (
        f"{row['precision']:<14} {row['threads']} side by side: "
        f"{row['tokens_per_second']:.0f} tokens/s ({row['slowest']:.0f} to "
        f"{row['fastest']:.0f}), {row['gflops']:.0f} GFLOP/s, making "
        f"batches {row['input_share']:.1%}, "
        f"{row['peak_memory_mib']:.0f} MiB; ms a step: {parts}"
    )
    if "epoch" in row:
        text += f"; dev loss after an epoch {row['epoch']['dev_loss']:.4f}"
    return text


def _parser():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    precisions = ["float32", "mixed_bfloat16", "mixed_float16"]
    add("--precision", nargs="+", default=precisions[:2], choices=precisions)
    add("--threads", type=int, nargs="+", default=[usable_cores()])
    add("--backend", choices=["tensorflow", "jax"], default="tensorflow")
    presets = ["notebook", "base"]
    add("--preset", choices=presets, default=presets[0], help="on JAX")
    add("--torch-python", default=sys.executable, help="a Python with torch")
    add("--batch-sentences", type=int, default=128)
    add("--batch-tokens", type=int, help="on JAX (default: the preset's)")
    add("--warm-up", type=int, default=20, help="steps")
    # More than the notebook's epoch: its longest batch decides the memory.
    add("--steps", type=int, default=210)
    add("--dev-loss", action="store_true", help="also train an epoch")
    add("--peer-steps", type=int, default=230)
    command.add_options(parser)
    command.add_peer_options(parser, "OpenNMT-tf, on JAX with PyTorch")
    return parser


if __name__ == "__main__":
    sys.exit(main())
