"""What the benchmarks have in common: peers, scratch space, output."""

import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile

from scripts.benchmarks.corpus import MISSING, corpus_folder

_PEERS = pathlib.Path(__file__).resolve().parent / "peers"
QUICK_NOTE = "one short round: roughly right, not to be quoted"


def add_options(parser):
    """The options that every benchmark has.

    Args:
        parser: `argparse.ArgumentParser`.
    """
    add = parser.add_argument
    add(
        "--data",
        type=pathlib.Path,
        help="folder of train.tsv and dev.tsv; none: Tatoeba where it is at "
        "hand (scripts/benchmarks/corpus.py fetches it), else the built-in "
        "corpus",
    )
    add("--rounds", type=int, default=3)
    add("--quick", action="store_true", help=f"{QUICK_NOTE}; below 4 minutes")
    add("--json", action="store_true", help="all results on stdout")


def add_peer_options(parser, peer: str):
    """The options of a benchmark beside a peer.

    Args:
        parser: `argparse.ArgumentParser`.
        peer: the name of what is compared with.
    """
    add = parser.add_argument
    add("--peer", action="store_true", help=f"compare with {peer}")
    add(
        "--peers",
        type=pathlib.Path,
        default=_PEERS,
        help="what measures it in place of scripts/benchmarks/peers",
    )


def parse(parser, arguments, quick: dict):
    """The options; `--quick` has defaults of its own, `quick`."""
    options = parser.parse_args(arguments)
    if options.quick:
        parser.set_defaults(**quick)
        options = parser.parse_args(arguments)
    return options


def labelled(report: dict, options) -> dict:
    """The report, or its ratios, with a note if it was made quickly."""
    return {**report, "quick": QUICK_NOTE} if options.quick else report


def run(parser, arguments, quick, measure_all, rows: str, line) -> int:
    """Measures and prints; the exit status.

    Args:
        parser: with the options of `add_options` and `add_peer_options`.
        arguments: of the command line; None: this process's.
        quick: see `parse`.
        measure_all: gives the report, of the options and a scratch folder.
        rows: the report's key of what is printed line by line.
        line: makes the line of a row.
    """
    options = parse(parser, arguments, quick)
    if options.peer and not options.peers.exists():
        say(
            f"{parser.prog}: {options.peers}: not found. Accepted: a script "
            "that measures the peer as scripts/benchmarks/peers does"
        )
        return 2
    if options.peer and corpus_folder(options.data) is None:
        say(f"{parser.prog}: {MISSING}")
        return 2
    with tempfile.TemporaryDirectory() as scratch:
        report = measure_all(options, pathlib.Path(scratch))
    for row in report[rows]:
        say(line(row))
    if options.json:
        print(json.dumps(labelled(report, options)))
    if options.peer:
        print(json.dumps(labelled({"ratios": report["ratios"]}, options)))
    return 0


def run_peer(script, *arguments) -> dict:
    """The JSON object that the peers' script prints last."""
    command = [str(script), *map(str, arguments)]
    done = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed: {done.stderr[-500:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def environment() -> dict:
    """The machine and the versions, as results name them."""
    from keras_transformer.version import versions

    model = "unknown"
    processors = pathlib.Path("/proc/cpuinfo")
    if processors.exists():
        with processors.open(encoding="utf-8") as file:
            names = [line for line in file if line.startswith("model name")]
        model = names[0].split(":")[1].strip() if names else model
    return {
        "processor": model,
        "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
        **versions(),
    }


def table(columns, rows) -> str:
    """A table in Markdown."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(
        "| " + " | ".join(str(cell) for cell in line) + " |" for line in lines
    )


def say(text):
    """A message, apart from the results."""
    print(text, file=sys.stderr, flush=True)
