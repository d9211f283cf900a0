#!/usr/bin/env python3
"""Trains with and without back-translations, and tabulates their worth.

    .venv/bin/python scripts/benchmarks/back_translation --train train.tsv \\
        --dev dev.tsv --out runs/back-translation

Every other pair of the corpus loses its source: what is left of it is text in
the target language. The rest trains a model of the other direction, which
translates that text back, with sampling. Then three models are trained and
scored on the dev set: on the rest alone, on the rest and the tagged
back-translations, and on the whole corpus, which is what real sources would
have given. The epochs of the second and the third are about two times as long,
so they get half as many: as many updates. An interrupted call goes on where it
was (`steps.py`). The last thing printed is a table in Markdown.
"""

import argparse
import pathlib
import shlex
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

from keras_transformer.presets import preset
from scripts.benchmarks import command, page_parts, steps

_BACK = "back"  # The model of the other direction.
_QUICK = {"pairs": 2000, "epochs": 2, "preset": "demo"}
_COLUMNS = ("trained on", "BLEU", "chrF", "dev loss")
_WHAT = {
    "half": "half of the pairs",
    "mixed": "these and back-translations of the other targets",
    "whole": "all pairs",
}


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; the exit status."""
    options = command.parse(_parser(), arguments, _QUICK)
    corpus = steps.begin(options, "back_translation")
    if corpus is None:
        return 2
    if not options.epochs:
        options.epochs = preset(options.preset).training.epochs
    _split(*corpus, options.out, options.pairs)
    _translate_back(options)
    rows = [_measure(name, options) for name in options.only]
    print(page_parts.table(_COLUMNS, rows))
    if options.quick:
        command.say(f"quick: {command.QUICK_NOTE}")
    return 0


def _split(train, dev, out, pairs):
    """Writes the files that the models are trained on and scored by."""
    corpus = steps.read_pairs(train)[: pairs or None]
    scored = steps.read_pairs(dev)[: pairs and pairs // 10]
    half = corpus[::2]
    steps.write_rows(out / "whole.tsv", corpus)
    steps.write_rows(out / "half.tsv", half)
    steps.write_rows(out / f"{_BACK}.tsv", [pair[::-1] for pair in half])
    steps.write_rows(out / "dev.tsv", scored)
    steps.write_rows(out / f"{_BACK}-dev.tsv", [pair[::-1] for pair in scored])
    targets = [[target] for _, target in corpus[1::2]]
    steps.write_rows(out / "mono.target", targets)


def _translate_back(options):
    """Makes `mono.source`, the sources of `mono.target`."""
    out = options.out
    languages = options.languages[::-1]
    _prepare(options, _BACK, [out / f"{_BACK}.tsv"], languages)
    _train(options, _BACK, options.epochs)
    if not (out / "mono.source").is_file():
        words = ["translate", "--run", out / f"{_BACK}-run", "--shards=8"]
        words += ["--input", out / "mono.target"]
        words += ["--output", out / "mono.source"]
        steps.run([*words, *(f"--decoding={d}" for d in options.decoding)])


def _measure(name, options):
    """Trains a model and scores it; a row of the table."""
    out = options.out
    corpora = [out / f"{name}.tsv"]
    epochs = options.epochs
    if name == "mixed":
        made = f"{out / 'mono.source'},{out / 'mono.target'}"
        corpora = [out / "half.tsv", f"{made}{options.weight}#BT"]
    if name != "half":
        epochs = max(1, epochs // 2)
    _prepare(options, name, corpora, options.languages)
    _train(options, name, epochs)
    run, result = out / f"{name}-run", out / f"{name}.json"
    return [_WHAT[name], *steps.evaluate(run, out / "dev.tsv", result)]


def _prepare(options, name, corpora, languages):
    data = options.out / f"{name}-data"
    if data.exists():
        return
    dev = f"{_BACK}-dev.tsv" if name == _BACK else "dev.tsv"
    words = ["prepare", "--train", *corpora, "--dev", options.out / dev]
    for side, language in zip(("source", "target"), languages, strict=True):
        words.append(f"--{side}-language={language}")
    if name != _BACK:  # Whose tokenizers are those of its languages.
        words.append(f"--preset={options.preset}")
    steps.run([*words, "--out", data])


def _train(options, name, epochs):
    words = [f"--preset={options.preset}", f"--epochs={epochs}"]
    data, run = options.out / f"{name}-data", options.out / f"{name}-run"
    steps.train(data, run, [*words, *options.training])


def _parser():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--train", help="TSV of sentence pairs; none: Tatoeba's at hand")
    add("--dev", help="TSV that is scored")
    add("--out", required=True, type=pathlib.Path)
    add("--languages", nargs=2, default=["en", "zh"], metavar="CODE")
    add("--preset", default="tatoeba")
    add("--epochs", type=int, help="of the half (default: the preset's)")
    add(
        "--decoding",
        nargs="*",
        default=["sampling=true", "top_k=10"],
        metavar="KEY=VALUE",
        help="the search of the back-translations",
    )
    add("--weight", default="", help="of these, such as *0.5")
    add("--only", nargs="+", choices=_WHAT, default=list(_WHAT))
    add("--pairs", type=int, help="of the corpus, a tenth as many scored")
    add(
        "--training",
        type=shlex.split,
        default="",
        metavar="=OPTIONS",
        help="more of train",
    )
    add("--quick", action="store_true", help=command.QUICK_NOTE)
    return parser


if __name__ == "__main__":
    sys.exit(main())
