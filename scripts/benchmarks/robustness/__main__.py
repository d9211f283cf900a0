#!/usr/bin/env python3
"""Scores models on a dev set whose text is changed as people's text differs.

    .venv/bin/python scripts/benchmarks/robustness --train train.tsv \\
        --dev dev.tsv --target-language zh --out runs/robustness

A model is trained for each value of `training.augment` (`--fractions`), or
`--runs` names models that are there. Each is scored on the dev set as it is,
and changed in each of the ways in which training changes pairs
(`data/augmentation.py`), all pairs in the same way: capitals and joined
sentences on both sides, typing errors in the sources alone. Two seeds of the
training differ, too: compare with that (`--seeds`). An interrupted call goes
on where it was (`steps.py`). The last thing printed is a table of BLEU in
Markdown.
"""

import argparse
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

from keras_transformer.data.corpus import read_pairs
from keras_transformer.languages import is_chinese, is_japanese
from scripts.benchmarks import command, steps

_QUICK = {
    "pairs": 1000,
    "epochs": 1,
    "preset": "demo",
    "fractions": [0, 0.3],
    "seeds": [1],
}
_SEED = 1


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; the exit status."""
    options = command.parse(_parser(), arguments, _QUICK)
    corpus = steps.begin(options, "robustness")
    if corpus is None:
        return 2
    train, dev = corpus
    sets = _changed_sets(options, dev)
    models = {str(path): path for path in options.runs or ()}
    if not models:
        models = _trained(options, train, sets["as it is"])
    rows = []
    for name, path in sets.items():
        row = [name]
        for model, run in models.items():
            result = f"{pathlib.Path(model).name}.{path.stem}.json"
            scores = steps.evaluate(run, path, options.out / result)
            row.append(scores[0])
        rows.append(row)
    print(command.table(["dev set", *models], rows))
    if options.quick:
        command.say(f"quick: {command.QUICK_NOTE}")
    return 0


def _changed_sets(options, dev):
    """Writes the dev sets; the file of each by what was done to it."""
    from keras_transformer.data.augmentation import CHANGES, changed

    pairs = list(read_pairs([dev]))[: options.pairs and options.pairs // 10]
    sets = {"as it is": pairs}
    for change in CHANGES:
        generator = random.Random(_SEED)
        sets[change] = [changed(pair, change, generator) for pair in pairs]
    sets["joined"] = _joined(options, pairs)
    paths = {}
    for name, changed_pairs in sets.items():
        paths[name] = options.out / f"dev-{name.replace(' ', '-')}.tsv"
        steps.write_rows(paths[name], changed_pairs)
    return paths


def _joined(options, pairs):
    """Two pairs in one."""
    languages = options.source_language, options.target_language
    spaces = [
        "" if is_chinese(language) or is_japanese(language) else " "
        for language in languages
    ]
    return [
        tuple(map(str.join, spaces, zip(one, two, strict=True)))
        for one, two in zip(pairs[::2], pairs[1::2], strict=False)
    ]


def _trained(options, train, dev):
    """Trains a run for each fraction and seed; them by name."""
    out = options.out
    steps.write_rows(
        out / "train.tsv", list(read_pairs([train]))[: options.pairs or None]
    )
    if not (out / "data").exists():
        words = ["prepare", "--train", out / "train.tsv", "--dev", dev]
        words += ["--source-language", options.source_language]
        words += ["--target-language", options.target_language]
        steps.run([*words, *options.prepare, "--out", out / "data"])
    runs = {}
    for fraction in options.fractions:
        for seed in options.seeds:
            name = f"augment {fraction:g}, seed {seed}"
            runs[name] = out / f"run-{fraction:g}-{seed}"
            words = [f"--preset={options.preset}"]
            words += [f"--set=training.augment={fraction:g}"]
            words += [f"--set=training.seed={seed}"]
            words += [f"--epochs={options.epochs}"] if options.epochs else []
            steps.train(out / "data", runs[name], words)
    return runs


def _parser():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--train", help="TSV; none: Tatoeba's, English to Chinese, at hand")
    add("--dev", help="TSV that is changed and scored")
    add("--out", required=True, type=pathlib.Path)
    add("--runs", nargs="+", type=pathlib.Path, help="score these, train none")
    add("--source-language", default="en")
    add("--target-language", default="zh")
    add("--fractions", type=float, nargs="+", default=[0, 0.1, 0.3])
    add("--seeds", type=int, nargs="+", default=[1, 2], help="of the training")
    add("--preset", default="tatoeba", help="of the models")
    add("--epochs", type=int, help="of them (default: the preset's)")
    add("--pairs", type=int, help="of the corpus, a tenth as many scored")
    add("--prepare", nargs=argparse.REMAINDER, default=[], help="its options")
    add("--quick", action="store_true", help=command.QUICK_NOTE)
    return parser


if __name__ == "__main__":
    sys.exit(main())
