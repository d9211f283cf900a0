#!/usr/bin/env python3
"""Prepares a generated corpus: time, processor seconds, memory, disk.

    .venv/bin/python scripts/benchmarks/preparing --pairs 20000000 --out runs/p

The corpus is made first, the same for the same number of pairs, and stays in
the folder beside what was prepared. Memory is the most that the process and
its workers took together, shared pages of libraries counted once. With
`--prepare='--engine spark'`, Java and its processes count, too. Options after
`--prepare=` go to `prepare`. `--quick` takes 200,000 pairs. The last thing
printed is a JSON object.
"""

import argparse
import json
import os
import pathlib
import re
import resource
import shlex
import shutil
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

from scripts.benchmarks import command
from scripts.benchmarks.preparing.corpus import write_corpus

ROOT = pathlib.Path(__file__).resolve().parents[3]
QUICK = {"pairs": 200_000}
_POLL_SECONDS = 0.5
_PAGES = re.compile(
    r"^(Private|Shared)_(?:Clean|Dirty):\s+(\d+) kB", re.MULTILINE
)


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; the exit status."""
    options = command.parse(_parser(), arguments, QUICK)
    options.out.mkdir(parents=True, exist_ok=True)
    corpus = options.out / f"pairs-{options.pairs}.tsv"
    if not corpus.exists():
        command.say(f"writing {corpus}")
        write_corpus(corpus, options.pairs)
    report = {
        **command.environment(),
        "pairs": options.pairs,
        "MiB of text": corpus.stat().st_size >> 20,
        "options": options.prepare,
        **_measure(options, corpus),
    }
    print(json.dumps(command.labelled(report, options)))
    return 0


def _measure(options, corpus) -> dict:
    out = options.out / "data"
    shutil.rmtree(out, ignore_errors=True)
    words = ["prepare", "--preset=notebook", "--train", corpus, "--out", out]
    words += options.prepare
    command.say(" ".join(map(str, words)))
    began, used = time.monotonic(), _processor_seconds()
    process = subprocess.Popen(
        [sys.executable, "-m", "keras_transformer", *map(str, words)],
        cwd=options.package,
    )
    memory = disk = 0.0
    seen = {}  # processor seconds of each process, when last looked at
    while process.poll() is None:
        memory = max(memory, _memory(process.pid))
        seen.update(_own_seconds(process.pid))
        disk = max(disk, _size(options.out) - _size(corpus))
        time.sleep(_POLL_SECONDS)
    if process.returncode:
        raise SystemExit(f"exit status {process.returncode}")
    seconds, used = time.monotonic() - began, _processor_seconds() - used
    # Java doesn't wait for the processes that it has started.
    used = max(used, sum(seen.values()))
    return {
        "seconds": round(seconds, 1),
        "processor seconds": round(used, 1),
        "pairs a processor second": round(options.pairs / used),
        "cores busy": round(used / seconds, 2),
        "peak MiB": round(memory),
        "peak MiB on disk": round(disk),
        "MiB prepared": round(_size(out)),
    }


def _processor_seconds() -> float:
    """Of all processes that have ended and were waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _own_seconds(process_id):
    """Yields (process, processor seconds) of a process and all below it."""
    folder = pathlib.Path(f"/proc/{process_id}")
    try:
        fields = (folder / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return  # It has ended.
    ticks = int(fields[11]) + int(fields[12])  # utime and stime
    yield process_id, ticks / os.sysconf("SC_CLK_TCK")
    for child in _children(folder):
        yield from _own_seconds(child)


def _children(folder):
    """The processes that one, of a folder in /proc, has started."""
    for path in folder.glob("task/*/children"):
        try:
            yield from path.read_text().split()
        except OSError:
            pass  # The thread has ended.


def _memory(process_id) -> float:
    """Of a process and all below it, in MiB.

    What they have for themselves, and the shared pages of the one that has
    most: those of libraries, which may be shared with others, too.
    """
    pages = list(_pages(process_id))
    if not pages:
        return 0.0
    own = sum(private for private, _ in pages)
    return (own + max(shared for _, shared in pages)) / 1024


def _pages(process_id):
    """Yields (private, shared) kB of a process and of all below it."""
    folder = pathlib.Path(f"/proc/{process_id}")
    try:
        text = (folder / "smaps_rollup").read_text()
    except OSError:
        return  # It has ended.
    sizes = {"Private": 0, "Shared": 0}
    for kind, size in _PAGES.findall(text):
        sizes[kind] += int(size)
    yield tuple(sizes.values())
    for child in _children(folder):
        yield from _pages(child)


def _size(path) -> float:
    """Of a file or all files in a folder, in MiB."""
    total = 0
    for file in [path, *path.rglob("*")]:
        try:
            total += file.stat().st_size if file.is_file() else 0
        except OSError:
            pass  # It has just been removed.
    return total / 2**20


def _parser():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--pairs", type=int, default=20_000_000)
    add("--out", required=True, type=pathlib.Path, help="folder")
    add(
        "--prepare",
        type=shlex.split,
        default="--dev=0.001",
        metavar="=OPTIONS",
        help="of prepare (default: --dev=0.001)",
    )
    add(
        "--package",
        type=pathlib.Path,
        default=ROOT,
        help="a checkout whose prepare is measured (default: this one)",
    )
    add("--quick", action="store_true", help=f"{command.QUICK_NOTE}")
    return parser


if __name__ == "__main__":
    sys.exit(main())
