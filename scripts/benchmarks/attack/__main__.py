#!/usr/bin/env python
"""Runs tests/attack at a size, and prints a table of its figures.

    scripts/benchmarks/attack --size 1

The full size, 1, is 18,000 REST requests, 16,000 gRPC calls, 500 damaged files,
30 kills and ten points of a full disk for every command; a smaller one is such
a share of each. A fault ends it with pytest's report and no table.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

from scripts.benchmarks import command  # noqa: E402

NAME = "scripts/benchmarks/attack"
# As tests/attack/report.py reads them.
_SIZE = "KERAS_TRANSFORMER_ATTACK_SIZE"
_FIGURES = "KERAS_TRANSFORMER_ATTACK_FIGURES"


def attack(size: float, tests: list[str]) -> list[dict] | None:
    """Runs the tests; the figures of `report.Figures`, None after a fault."""
    with tempfile.TemporaryDirectory() as folder:
        figures = pathlib.Path(folder) / "figures.json"
        words = [sys.executable, "-m", "pytest", "-m", "slow", "-q"]
        done = subprocess.run(
            [*words, *tests],
            cwd=ROOT,
            env={**os.environ, _SIZE: str(size), _FIGURES: str(figures)},
            stdout=sys.stderr,
        )
        if done.returncode:
            return None
        return json.loads(figures.read_text())


def table(rows: list[dict], size: float) -> str:
    """The figures in Markdown."""
    machine = command.environment()
    cores, processor = machine["cores"], machine["processor"]
    cells = [
        (
            row["attack"].replace("_", " "),
            f"{row['count']:,}",
            0,
            "" if row["worst"] is None else f"{row['worst']:.2f} s",
            f"{row['mib']:,} MiB",
            f"{row['seconds']:.0f} s",
        )
        for row in rows
    ]
    total = sum(row["seconds"] for row in rows)
    names = ("attack", "number", "faults", "worst wait", "peak memory", "took")
    return (
        f"Size {size:g}, cores {cores} ({processor}), "
        f"in {total / 60:.0f} minutes.\n\n" + command.table(names, cells)
    )


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog=NAME,
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--size", type=float, default=1.0, help="share of the full size")
    add(
        "tests",
        nargs="*",
        default=["tests/attack"],
        help="pytest's names of them (default: all)",
    )
    options = parser.parse_args(arguments)
    if not options.size > 0:
        parser.error(f"--size must be above 0. Received: {options.size}")
    rows = attack(options.size, options.tests)
    if rows is None:
        command.say(f"{NAME}: faults, see above")
        return 1
    command.say(table(rows, options.size))
    print(json.dumps(rows))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
