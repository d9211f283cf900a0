#!/usr/bin/env python3
"""Trains on growing parts of a corpus, and tabulates BLEU and chrF.

    .venv/bin/python scripts/benchmarks/amounts --train train.en-da.tsv \\
        --dev dev.en-da.tsv --pairs 3000 10000 30000 --out runs/amounts

A part is the first pairs of a shuffled corpus, so that a larger one contains
the smaller ones. Each is prepared, trained and evaluated by the command line
with the preset `auto`, as a user would; the dev set is the same for all, and
pairs that share a sentence with it are left out of training. An interrupted
call goes on where it was (`steps.py`). The last thing printed is a table in
Markdown; `--picture` also draws it (extra `plots`).
"""

import argparse
import json
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

from scripts.benchmarks import command, steps

_SEED = 1
_COLUMNS = "pairs", "BLEU", "chrF", "dev loss", "epochs"
_QUICK = {"pairs": [500, 1000], "epochs": 1}


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; the exit status."""
    options = command.parse(_parser(), arguments, _QUICK)
    corpus = steps.begin(options, "amounts")
    if corpus is None:
        return 2
    train, dev = corpus
    pairs = steps.read_pairs(train)
    random.Random(_SEED).shuffle(pairs)
    steps.write_rows(options.out / "dev.tsv", _dev(dev, options.quick))
    rows = [_measure(count, pairs, options) for count in options.pairs]
    print(command.table(_COLUMNS, rows))
    if options.picture:
        _draw(options)
    if options.quick:
        command.say(f"quick: {command.QUICK_NOTE}")
    return 0


def _dev(path, quick):
    pairs = steps.read_pairs(path)
    return pairs[:100] if quick else pairs


def _measure(count, pairs, options):
    """The row of the first `count` pairs."""
    out, name = options.out, f"{count}"
    steps.write_rows(out / f"{name}.tsv", pairs[:count])
    data, run = out / f"{name}.data", out / f"{name}.run"
    if not data.exists():
        words = ["--train", out / f"{name}.tsv", "--dev", out / "dev.tsv"]
        words += ["--source-language", options.source_language]
        words += ["--target-language", options.target_language]
        words += ["--set=data.remove_leaked=side"]
        steps.run(["prepare", *words, "--out", data])
    words = [f"--set={setting}" for setting in options.set]
    words += [] if options.epochs is None else [f"--epochs={options.epochs}"]
    steps.train(data, run, words)
    scores = steps.evaluate(run, out / "dev.tsv", _result(options, count))
    history = (run / "history.jsonl").read_text("utf-8").splitlines()
    return [f"{min(count, len(pairs)):,}", *scores, len(history)]


def _result(options, count):
    return options.out / f"{count}.json"


def _draw(options):
    """BLEU by pairs, with its intervals, as a picture."""
    from matplotlib import pyplot

    scores = [
        json.loads(_result(options, count).read_text("utf-8"))
        for count in options.pairs
    ]
    bleu = [score["bleu"] for score in scores]
    bounds = [score["bleu_interval"] for score in scores]
    errors = [
        [value - low for value, (low, _) in zip(bleu, bounds, strict=True)],
        [high - value for value, (_, high) in zip(bleu, bounds, strict=True)],
    ]
    figure, axes = pyplot.subplots(figsize=(5, 3.2), layout="constrained")
    axes.errorbar(options.pairs, bleu, yerr=errors, marker="o", capsize=3)
    axes.set(xscale="log", xlabel="pairs", ylabel="BLEU on dev")
    axes.set_xticks(options.pairs, [f"{count:,}" for count in options.pairs])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    figure.savefig(options.picture)


def _parser():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--train", help="TSV of pairs; none: Tatoeba's at hand")
    add("--dev", help="TSV that is scored")
    add("--source-language", default="en")
    add("--target-language", default="zh")
    add("--out", required=True, type=pathlib.Path)
    add("--pairs", type=int, nargs="+", default=[3_000, 10_000, 30_000])
    add("--epochs", type=int, help="of each training (default: the preset's)")
    add("--set", nargs="+", default=[], help="settings of the trainings")
    add("--picture", type=pathlib.Path, help="a file such as amounts.svg")
    add("--quick", action="store_true", help=command.QUICK_NOTE)
    return parser


if __name__ == "__main__":
    sys.exit(main())
