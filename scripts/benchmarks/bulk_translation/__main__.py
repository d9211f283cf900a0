#!/usr/bin/env python3
"""Translates very many short lines in shards, killed and resumed on the way.

    .venv/bin/python scripts/benchmarks/bulk_translation --run runs/demo/run \\
        --lines 1000000 --out runs/bulk

Lines are drawn from the grammar of the demo's corpus, so they suit the model
that `scripts/demo.sh` trains. They are translated without shards; then in
shards, by processes that are killed by SIGKILL `--kills` times, whenever so
many more shards are there; with `--engine spark` then once more by Apache
Spark in its local mode. Every result has to be the same file. The last thing
printed is a JSON object: lines a second of each way, and the most memory that
a process and its workers took together.
"""

import argparse
import filecmp
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

from scripts.benchmarks import command

ROOT = pathlib.Path(__file__).resolve().parents[3]
_POLL_SECONDS = 0.05
_RESIDENT = re.compile(r"VmRSS:\s+(\d+) kB")


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; the exit status is 1 if a result differs."""
    options = _parser().parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    text = options.out / "lines.txt"
    _write_lines(text, options.lines)
    report = {
        **command.environment(),
        "lines": options.lines,
        "shards": options.shards,
        "options": options.translate,
    }
    whole = options.out / "whole.txt"
    report["without shards"] = _whole(options, text, whole)
    report["in shards, killed"] = _killed(options, text, whole)
    if options.engine == "spark":
        report["by Spark"] = _by_spark(options, text, whole)
    print(json.dumps(report))
    results = [value for value in report.values() if isinstance(value, dict)]
    return 0 if all(result.get("same", True) for result in results) else 1


def _write_lines(path, count):
    """Sentences of the demo's grammar; they may repeat."""
    from scripts.demo_corpus.constructions import CONSTRUCTIONS
    from scripts.demo_corpus.draw import Draw

    draw = Draw(seed=1)
    with path.open("w", encoding="utf-8") as file:
        for _ in range(count):
            english, _ = draw.one(CONSTRUCTIONS)(draw)
            file.write(f"{english}\n")


def _whole(options, text, out) -> dict:
    began = time.monotonic()
    process = _start("translate", options, text, out)
    memory = _wait(process)
    return _measured(options, began, memory)


def _killed(options, text, expected) -> dict:
    """In shards; each process but the last is killed."""
    out = options.out / "shards.txt"
    out.unlink(missing_ok=True)
    folder = pathlib.Path(f"{out}.shards")
    began, memory, killed_at = time.monotonic(), 0.0, []
    for kill in range(options.kills + 1):
        process = _start_shards(options, text, out)
        until = options.shards * (kill + 1) // (options.kills + 1)
        last = kill == options.kills
        memory = max(memory, _wait(process, None if last else folder, until))
        if not last:
            killed_at.append(len(_finished(folder)))
            command.say(f"killed with {killed_at[-1]} shards finished")
    result = _measured(options, began, memory)
    result |= {"killed at": killed_at, "same": _same(out, expected)}
    return result


def _by_spark(options, text, expected) -> dict:
    out = options.out / "spark.txt"
    began = time.monotonic()
    memory = _wait(_start_shards(options, text, out, "--engine=spark"))
    result = _measured(options, began, memory)
    return result | {"same": _same(out, expected)}


def _start_shards(options, text, out, *more):
    shards = f"--shards={options.shards}"
    return _start("translate-shards", options, text, out, shards, *more)


def _start(name, options, text, out, *more):
    words = [name, "--run", options.run, "--input", text]
    words += ["--output", out, *options.translate, *more]
    command.say(" ".join(map(str, words)))
    return subprocess.Popen(
        [sys.executable, "-m", "keras_transformer", *map(str, words)],
        cwd=ROOT,
        start_new_session=True,
    )


def _wait(process, folder=None, shards=0) -> float:
    """Waits for the end, or kills all as soon as so many shards are there.

    Returns:
        the most memory that the process and its children took, in MiB.

    Raises:
        SystemExit: it failed.
    """
    memory = 0.0
    while process.poll() is None:
        memory = max(memory, _memory(process.pid))
        if folder is not None and len(_finished(folder)) >= shards:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return memory
        time.sleep(_POLL_SECONDS)
    if process.returncode or folder is not None:
        raise SystemExit(f"exit status {process.returncode}, too early or bad")
    return memory


def _finished(folder):
    return list(folder.glob("*-of-*"))


def _memory(process_id) -> float:
    """Resident memory of a process and all below it, in MiB."""
    folder = pathlib.Path(f"/proc/{process_id}")
    try:
        match = _RESIDENT.search((folder / "status").read_text())
        paths = folder.glob("task/*/children")
        children = " ".join(path.read_text() for path in paths).split()
    except OSError:
        return 0.0  # It has ended.
    own = int(match[1]) / 1024 if match else 0.0
    return own + sum(map(_memory, children))


def _measured(options, began, memory):
    seconds = time.monotonic() - began
    return {
        "seconds": round(seconds, 1),
        "lines a second": round(options.lines / seconds),
        "peak MiB": round(memory),
    }


def _same(path, expected):
    return path.is_file() and filecmp.cmp(path, expected, shallow=False)


def _parser():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--run", required=True, help="a run's folder")
    add("--out", required=True, type=pathlib.Path)
    add("--lines", type=int, default=1_000_000)
    add("--shards", type=int, default=40)
    add("--kills", type=int, default=3)
    add("--engine", choices=("local", "spark"), default="local")
    add(
        "--translate",
        type=shlex.split,
        default="--beam-size=1",
        metavar="=OPTIONS",
        help="of translate (default: --beam-size=1)",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
