#!/usr/bin/env python3
"""Trains faster models on a teacher's translations, and tabulates their worth.

    .venv/bin/python scripts/benchmarks/distillation --teacher runs/en-zh \\
        --data data/en-zh --dev dev.tsv --out runs/distillation \\
        --shapes 3-2 4-2

The teacher translates the training side of the data once (`distill`). A student
of each shape, encoder layers and decoder layers, is trained on the result, with
`--preset` but for its layers, at a lower rate; with `--undistilled` another one
on the data itself, which says what distillation is worth. All are scored on the
dev set, teacher included, with their own search and greedily; with
`--shortlist` each student also among the tokens that its pairs suggest. Their
speed is measured as `scripts/benchmarks/decoding` does: exports in a session
without XLA, 20 tokens for every sentence, one model after the other in each of
the rounds, of which the median counts. Nothing else should run meanwhile. An
interrupted call goes on where it was (`steps.py`), speeds excepted. The last
thing printed is a table in Markdown.

With `--quick` and no teacher, a small one is trained first.
"""

import argparse
import os
import pathlib
import shlex
import statistics
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

from keras_transformer.system.machine import usable_cores
from scripts.benchmarks import command, steps
from scripts.benchmarks.corpus import source_sentences
from scripts.benchmarks.decoding.measure import Cell, Setting, measure
from scripts.benchmarks.models import export_beam, export_forced

_PRECISIONS = ["float32", "bfloat16", "int8"]
_LENGTH = 20  # tokens of every sentence where speed is measured
_QUICK = {
    "shapes": ["2-1"],
    "pairs": 1000,
    "epochs": 1,
    "preset": "demo",
    "distill": ["--beam-size=1"],
    "rounds": 1,
    "sentences": 64,
    "cells": ["64-1"],
}
_TEACHER = "teacher"
# A student starts from its teacher's weights, at a lower rate.
_STUDENT = (
    "--epochs=14",
    "--set=training.average_epochs=4",
    "--set=training.warmup_steps=400",
    "--set=training.learning_rate=0.0007",
    "--set=decoding.beam_size=2",
)


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; the exit status."""
    options = command.parse(_parser(), arguments, _QUICK)
    corpus = steps.begin(options, "distillation")
    if corpus is None:
        return 2
    options.dev = corpus[1]
    if not _has_teacher(options, corpus[0]):
        command.say(
            "distillation: --teacher and --data go together. Accepted: both, "
            "or --quick and none"
        )
        return 2
    models = _models(options)
    scores = {name: _scores(name, *models[name], options) for name in models}
    speeds = _speeds(models, options)
    columns = ["model", "parameters", "BLEU", "chrF", "dev loss", "greedy BLEU"]
    columns += [_cell_name(cell) for cell in options.cells]
    rows = [
        [name, f"{_parameters(run):,}", *scores[name], *_rates(name, speeds)]
        for name, (run, _) in models.items()
    ]
    print(command.table(columns, rows))
    if options.quick:
        command.say(f"quick: {command.QUICK_NOTE}")
    return 0


def _has_teacher(options, train):
    """Whether there is a teacher with data; `--quick` makes both."""
    if options.quick and not (options.teacher or options.data):
        out = options.out
        pairs = steps.read_pairs(train)[: options.pairs]
        steps.write_rows(out / "train.tsv", pairs)
        scored = steps.read_pairs(options.dev)[: options.pairs // 10]
        steps.write_rows(out / "dev.tsv", scored)
        options.dev, options.data = out / "dev.tsv", out / "data"
        options.teacher = out / "teacher-run"
        if not options.data.exists():
            words = ["prepare", "--preset=demo", "--train", out / "train.tsv"]
            words += ["--dev", options.dev, "--out", options.data]
            steps.run(words)
        steps.train(options.data, options.teacher, _training(options))
    return options.teacher is not None and options.data is not None


def _models(options):
    """What is compared by name, the teacher first: runs and shortlists."""
    models = {_TEACHER: (options.teacher, None)}
    for name, run in _students(options).items():
        models[name] = run, None
        if options.shortlist:
            models[f"{name}-shortlist"] = run, options.shortlist
    return models


def _students(options):
    """Distills, and trains a run of each shape; them by name."""
    data = {"": options.data, "distilled": options.out / "distilled-data"}
    if not data["distilled"].exists():
        words = ["distill", "--teacher", options.teacher]
        words += ["--data", options.data, "--out", data["distilled"]]
        steps.run([*words, *options.distill])
    kinds = ["distilled", ""] if options.undistilled else ["distilled"]
    runs = {}
    for shape in options.shapes:
        encoder, _, decoder = shape.partition("-")
        words = [f"--set=model.num_encoder_layers={encoder}"]
        words += [f"--set=model.num_decoder_layers={decoder}"]
        for kind in kinds:
            name = f"{shape} {kind}".strip().replace(" ", "-")
            runs[name] = options.out / f"{name}-run"
            steps.train(data[kind], runs[name], [*_training(options), *words])
    return runs


def _scores(name, run, shortlist, options):
    """Of a run's own search, and the BLEU of greedy search."""
    pairs, out = options.dev, options.out
    words = ["--shortlist", shortlist] if shortlist else []
    scores = steps.evaluate(run, pairs, out / f"{name}.json", *words)
    greedy = out / f"{name}.greedy.json"
    bleu, *_ = steps.evaluate(run, pairs, greedy, "--beam-size=1", *words)
    return [*scores, bleu]


def _training(options):
    words = [f"--preset={options.preset}", *_STUDENT, *options.training]
    return words + ([f"--epochs={options.epochs}"] if options.epochs else [])


def _speeds(models, options):
    """Tokens a second: `{name: {cell: [of each round]}}`, measured in turn."""
    speeds = {name: {cell: [] for cell in options.cells} for name in models}
    texts = source_sentences(options.dev, options.sentences)
    with tempfile.TemporaryDirectory() as scratch:
        beams = {cell: int(cell.split("-")[1]) for cell in options.cells}
        beams = {c: export_beam(b, beams.values()) for c, b in beams.items()}
        exports = {
            (name, beam): export_forced(
                pathlib.Path(scratch) / name,
                run,
                options.precision,
                _LENGTH,
                options.dev,
                shortlist,
                beam,
            )
            for name, (run, shortlist) in models.items()
            for beam in set(beams.values())
        }
        for number in range(options.rounds):
            for cell in options.cells:
                for name, (run, _) in models.items():
                    export = exports[name, beams[cell]]
                    rate = _measure(run, export, cell, texts, options)
                    speeds[name][cell].append(rate)
                    command.say(
                        f"round {number + 1}, {_cell_name(cell)}, {name}: "
                        f"{rate:,.0f}"
                    )
    return speeds


def _measure(run, export, cell, texts, options) -> float:
    """Tokens a second of an export."""
    batch, beam = map(int, cell.split("-"))
    workers = 1 if batch == 1 else usable_cores()
    setting = Setting(
        Cell(batch, beam, _LENGTH),
        "served",
        options.precision,
        workers,
        1,
    )
    return measure(setting, run, export, texts)["tokens_per_second"]


def _rates(name, speeds):
    """The medians of a model, each with how many times the teacher's it is."""
    for cell, rounds in speeds[name].items():
        rate = statistics.median(rounds)
        teacher = statistics.median(speeds[_TEACHER][cell])
        yield f"{rate:,.0f} ({rate / teacher:.2f} x)"


def _cell_name(cell):
    batch, beam = cell.split("-")
    search = "greedy" if beam == "1" else f"beam {beam}"
    return f"tokens/s, batches of {batch}, {search}"


def _parameters(run) -> int:
    """Of a run's model, counted from its weights."""
    import h5py

    count = 0

    def add(_, item):
        nonlocal count
        count += item.size if isinstance(item, h5py.Dataset) else 0

    with h5py.File(run / "weights" / "best.weights.h5") as file:
        file.visititems(add)
    return count


def _parser():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--teacher", type=pathlib.Path, help="a trained run")
    add("--data", type=pathlib.Path, help="prepared data that it translates")
    add("--train", help="TSV for the teacher of --quick; none: Tatoeba's")
    add("--dev", help="TSV that is scored; none: Tatoeba's at hand")
    add("--out", required=True, type=pathlib.Path)
    add(
        "--shapes",
        nargs="+",
        default=["3-2", "4-2"],
        metavar="ENCODER-DECODER",
        help="layers of the students",
    )
    add(
        "--undistilled",
        action="store_true",
        help="also students of the data itself",
    )
    add(
        "--shortlist",
        metavar="FILE",
        help="a TSV: each student also among the tokens that it suggests",
    )
    add("--preset", default="tatoeba")
    add("--epochs", type=int, help="default: the preset's")
    add("--pairs", type=int, help="of --train, a tenth as many scored")
    for name in ("distill", "training"):
        add(
            f"--{name}",
            type=shlex.split,
            default=[],
            metavar="=OPTIONS",
            help=f"more of {'train' if name == 'training' else name}",
        )
    add("--rounds", type=int, default=3, help="of speed")
    add("--sentences", type=int, default=640, help="of each round")
    add("--precision", default="float32", choices=_PRECISIONS)
    add(
        "--cells",
        nargs="+",
        default=["1-1", "64-1", "64-2", "64-4"],
        metavar="BATCH-BEAM",
        help="what is measured",
    )
    add("--quick", action="store_true", help=command.QUICK_NOTE)
    return parser


if __name__ == "__main__":
    sys.exit(main())
