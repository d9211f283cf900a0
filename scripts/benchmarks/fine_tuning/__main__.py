#!/usr/bin/env python3
"""Trains an imported model further, and tabulates what that is worth.

    .venv/bin/python scripts/benchmarks/fine_tuning --python hf/bin/python \\
        --train train.tsv --dev dev.tsv --out runs/fine-tuning

Half of the corpus trains a Marian model by transformers, in the environment of
`--python` (`scripts/fixtures/marian_trained.py` says which it is): every other
pair, or with `--half short` those with the shorter sources, so that the rest is
of another kind. It is imported, and trained further on every tenth pair of the
rest with the preset `finetune`, once with each rate and each fraction of the
imported weights that is kept. Another model is trained on these pairs alone. Of
these pairs, a tenth is the dev set of the training; the dev set of the corpus
only scores. So do the pairs that no training has seen: the rest of the corpus,
without those whose source or target, by its sentence key, is one that was
trained on. Targets are in simplified Chinese.

With `--general general.tsv --general-dev general-dev.tsv` it says what a model
forgets: one is trained on these pairs with `--preset`, and further on all of
`--train`, with each rate, each fraction, and each share of the general pairs
mixed in (`--mix`). Both dev sets score. With the general files in place of the
others it says so of the way back.

BLEU and chrF come with sacreBLEU's 95 % interval (bootstrap, 1,000 resamples)
and, in the column behind, the p-value of the difference to the imported model
(two-sided paired approximate randomisation, 10,000 trials; Riezler & Maxwell
2005). Both speak of other sentences of the kind, not of other seeds of the
training. An interrupted call goes on where it was (`steps.py`). The last thing
printed is a table in Markdown.
"""

import argparse
import itertools
import pathlib
import shlex
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

from keras_transformer.config.presets import preset
from keras_transformer.data.corpus import read_pairs
from keras_transformer.data.selection import sentence_keys
from keras_transformer.evaluation.significance import (
    RANDOMISATION,
    Resampling,
    compare,
    p_value_text,
)
from keras_transformer.languages import is_simplified_chinese
from scripts.benchmarks import command, steps

_ROOT = pathlib.Path(__file__).resolve().parents[3]
_SETS = "dev", "unseen"
_COLUMNS = ("model", "dev loss", "BLEU", "p", "chrF", "p")
_PRESET = preset("finetune").training
_ALONE_WARMUP = 100
_RESAMPLING = Resampling()
_QUICK = {"pairs": 1000, "epochs": 2, "alone_epochs": 2, "preset": "demo"}


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; the exit status."""
    options = command.parse(_parser(), arguments, _QUICK)
    corpus = steps.begin(options, "fine_tuning")
    if corpus is None:
        return 2
    if options.general:
        _copy(*corpus, options)
        other, rows = "general", [_general(options)]
    else:
        _split(*corpus, options)
        other, rows = "unseen pairs", [_imported(options)]
    settings = itertools.product(options.rates, options.fractions, options.mix)
    rows += [_trained_further(options, *values) for values in settings]
    rows.append(_alone(options))
    columns = [*_COLUMNS, f"BLEU, {other}", "p", f"chrF, {other}", "p"]
    print(command.table(columns, _with_scores(rows, options)))
    if options.quick:
        command.say(f"quick: {command.QUICK_NOTE}")
    return 0


def _copy(train, dev, options):
    """Writes the same files as `_split`, of two corpora."""
    files = {
        "half": options.general,
        "tenth": train,
        "dev": dev,
        "unseen": options.general_dev,
    }
    for name, path in files.items():
        pairs = list(read_pairs([path]))
        if options.pairs:
            pairs = pairs[: options.pairs // (10 if name in _SETS else 1)]
        _write(options.out, name, _simplified(pairs, options))


def _write(out, name, pairs):
    steps.write_rows(out / f"{name}.tsv", pairs)
    if name in _SETS:
        sources = [[source] for source, _ in pairs]
        steps.write_rows(out / f"{name}.source", sources)


def _split(train, dev, options):
    """Writes what trains the models and what scores them."""
    out, pairs = options.out, options.pairs
    corpus = _simplified(steps.read_pairs(train)[: pairs or None], options)
    half, rest = _halves(corpus, options.half)
    tenth = rest[::10]
    _write(out, "half", half)
    _write(out, "tenth", tenth)
    # The tenth, which is among the others, shares both sides with itself.
    unseen = _unseen(rest, [*half, *tenth])
    scored = steps.read_pairs(dev)[: pairs and pairs // 10]
    _write(out, "dev", _simplified(scored, options))
    _write(out, "unseen", unseen)


def _halves(corpus, half):
    """The pairs of the imported model, and the others."""
    if half == "alternate":
        return corpus[::2], corpus[1::2]
    corpus = sorted(corpus, key=lambda pair: len(pair[0].split()))
    middle = (len(corpus) + 1) // 2
    return corpus[:middle], corpus[middle:]


def _unseen(pairs, trained):
    """Those that share neither side with a pair that was trained on."""
    sides = [set(sentence_keys(side)) for side in zip(*trained, strict=True)]
    keys = zip(*map(sentence_keys, zip(*pairs, strict=True)), strict=True)
    return [
        pair
        for pair, both in zip(pairs, keys, strict=True)
        if not any(key in side for key, side in zip(both, sides, strict=True))
    ]


def _simplified(pairs, options):
    if not is_simplified_chinese(options.target_language):
        return pairs
    import opencc

    convert = opencc.OpenCC("t2s").convert
    return [(source, convert(target)) for source, target in pairs]


def _imported(options):
    """Trains and imports the Marian model; what it is, its name, dev loss."""
    out = options.out
    if not (out / "marian" / "config.json").is_file():
        words = [options.python, "-m", "scripts.fixtures.marian_trained"]
        words += ["--train", out / "half.tsv", "--out", out / "marian"]
        words += [f"--epochs={options.epochs}"]
        words = [str(word) for word in words]
        command.say(shlex.join(words))
        subprocess.run(words, cwd=_ROOT, check=True)
    if not (out / "imported").exists():
        words = ["import", out / "marian", "--out", out / "imported"]
        steps.run([*words, "--positions", "sinusoidal"])
    return _scored(out, "imported", "imported, trained on half of the corpus")


def _general(options):
    """Trains the general model; what it is, its name, dev loss."""
    out = options.out
    _prepare(options, "general-data", _languages(options), ["half.tsv"])
    words = ["--preset", options.preset, "--epochs", options.epochs]
    steps.train(out / "general-data", out / "imported", words)
    return _scored(out, "imported", "trained on the general pairs")


def _trained_further(options, rate, fraction, mix):
    """What the model is, its name, dev loss."""
    out, name = options.out, f"further-{rate:g}-{fraction:g}"
    data, files = "tenth", ["tenth.tsv"]
    what = f"trained further, rate {rate:g}, initial fraction {fraction:g}"
    if mix:
        data = f"tenth-{mix:g}"
        files.append(f"half.tsv*{mix:g}")
        name += f"-{mix:g}"
        what += f", general pairs times {mix:g}"
    _prepare(options, data, ["--tokenizers", out / "imported"], files)
    words = ["--from", out / "imported", "--preset=finetune"]
    words += [f"--epochs={options.alone_epochs}"] if options.quick else []
    if rate != _PRESET.learning_rate:
        words += ["--set", f"training.learning_rate={rate:g}"]
    if fraction != _PRESET.initial_fraction:
        words += ["--set", f"training.initial_fraction={fraction:g}"]
    steps.train(out / data, out / name, words)
    return _scored(out, name, what)


def _alone(options):
    """What the model is, its name, dev loss."""
    out = options.out
    words = ["--preset", options.preset, *_languages(options)]
    _prepare(options, "tenth-alone", words)
    words = ["--preset", options.preset, "--epochs", options.alone_epochs]
    # The preset's warm-up is longer than the whole training.
    words += ["--set", f"training.warmup_steps={_ALONE_WARMUP}"]
    steps.train(out / "tenth-alone", out / "alone", words)
    return _scored(out, "alone", "trained on the same pairs alone")


def _prepare(options, name, words, files=("tenth.tsv",)):
    out = options.out
    if not (out / name).exists():
        words = ["--train", *(out / file for file in files), *words]
        words += options.quick * ["--set=data.max_length=60"]
        steps.run(["prepare", *words, "--dev", "0.1", "--out", out / name])


def _languages(options):
    return [
        f"--source-language={options.source_language}",
        f"--target-language={options.target_language}",
    ]


def _scored(out, name, what):
    """What the model is, its name, dev loss; its translations are written."""
    *_, loss = steps.evaluate(out / name, out / "dev.tsv", out / f"{name}.json")
    for scored in _SETS:
        translations = _translations(out, name, scored)
        if not translations.is_file():
            words = ["translate", "--run", out / name]
            words += ["--input", out / f"{scored}.source"]
            steps.run([*words, "--output", translations])
    return what, name, loss


def _translations(out, name, scored):
    return out / f"{name}.{scored}.txt"


def _with_scores(models, options):
    """The rows of the table; others are compared with the first model."""
    out = options.out
    rows = [[what, loss] for what, _, loss in models]
    for scored in _SETS:
        pairs = steps.read_pairs(out / f"{scored}.tsv")
        systems = {
            name: _read_lines(_translations(out, name, scored))
            for _, name, _ in models
        }
        compared = compare(
            systems,
            [target for _, target in pairs],
            options.target_language,
            tests=[RANDOMISATION],
            resampling=_RESAMPLING,
        )
        for row, system in zip(rows, compared.systems, strict=True):
            row += _cells(system)
    return rows


def _read_lines(path):
    return path.read_text("utf-8").split("\n")[:-1]


def _cells(system):
    """BLEU and chrF, each with the p-value behind it."""
    for name in ("bleu", "chrf"):
        low, high = getattr(system, f"{name}_interval")
        yield f"{getattr(system, name):.1f} ± {(high - low) / 2:.1f}"
        p_values = getattr(system, f"{name}_p_values").values()
        yield "".join(map(p_value_text, p_values))


def _parser():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--train", help="TSV; none: Tatoeba's, English to Chinese, at hand")
    add("--dev", help="TSV that is scored")
    add("--out", required=True, type=pathlib.Path)
    add(
        "--python",
        default=sys.executable,
        help="interpreter with torch and transformers",
    )
    add(
        "--half",
        choices=("alternate", "short"),
        default="alternate",
        help="the pairs of the imported model: every other one, or those of "
        "the shorter sources (default: alternate)",
    )
    add("--epochs", type=int, default=30, help="of the first model")
    add(
        "--rates",
        type=float,
        nargs="+",
        default=[_PRESET.learning_rate],
        help="of the further training (default: the preset's)",
    )
    add(
        "--fractions",
        type=float,
        nargs="+",
        default=[_PRESET.initial_fraction],
        help="of the imported weights in those of the model that was trained "
        "further (default: the preset's)",
    )
    add("--source-language", default="en")
    add("--target-language", default="zh")
    add("--general", help="TSV that a model is trained on first")
    add("--general-dev", help="TSV of such pairs that is scored")
    add(
        "--mix",
        type=float,
        nargs="+",
        default=[0],
        help="weights of the general pairs in further training (default: 0)",
    )
    add(
        "--preset",
        default="tatoeba",
        help="of the general model, and of that on few pairs alone",
    )
    add("--alone-epochs", type=int, default=50, help="of that model")
    add("--pairs", type=int, help="of the corpus, a tenth as many scored")
    add("--quick", action="store_true", help=command.QUICK_NOTE)
    return parser


if __name__ == "__main__":
    sys.exit(main())
