#!/usr/bin/env python3
"""Measures all of training on a GPU that is at hand for minutes.

    keras-transformer prepare --source-language en --target-language de \\
        --train train.tsv --dev dev.tsv --out data/mine
    python scripts/benchmarks/gpu --data data/mine --out runs/gpu --minutes 14

It runs by itself, without a network, in stages, in this order until the time is
over:

    base       trains the preset in bfloat16 on --data: target tokens a second,
               share of the device's peak, memory, compiling and dev loss after
               each epoch; then BLEU on the dev set
    torch      PyTorch's nn.Transformer, compiled, on the same batches: a ratio
    small      trains --small-preset on --small-data to its end: minutes, BLEU
    big        20 steps of the paper's big model
    compiling  what a shape of base costs: compiled, with less autotuning, and
               loaded from disk

Each result is a line of OUT/results.jsonl as soon as it is known. A stage that
has ended isn't run again, one that was cut off goes on where it was. Both data
folders are of `prepare`; --small-data has to suit its preset (`tiny` wants
--preset tiny there, too). scripts/benchmarks/gpu/carry.sh takes TensorFlow in
pieces to a machine that has JAX alone.

With --rehearse all stages run in a few minutes on any machine, with shapes that
show nothing but that they run.
"""

import argparse
import json
import os
import pathlib
import sys
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

from scripts.benchmarks import command
from scripts.benchmarks.gpu import stages
from scripts.benchmarks.gpu.groups import in_group
from scripts.benchmarks.gpu.results import Results

# Shares of --minutes that stages may take at most.
SHARES = {"base": 0.5, "torch": 0.2, "small": 0.35, "big": 0.2}
SHARES["compiling"] = 0.3
_WORTH = 10  # seconds with which it is worth beginning a stage
_GRACE = 20  # seconds after which a stage that doesn't end by itself is ended
# Nothing is cut off, however busy the machine is.
REHEARSAL = {"minutes": 60.0}


def main(arguments: list[str] | None = None) -> int:
    """Runs the stages; the exit status."""
    options = command.parse(_parser(), arguments, REHEARSAL)
    if not options.quick and not (options.data and options.out):
        command.say("gpu: --data and --out, or --rehearse")
        return 2
    if not options.quick and not has_gpu():
        command.say("gpu: no GPU of NVIDIA's here. Accepted: --rehearse")
        return 2
    with tempfile.TemporaryDirectory() as scratch:
        options.out = options.out or pathlib.Path(scratch) / "out"
        options.out.mkdir(parents=True, exist_ok=True)
        options.small_data = options.small_data or options.data
        results = Results(options.out / "results.jsonl")
        run_stages(options, results, time.time() + 60 * options.minutes)
        if options.json:
            report = command.labelled({"results": results.all()}, options)
            print(json.dumps(report))
    return 0 if not results.failed() else 1


def has_gpu() -> bool:
    """True if a driver of NVIDIA's has a GPU here."""
    return any(pathlib.Path("/dev").glob("nvidia[0-9]"))


def run_stages(options, results, end):
    """Runs what has not ended yet, each in a group of processes of its own.

    Args:
        options: of the command line.
        results: `Results`, to which each stage adds its own.
        end: when the time is over, as `time.time` counts.
    """
    if options.quick and options.data is None:
        options.data = options.out / "data"
        options.small_data = options.data
        if not options.data.exists():
            in_group(stages.rehearsal_data, end, options.data)
    for name in options.stages:
        if results.has_ended(name):
            command.say(f"{name}: has ended before")
            continue
        until = min(end, time.time() + 60 * options.minutes * SHARES[name])
        if until - time.time() < _WORTH:
            results.add(name, left_out="the time is over")
            continue
        started = time.time()
        stage = getattr(stages, name)
        failed = in_group(stage, until + _GRACE, options, results, until)
        if failed:
            results.add(name, failed=failed)
        else:
            results.add(name, ended=True, seconds=round(time.time() - started))


def _parser():
    parser = argparse.ArgumentParser(
        prog="gpu",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    folder = pathlib.Path
    add("--data", type=folder, help="prepared data for base, torch and big")
    add("--small-data", type=folder, help="for small (default: --data)")
    add("--small-preset", default="tatoeba", help="default: %(default)s")
    add("--config", type=folder, help="YAML: what base is to differ in")
    add("--out", type=folder, help="folder of runs and results")
    add("--minutes", type=float, default=14.0, help="for all stages")
    add("--stages", nargs="+", choices=[*SHARES], default=[*SHARES])
    add("--steps", type=int, default=60, help="that torch measures")
    add("--torch-python", default=sys.executable, help="a Python with torch")
    add(
        "--rehearse",
        "--quick",
        dest="quick",
        action="store_true",
        help="all stages in tiny shapes, some minutes",
    )
    add("--json", action="store_true", help="all results on stdout")
    return parser


if __name__ == "__main__":
    sys.exit(main())
