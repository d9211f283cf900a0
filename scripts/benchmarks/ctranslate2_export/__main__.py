#!/usr/bin/env python3
"""Compares a run with its own exports for CTranslate2: texts, BLEU and speed.

    .venv/bin/python scripts/benchmarks/ctranslate2_export --run runs/en-zh \\
        --dev dev.tsv --input in.txt --json

The run is exported in float32 and in 8 bits. Translations of the first
`--compared` sources of `--dev` are compared with the run's in float32, BLEU is
that of all its pairs. Then each way translates `--input` by the command
`translate`, in turn, as many times as there are rounds; seconds are those of
the whole command, its start included. Nothing else should run meanwhile.
"""

import argparse
import json
import pathlib
import statistics
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

from keras_transformer.evaluation.significance import score_text
from scripts.benchmarks import command, steps

SCRIPT = "scripts/benchmarks/ctranslate2_export"
_BEAMS = (1, 4)
_QUICK = {"rounds": 1, "compared": 100, "sentences": 500}
_FLOAT, _INT8 = "CTranslate2 float32", "CTranslate2 int8"
_RUN = "the run"
_QUANTIZATIONS = {_FLOAT: "float32", _INT8: "int8"}


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; the exit status."""
    options = command.parse(_parser(), arguments, _QUICK)
    with tempfile.TemporaryDirectory() as scratch:
        report = _measure_all(options, pathlib.Path(scratch))
    report = command.labelled(report, options)
    command.say(page(report))
    if options.json:
        print(json.dumps(report))
    return 0


def _measure_all(options, scratch):
    ways = _export(options.run, scratch)
    pairs = steps.read_pairs(options.dev)
    compared, timed = scratch / "compared.txt", scratch / "timed.txt"
    sources = [source for source, _ in pairs[: options.compared]]
    compared.write_text("\n".join(sources) + "\n", encoding="utf-8")
    lines = options.input.read_text("utf-8").splitlines()[: options.sentences]
    timed.write_text("\n".join(lines) + "\n", encoding="utf-8")
    seconds = {(way, beam): [] for beam in _BEAMS for way in ways}
    for _ in range(options.rounds):
        for way, beam in seconds:
            began = time.perf_counter()
            _translate(ways[way], beam, timed, scratch / "out.txt")
            seconds[way, beam].append(time.perf_counter() - began)
    return {
        "environment": command.environment(),
        "run": options.run.name,
        "compared": len(sources),
        "equal": _equal(ways, compared, scratch),
        "bleu": {way: _bleu(ways[way], options.dev) for way in ways},
        "sentences": len(lines),
        "seconds": [
            {"way": way, "beam": beam, "rounds": rounds}
            for (way, beam), rounds in seconds.items()
        ],
    }


def _export(run, scratch):
    """The options that choose each way."""
    ways = {_RUN: ["--run", run]}
    for way, quantization in _QUANTIZATIONS.items():
        folder = scratch / quantization
        words = ["export", "--run", run, "--format=ctranslate2"]
        steps.run([*words, "--out", folder, "--quantization", quantization])
        ways[way] = ["--ctranslate2", folder]
    return ways


def _translate(way, beam, source, out, *more):
    words = ["translate", *way, f"--beam-size={beam}", "--input", source]
    steps.run([*words, "--output", out, *more])
    return out.read_text("utf-8").splitlines()


def _equal(ways, source, scratch):
    """Of each beam and way: how many texts are those of the run in float32."""
    equal = {way: [] for way in ways if way != _RUN}
    for beam in _BEAMS:
        out, exact = scratch / "out.txt", "--set=decoding.precision=float32"
        expected = _translate(ways[_RUN], beam, source, out, exact)
        for way, counts in equal.items():
            texts = _translate(ways[way], beam, source, out)
            pairs = zip(expected, texts, strict=True)
            counts.append(sum(a == b for a, b in pairs))
    return equal


def _bleu(way, dev):
    words = ["evaluate", *way, "--beam-size=4", "--input", dev, "--json"]
    scores = json.loads(steps.run(words).strip().splitlines()[-1])
    return score_text(scores["bleu"], scores.get("bleu_interval"), digits=2)


def page(report: dict) -> str:
    """The tables, and how they were made."""
    said = ", ".join(
        f"{name} {value}"
        for name, value in sorted(report["environment"].items())
    )
    rows = [
        [way, *report["equal"].get(way, ["", ""]), bleu]
        for way, bleu in report["bleu"].items()
    ]
    times = {(r["way"], r["beam"]): r["rounds"] for r in report["seconds"]}
    medians = {key: statistics.median(rounds) for key, rounds in times.items()}
    speeds = [
        [
            way,
            beam,
            " / ".join(f"{seconds:.1f}" for seconds in rounds),
            f"{report['sentences'] / medians[way, beam]:.0f}",
            f"{medians[_RUN, beam] / medians[way, beam]:.2f}",
        ]
        for (way, beam), rounds in times.items()
    ]
    parts = [
        f"Measured by `{SCRIPT}` with {said}; the run is `{report['run']}`.",
        f"Of {report['compared']} dev sentences, translations equal to the "
        "run's in float32, and BLEU of the dev set with beam 4:",
        command.table(("", "greedy", "beam 4", "BLEU"), rows),
        f"{report['sentences']} sentences by the command `translate`, start "
        "included:",
        command.table(
            ("", "beam", "seconds", "sentences/s", "to the run"), speeds
        ),
    ]
    if "quick" in report:
        parts.insert(0, f"**Not to be quoted: {report['quick']}.**")
    return "\n\n".join(parts)


def _parser():
    made = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = made.add_argument
    add("--run", type=pathlib.Path, required=True)
    add("--dev", type=pathlib.Path, required=True, help="TSV of pairs")
    add("--input", type=pathlib.Path, required=True, help="lines to time")
    add("--compared", type=int, default=1000, help="sentences")
    add("--sentences", type=int, default=4000, help="of the input")
    add("--rounds", type=int, default=3)
    add("--quick", action="store_true", help=command.QUICK_NOTE)
    add("--json", action="store_true", help="all results on stdout")
    return made


if __name__ == "__main__":
    sys.exit(main())
