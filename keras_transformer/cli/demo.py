"""Runs all steps on the built-in English-Chinese corpus, without any files.

Prepares the corpus, trains a small model, evaluates it on held-out sentences,
exports it, and translates through the export.

example:
  keras-transformer demo
"""

import argparse
import os
import pathlib
import shlex
import shutil
import sys
import time

from keras_transformer.api.exporting import export
from keras_transformer.api.loading import load
from keras_transformer.api.runs import TrainingRequest
from keras_transformer.api.training import best_epoch, train_run
from keras_transformer.cli.console import (
    Progress,
    Stages,
    load_tensorflow,
    say,
    table,
    visible,
)
from keras_transformer.cli.options import add_options
from keras_transformer.cli.train import training_progress
from keras_transformer.config.presets import preset
from keras_transformer.errors import InputError
from keras_transformer.system.files import write_text
from keras_transformer.system.leftovers import sweep

SHOWN = 10  # held-out sentences translated at the end


def add_arguments(parser: argparse.ArgumentParser) -> None:
    work = (
        "for data and run; an earlier demo's is replaced (default: runs/demo)"
    )
    add_options(parser, {"--work FOLDER": work}, default="runs/demo")
    out = "for the export (default: saved_models/demo)"
    add_options(parser, {"--out FOLDER": out}, default="saved_models/demo")
    add_options(
        parser,
        {
            "--epochs N": "default: the preset's",
            "--sentences N": "training pairs of the built-in corpus (default: "
            "all)",
        },
        type=int,
    )


def run(arguments: argparse.Namespace) -> None:
    started = time.monotonic()
    epochs = arguments.epochs
    change = {} if epochs is None else {"training": {"epochs": epochs}}
    request = TrainingRequest("demo", [(change, "--epochs")])
    _ = request.config  # Refuses wrong values at once.
    load_tensorflow()
    from keras_transformer.evaluation.significance import score_text
    from keras_transformer.exporting.registry.version_folders import (
        choose_version,
    )

    choose_version(arguments.out, None)  # Refuses a wrong folder at once.
    work = _clean(pathlib.Path(arguments.work))
    say("reading the built-in corpus")
    corpus = _write_corpus(work, arguments.sentences)
    prepared = _prepare(work)
    say(f"prepared {prepared.counts['train']:,} pairs")
    run = train_run(
        prepared, work / "run", request, observe=training_progress, say=say
    )
    say(best_epoch(run))
    evaluation = _evaluate(run, corpus.test)
    page = _write_report(work, run, evaluation)
    texts = [source for source, _ in _spread(corpus.dev, SHOWN)]
    report = export(run, arguments.out, warmup_texts=texts, progress=say)
    seconds = time.monotonic() - started
    _print_translations(report.path, _spread(corpus.test, SHOWN))
    held_out = prepared.counts["dev"] + len(corpus.test)
    parameters = run.build_model().count_params()
    rows = [
        (
            "sentences",
            f"{prepared.counts['train']:,} + {held_out:,} held out",
        ),
        ("parameters", f"{parameters:,}"),
        ("seconds", f"{seconds:.0f}"),
        ("BLEU", score_text(evaluation.bleu, evaluation.bleu_interval)),
        ("", evaluation.bleu_signature),
        ("chrF", score_text(evaluation.chrf, evaluation.chrf_interval)),
        ("", evaluation.chrf_signature),
        ("report", str(page)),
        ("export", str(report.path)),
    ]
    command = _command()
    translate = f"translate --saved-model {shlex.quote(arguments.out)}"
    print(
        f"\n{table(rows)}\n\nNext:\n"
        f'  echo "She has two cats." | {command} {visible(translate)}\n'
        f"  {command} prepare --help"
    )


def _print_translations(path, pairs):
    """Translates through the export; shows the reference where it differs."""
    translations = load(path).translate([source for source, _ in pairs])
    print(f"\n{len(pairs)} held-out sentences through {visible(f'{path}')}:\n")
    for (source, reference), translation in zip(
        pairs, translations, strict=True
    ):
        differs = translation != reference
        note = f"   (reference: {reference})" if differs else ""
        print(f"  {source}\n    {translation}{note}")


def _command():
    """The command's name, as a shell in the current folder finds it."""
    name = "keras-transformer"
    beside = pathlib.Path(sys.executable).with_name(name)
    if shutil.which(name) or not beside.exists():
        return name
    return shlex.quote(os.path.relpath(beside))


def _clean(work):
    """Makes an empty work folder; removes one only if it is a demo's."""
    from keras_transformer.training.ownership import being_trained

    mark = work / "built-in corpus"
    if work.exists():
        sweep(work)  # Leftovers of an earlier demo that was killed.
        written = {mark.name, "data", "run", "report.html"}
        names = (
            {p.name for p in work.iterdir()} if work.is_dir() else {"a file"}
        )
        if names - written or (names and mark.name not in names):
            other = min(names - written, default="no built-in corpus")
            raise InputError(
                f"{work}: holds something that is not a demo's ({other}). "
                "Choose another --work"
            )
        with being_trained(work / "run"):
            shutil.rmtree(work)
    mark.mkdir(parents=True)
    return work


def _write_corpus(work, size):
    from keras_transformer.data.demo import load_demo_corpus

    options = {} if size is None else {"train_size": size}
    corpus = load_demo_corpus(**options)
    for name, pairs in corpus._asdict().items():
        lines = [f"{source}\t{target}\n" for source, target in pairs]
        path = work / "built-in corpus" / f"{name}.tsv"
        path.write_text("".join(lines), encoding="utf-8")
    return corpus


def _prepare(work):
    from keras_transformer.data.prepare import prepare

    corpus = work / "built-in corpus"
    with Stages("pairs") as stages:
        return prepare(
            [corpus / "train.tsv"],
            work / "data",
            preset("demo").data,
            dev=corpus / "dev.tsv",
            progress=stages,
        )


def _evaluate(run, pairs):
    from keras_transformer.api.evaluation import evaluate

    with Progress("evaluating", len(pairs), "sentences") as progress:
        evaluation = evaluate(run, pairs, progress=progress.advance)
    run.record_scores("test", evaluation.figures())
    return evaluation


def _write_report(work, run, evaluation):
    from keras_transformer.evaluation.report import Report, report_page
    from keras_transformer.evaluation.scoring import Scoring

    scoring, texts, data = Scoring(), evaluation.texts, run.config.data
    systems = {str(run.folder): texts.translations}
    compared = scoring.compare(systems, texts.references, data.target_language)
    report = Report(
        compared, systems, texts, scoring, data, evaluation.truncated
    )
    path = work / "report.html"
    write_text(path, report_page(report))
    return path


def _spread(pairs, count):
    """`count` of the pairs, evenly spread from the first to the last."""
    return pairs[:: max(1, len(pairs) // count)][:count]
