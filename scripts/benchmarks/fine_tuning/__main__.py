#!/usr/bin/env python3
"""Trains an imported model further, and tabulates what that is worth.

    .venv/bin/python scripts/benchmarks/fine_tuning --python hf/bin/python \\
        --train train.tsv --dev dev.tsv --out runs/fine-tuning

Every other pair of the corpus trains a Marian model by transformers, in the
environment of `--python` (`scripts/fixtures/marian_trained.py` says which it
is). It is imported, and trained further on every tenth pair of the rest with
the preset `finetune`, once with each rate. Another model is trained on these
pairs alone. Of these pairs, a tenth is the dev set of the training; the dev set
of the corpus only scores. Targets are in simplified Chinese. An interrupted
call goes on where it was (`steps.py`). The last thing printed is a table in
Markdown.
"""

import argparse
import pathlib
import shlex
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

from keras_transformer.presets import preset
from scripts.benchmarks import command, page_parts, steps

_ROOT = pathlib.Path(__file__).resolve().parents[3]
_COLUMNS = ("model", "BLEU", "chrF", "dev loss")
_RATE = preset("finetune").training.learning_rate
_ALONE_WARMUP = 100
_QUICK = {"pairs": 2000, "epochs": 2, "alone_epochs": 2}


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; the exit status."""
    options = command.parse(_parser(), arguments, _QUICK)
    corpus = steps.begin(options, "fine_tuning")
    if corpus is None:
        return 2
    _split(*corpus, options.out, options.pairs)
    rows = [_imported(options)]
    rows += [_trained_further(options, rate) for rate in options.rates]
    rows.append(_alone(options))
    print(page_parts.table(_COLUMNS, rows))
    if options.quick:
        command.say(f"quick: {command.QUICK_NOTE}")
    return 0


def _split(train, dev, out, pairs):
    """Writes what trains the first model, what trains it further, and dev."""
    corpus = _simplified(steps.read_pairs(train)[: pairs or None])
    steps.write_rows(out / "half.tsv", corpus[::2])
    steps.write_rows(out / "tenth.tsv", corpus[1::20])
    scored = steps.read_pairs(dev)[: pairs and pairs // 10]
    steps.write_rows(out / "dev.tsv", _simplified(scored))


def _simplified(pairs):
    import opencc

    convert = opencc.OpenCC("t2s").convert
    return [(source, convert(target)) for source, target in pairs]


def _imported(options):
    """Trains and imports the Marian model; its row of the table."""
    out = options.out
    if not (out / "marian" / "config.json").is_file():
        words = [options.python, "-m", "scripts.fixtures.marian_trained"]
        words += ["--train", out / "half.tsv", "--out", out / "marian"]
        words += [f"--epochs={options.epochs}"]
        words = [str(word) for word in words]
        command.say(shlex.join(words))
        subprocess.run(words, cwd=_ROOT, check=True)
    if not (out / "imported").exists():
        words = ["import", "--from", out / "marian", "--out", out / "imported"]
        steps.run([*words, "--positions", "sinusoidal"])
    return ["imported, trained on half of the corpus", *_score(out, "imported")]


def _trained_further(options, rate):
    """A row of the table."""
    out, name = options.out, f"further-{rate:g}"
    _prepare(out, "tenth", ["--tokenizers", out / "imported"])
    words = ["--from", out / "imported", "--preset=finetune"]
    if rate != _RATE:
        words += ["--set", f"training.learning_rate={rate:g}"]
    steps.train(out / "tenth", out / name, words)
    return [f"trained further, rate {rate:g}", *_score(out, name)]


def _alone(options):
    """A row of the table."""
    out = options.out
    words = ["--source-language=en", "--target-language=zh"]
    _prepare(out, "tenth-alone", [*words, "--preset", options.preset])
    words = ["--preset", options.preset, "--epochs", options.alone_epochs]
    # The preset's warm-up is longer than the whole training.
    words += ["--set", f"training.warmup_steps={_ALONE_WARMUP}"]
    steps.train(out / "tenth-alone", out / "alone", words)
    return ["trained on the same pairs alone", *_score(out, "alone")]


def _prepare(out, name, words):
    if not (out / name).exists():
        words = ["--train", out / "tenth.tsv", "--dev", "0.1", *words]
        steps.run(["prepare", *words, "--out", out / name])


def _score(out, name):
    return steps.evaluate(out / name, out / "dev.tsv", out / f"{name}.json")


def _parser():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--train", help="TSV of English and Chinese; none: Tatoeba's at hand")
    add("--dev", help="TSV that is scored")
    add("--out", required=True, type=pathlib.Path)
    add(
        "--python",
        default=sys.executable,
        help="interpreter with torch and transformers",
    )
    add("--epochs", type=int, default=30, help="of the Marian model")
    add(
        "--rates",
        type=float,
        nargs="+",
        default=[_RATE],
        help="of the further training (default: the preset's)",
    )
    add("--preset", default="small", help="of the model on few pairs alone")
    add("--alone-epochs", type=int, default=50, help="of that model")
    add("--pairs", type=int, help="of the corpus, a tenth as many scored")
    add("--quick", action="store_true", help=command.QUICK_NOTE)
    return parser


if __name__ == "__main__":
    sys.exit(main())
