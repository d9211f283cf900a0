"""What the benchmarks have in common: peers, scratch space, output."""

import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile

_PEERS = pathlib.Path(__file__).resolve().parents[3] / "shared/bench/peers.py"


def add_options(parser, peer: str):
    """The options that every benchmark has.

    Args:
        parser: `argparse.ArgumentParser`.
        peer: the name of what is compared with.
    """
    add = parser.add_argument
    add("--rounds", type=int, default=3)
    add("--peer", action="store_true", help=f"compare with {peer}")
    add("--peers", type=pathlib.Path, default=_PEERS)
    add("--json", action="store_true", help="all results on stdout")


def run(parser, arguments, measure_all, rows: str, line) -> int:
    """Measures and prints; the exit status.

    Args:
        parser: with the options of `add_options`.
        arguments: of the command line; None: this process's.
        measure_all: gives the report, of the options and a scratch folder.
        rows: the report's key of what is printed line by line.
        line: makes the line of a row.
    """
    options = parser.parse_args(arguments)
    if options.peer and not options.peers.is_file():
        say(
            f"{parser.prog}: {options.peers}: not found. Accepted: a script "
            "that measures the peer as ../shared/bench/peers.py does"
        )
        return 2
    with tempfile.TemporaryDirectory() as scratch:
        report = measure_all(options, pathlib.Path(scratch))
    for row in report[rows]:
        say(line(row))
    if options.json:
        print(json.dumps(report))
    if options.peer:
        print(json.dumps({"ratios": report["ratios"]}))
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
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line for line in file if line.startswith("model name")]
        model = names[0].split(":")[1].strip() if names else model
    return {
        "processor": model,
        "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
        **versions(),
    }


def say(text):
    """A message, apart from the results."""
    print(text, file=sys.stderr, flush=True)
