#!/usr/bin/env python3
"""Trains with and without back-translations, and tabulates their worth.

    .venv/bin/python scripts/benchmarks/back_translation --train train.tsv \\
        --dev dev.tsv --out runs/back-translation

Every other pair of the corpus loses its source: what is left of it is text in
the target language. The rest trains a model of the other direction, which
translates that text back, with sampling. Then three models are trained and
scored on the dev set: on the rest alone, on the rest and the tagged
back-translations, and on the whole corpus, which is what real sources would
have given. With `--only whole added` nothing is hidden: a model of the other
direction learns from all pairs, translates all their targets back, and these
are added to the pairs.

Trained on twice as many pairs, a model gets half as many epochs, as many
updates, and is the mean of half as many of the last ones. Each is trained once
a seed; the models of the other direction have the first seed alone. A p-value
is that of the difference to another model of the same seed, by paired
approximate randomisation. With `--jobs` several are trained at a time, one
thread each, whose minutes are then rough. An interrupted call goes on where it
was (`steps.py`). The last thing printed is a table in Markdown and, below it,
the means of the seeds with 95 % intervals by Student's t and the p-values of
their differences by Welch's test.
"""

import argparse
import concurrent.futures
import dataclasses
import itertools
import json
import pathlib
import shlex
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

from keras_transformer.config.presets import preset
from keras_transformer.evaluation.significance import (
    RANDOMISATION,
    p_value_text,
)
from scripts.benchmarks import command, steps
from scripts.benchmarks.ablations.differences import (
    difference_p_value,
    mean_interval,
)

_HALVES = {"half": 1, "whole": 2}
_QUICK = {"pairs": 2000, "epochs": 2, "preset": "demo", "seeds": [1]}
_COLUMNS = ("trained on", "seed", "BLEU", "chrF", "dev loss", "beside", "p")


@dataclasses.dataclass(frozen=True)
class _Model:
    """What is trained and scored.

    Attributes:
        what: it is trained on, in words.
        beside: the model that it is compared with; None: with none.
        pairs: the real ones, `half` or `whole`; a model of the other direction
            learns from the same ones.
        made: whether back-translations are added: of the other half's targets,
            or of all of them.
    """

    what: str
    beside: str | None
    pairs: str
    made: bool = False

    @property
    def halves(self) -> int:
        """How many halves of the corpus an epoch has."""
        return _HALVES[self.pairs] * (1 + self.made)


_MODELS = {
    "half": _Model("half of the pairs", None, "half"),
    "mixed": _Model(
        "these and back-translations of the other targets", "half", "half", True
    ),
    "whole": _Model("all pairs", "mixed", "whole"),
    "added": _Model(
        "these and back-translations of all targets", "whole", "whole", True
    ),
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
    # In the order of the table, in which a model follows that beside it.
    options.only = [name for name in _MODELS if name in options.only]
    chosen = {name: _MODELS[name] for name in options.only}
    made = sorted({model.pairs for model in chosen.values() if model.made})
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(lambda pairs: _translate_back(pairs, options), made))
        for name in chosen:
            _prepare_model(name, options)
        jobs = itertools.product(options.seeds, chosen)
        list(pool.map(lambda job: _train_model(*job, options), jobs))
    scores = {name: _measure(name, options) for name in chosen}
    rows = itertools.chain.from_iterable(scores.values())
    print(command.table(_COLUMNS, rows))
    if len(options.seeds) > 1:
        print("\n" + "\n".join(_mean(name, options) for name in chosen))
    if options.quick:
        command.say(f"quick: {command.QUICK_NOTE}")
    return 0


def _split(train, dev, out, pairs):
    """Writes the files that the models are trained on and scored by."""
    corpus = steps.read_pairs(train)[: pairs or None]
    scored = steps.read_pairs(dev)[: pairs and pairs // 10]
    real = {"half": corpus[::2], "whole": corpus}
    hidden = {"half": corpus[1::2], "whole": corpus}
    for name, known in real.items():
        steps.write_rows(out / f"{name}.tsv", known)
        back = out / f"back-{name}.tsv"
        steps.write_rows(back, [pair[::-1] for pair in known])
        targets = [[target] for _, target in hidden[name]]
        steps.write_rows(out / f"made-{name}.target", targets)
    steps.write_rows(out / "dev.tsv", scored)
    steps.write_rows(out / "back-dev.tsv", [pair[::-1] for pair in scored])


def _translate_back(pairs, options):
    """Makes sources of targets, by a model that knows `pairs` reversed."""
    out = options.out
    back, made = f"back-{pairs}", out / f"made-{pairs}"
    data = [f"{out / back}.tsv"], out / "back-dev.tsv", out / f"{back}-data"
    _prepare(*data, options.languages[::-1])
    _train(data[-1], back, _HALVES[pairs], options.seeds[0], options)
    if not made.with_suffix(".source").is_file():
        words = ["translate-shards", "--run", out / f"{back}-run"]
        words += ["--shards=8", "--input", made.with_suffix(".target")]
        words += ["--output", made.with_suffix(".source")]
        steps.run([*words, *(f"--set=decoding.{d}" for d in options.decoding)])


def _prepare_model(name, options):
    """Prepares the pairs of a model, back-translations among them."""
    model, out = _MODELS[name], options.out
    corpora = [out / f"{model.pairs}.tsv"]
    if model.made:
        made = out / f"made-{model.pairs}"
        corpora.append(f"{made}.source,{made}.target{options.weight}#BT")
    words = [f"--preset={options.preset}"]
    data = out / f"{name}-data"
    _prepare(corpora, out / "dev.tsv", data, options.languages, words)


def _prepare(corpora, dev, data, languages, words=()):
    """Prepares a folder; without a preset, by the languages' tokenizers."""
    if data.exists():
        return
    words = ["prepare", "--train", *corpora, "--dev", dev, *words]
    for side, language in zip(("source", "target"), languages, strict=True):
        words.append(f"--{side}-language={language}")
    steps.run([*words, "--out", data])


def _train_model(seed, name, options):
    data, halves = options.out / f"{name}-data", _MODELS[name].halves
    _train(data, f"{name}-{seed}", halves, seed, options)


def _train(data, name, halves, seed, options):
    words = [f"--preset={options.preset}", f"--set=training.seed={seed}"]
    words.append(f"--epochs={max(1, options.epochs // halves)}")
    if averaged := preset(options.preset).training.average_epochs:
        averaged = max(1, averaged // halves)
        words.append(f"--set=training.average_epochs={averaged}")
    if options.jobs > 1:
        words.append("--set=training.threads=1")
    steps.train(data, options.out / f"{name}-run", [*words, *options.training])


def _measure(name, options):
    """Scores a model's seeds; a row of the table for each."""
    model, out, rows = _MODELS[name], options.out, []
    for seed in options.seeds:
        words = ["--output", out / f"{name}-{seed}.txt"]
        other = out / f"{model.beside}-{seed}.txt"
        if model.beside in options.only:
            words += ["--against", other]
        result = _result(name, seed, options)
        run = out / f"{name}-{seed}-run"
        scores = steps.evaluate(run, out / "dev.tsv", result, *words)
        compared = ["", ""]
        if others := json.loads(result.read_text("utf-8")).get("against"):
            p_value = others[0]["bleu_p_values"][RANDOMISATION]
            compared = [_MODELS[model.beside].what, p_value_text(p_value)]
        rows.append([model.what, seed, *scores, *compared])
    return rows


def _mean(name, options):
    """The mean of a model's seeds, and whether it differs from another's."""
    scores = _bleu(name, options)
    mean, half = mean_interval(scores)
    text = f"{_MODELS[name].what}: {mean:.1f} ± {half:.1f}"
    beside = _MODELS[name].beside
    if beside not in options.only:
        return text
    others = _bleu(beside, options)
    p_value = difference_p_value(scores, others, paired=False)
    return f"{text}, beside {_MODELS[beside].what} p {p_value_text(p_value)}"


def _bleu(name, options):
    files = (_result(name, seed, options) for seed in options.seeds)
    return [json.loads(path.read_text("utf-8"))["bleu"] for path in files]


def _result(name, seed, options):
    """The file of a model's scores; others where it is compared."""
    beside = _MODELS[name].beside
    compared = f"-{beside}" if beside in options.only else ""
    return options.out / f"{name}-{seed}{compared}.json"


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
        default=["temperature=1", "top_k=10"],
        metavar="KEY=VALUE",
        help="the search of the back-translations",
    )
    add("--weight", default="", help="of these, such as *0.5")
    add(
        "--only",
        nargs="+",
        choices=_MODELS,
        default=["half", "mixed", "whole"],
        help="the models; each is compared with the one before it",
    )
    add("--seeds", nargs="+", type=int, default=[1, 2, 3])
    add("--jobs", type=int, default=1, help="models trained at a time")
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
