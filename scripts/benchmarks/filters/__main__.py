#!/usr/bin/env python3
"""Adds dirt to a corpus, and tabulates what the filters of `prepare` find.

    .venv/bin/python scripts/benchmarks/filters --train en-da/train.tsv.gz \\
        --other en-it/train.tsv.gz --source-language en --target-language da \\
        --out runs/filters

Three bad pairs are added to ten of the corpus (`--share`), as many of each kind
(`dirt.py`): targets of the next pair, copies of the source, targets in another
language (of `--other`, where it has the source), targets of which half of the
words are the source's, and targets with another number. `prepare` prepares that
without filters and with all of them. Then each filter is asked about each pair,
by the functions that `prepare` has: recall is the share of a kind that it
drops. "As it came" is the corpus itself, some of which is bad, too; so
precision, the dirt among what is dropped, is a lower bound.

With `--bleu` a model is trained on each of the two, and on the corpus without
the dirt, and scored on `--dev`. An interrupted call goes on where it was
(`steps.py`). The last thing printed is a table in Markdown.
"""

import argparse
import dataclasses
import os
import pathlib
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

import numpy as np

from keras_transformer.config.data import FILTERS
from keras_transformer.data.corpus import read_pairs
from scripts.benchmarks import command, steps
from scripts.benchmarks.filters.dirt import KINDS, make_dirt

_CLEAN = "as it came"
_QUICK = {"pairs": 3000, "epochs": 1, "preset": "demo"}
_QUICK_DEV = 200  # pairs
_SEED = 1
_TOGETHER = 1000  # pairs that are tokenized at a time


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; the exit status."""
    options = command.parse(_parser(), arguments, _QUICK)
    if options.bleu and not options.dev:
        command.say("filters: --bleu scores on --dev. Accepted: both")
        return 2
    if options.quick:
        options.out = options.out / "quick"
    options.out.mkdir(parents=True, exist_ok=True)
    if options.quick and options.dev:
        scored = [*read_pairs([options.dev])][:_QUICK_DEV]
        options.dev = options.out / "dev.tsv"
        steps.write_rows(options.dev, scored)
    rows = _rows(options)
    data = {name: options.out / name for name in ("dirty", "filtered")}
    _prepare(options, data["dirty"], [])
    chosen = ",".join(FILTERS)
    _prepare(options, data["filtered"], [f"--set=data.filters=[{chosen}]"])
    kinds = np.array([kind for kind, *_ in rows])
    dropped = _dropped(rows, data["dirty"])
    dropped["all"] = np.any([*dropped.values()], axis=0)
    table = [
        [kind, f"{(kinds == kind).sum():,}"]
        + [_percent(mask[kinds == kind]) for mask in dropped.values()]
        for kind in (*KINDS, _CLEAN)
        if kind in kinds
    ]
    is_dirt = kinds != _CLEAN
    precisions = [_percent(is_dirt[mask]) for mask in dropped.values()]
    table.append(["precision", "", *precisions])
    print(command.table(["pairs", "number", *dropped], table))
    if options.bleu:
        print("\n" + _scores(options, data))
    if options.quick:
        command.say(f"quick: {command.QUICK_NOTE}")
    return 0


def _rows(options):
    """(kind, source, target) of all pairs; written to files, too."""
    pairs = list(dict.fromkeys(read_pairs([options.train])))
    pairs = [pair for pair in pairs if all(text.strip() for text in pair)]
    pairs = pairs[: options.pairs or None]
    others = dict(read_pairs([options.other])) if options.other else {}
    dirt = make_dirt(pairs, others, options.share, _SEED)
    steps.write_rows(options.out / "clean.tsv", pairs)
    steps.write_rows(options.out / "dirt.tsv", [row[1:] for row in dirt])
    return [(_CLEAN, *pair) for pair in pairs] + dirt


def _prepare(options, out, words, files=("clean", "dirt")):
    if out.exists():
        return
    trained = [options.out / f"{name}.tsv" for name in files]
    words = [f"--source-language={options.source_language}", *words]
    words += [f"--target-language={options.target_language}"]
    words += ["--dev", options.dev] if options.dev else []
    words += options.quick * ["--set=data.max_length=60"]
    steps.run(["prepare", "--train", *trained, "--out", out, *words])


def _dropped(rows, folder):
    """What each filter drops: bool `(N,)` of the rows, by name."""
    from keras_transformer.data.alignment import AlignmentModel
    from keras_transformer.data.cleaning import (
        ALIGNMENT,
        check_filters,
        text_filters,
    )
    from keras_transformer.data.prepared import PreparedData
    from keras_transformer.data.selection import pair_keys

    data = PreparedData.load(folder)
    pairs = [(source, target) for _, source, target in rows]
    dropped = {}
    for name in FILTERS:
        config = dataclasses.replace(data.config, filters=(name,))
        check_filters(config)
        for passes in text_filters(config).values():
            dropped[name] = ~np.array([*map(passes, pairs)], bool)
    order = np.argsort(pair_keys(pairs, data.config.seed)["shuffle_key"])
    tokenizers = data.source_tokenizer, data.target_tokenizer
    longest = data.config.max_length
    model = AlignmentModel.learn(
        (pairs[i] for i in order), *tokenizers, longest
    )
    command.say(f"alignment: limit {model.limit:.3f}")
    scores = _alignment_scores(model, pairs, tokenizers)
    dropped[ALIGNMENT] = scores < model.limit
    return dropped


def _alignment_scores(model, pairs, tokenizers):
    from keras_transformer.data.records import Ids
    from keras_transformer.text.tokenizer import encoded

    scores = []
    for first in range(0, len(pairs), _TOGETHER):
        columns = zip(*pairs[first : first + _TOGETHER], strict=True)
        sides = [
            Ids.of(tokenizer.tokenize(encoded(texts)))
            for tokenizer, texts in zip(tokenizers, columns, strict=True)
        ]
        scores.append(model.scores(*sides))
    return np.concatenate(scores)


def _percent(mask):
    return f"{100 * mask.mean():.1f} %" if len(mask) else ""


def _scores(options, data):
    """A table of BLEU and chrF after training on each."""
    data["without the dirt"] = options.out / "clean"
    _prepare(options, data["without the dirt"], [], ["clean"])
    rows = []
    for name, folder in data.items():
        run = options.out / f"{folder.name}-run"
        words = [f"--preset={options.preset}"]
        words += [f"--set={setting}" for setting in options.set]
        words += [f"--epochs={options.epochs}"] if options.epochs else []
        steps.train(folder, run, words)
        result = options.out / f"{folder.name}.json"
        rows.append([name, *steps.evaluate(run, options.dev, result)])
    return command.table(["trained on", "BLEU", "chrF", "dev loss"], rows)


def _parser():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--train", required=True, help="corpus, TSV")
    add("--other", help="TSV of its sources in a third language")
    add("--source-language", required=True)
    add("--target-language", required=True)
    add("--dev", help="TSV that is scored")
    add("--out", required=True, type=pathlib.Path)
    add("--share", type=float, default=0.3, help="of dirt (default: 0.3)")
    add("--pairs", type=int, help="of the corpus (default: all)")
    add("--bleu", action="store_true", help="train models, too")
    add("--preset", default="tatoeba", help="of the models")
    add("--epochs", type=int, help="of them (default: the preset's)")
    add("--set", nargs="+", default=[], help="settings of the trainings")
    add("--quick", action="store_true", help=command.QUICK_NOTE)
    return parser


if __name__ == "__main__":
    sys.exit(main())
