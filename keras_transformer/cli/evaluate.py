"""Measures a model on a test set: cross-entropy, BLEU and chrF.

Cross-entropy is in nats per target token, end token counted, unsmoothed.
BLEU and chrF are sacreBLEU's, with their signatures and 95 % intervals by
bootstrap. Both sides are put into NFC, without soft hyphens and direction
marks, first: the sacrebleu command gives the same scores for references in
this form. --against tests whether another model's scores differ by more than
the choice of the sentences explains, and --report writes a page with all
results and the hardest sentences.

example:
  keras-transformer evaluate --run runs/en-zh --input test.tsv --json
  keras-transformer evaluate --run runs/b --against runs/a --input test.tsv
  keras-transformer evaluate --run runs/b --against runs/a --input test.tsv \\
      --report report.html
  keras-transformer evaluate --ctranslate2 ctranslate2/en-zh --input test.tsv
"""

import argparse
import dataclasses
import itertools
import json
import os
import pathlib
import sys

from keras_transformer.api.runs import run_config
from keras_transformer.cli.console import (
    Progress,
    check_outputs,
    load_tensorflow,
    output_file,
    table,
)
from keras_transformer.cli.options import (
    SEVERAL,
    add_ensemble_option,
    add_json_option,
    add_options,
    add_pairs_option,
    add_run_option,
    add_search_options,
    add_shortlist_option,
    add_weights_option,
    decoding_config,
    settings,
)
from keras_transformer.config import Config
from keras_transformer.data.corpus import CorpusFile
from keras_transformer.errors import InputError
from keras_transformer.system.machine import usable_cores


def add_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_mutually_exclusive_group(required=True)
    add_run_option(group)
    text = (
        "what `export --format ctranslate2` wrote; its cross-entropy is that "
        "of tokens that may be generated"
    )
    add_options(group, {"--ctranslate2 FOLDER": text})
    add_pairs_option(parser)
    add_weights_option(parser)
    add_ensemble_option(parser)
    add_shortlist_option(parser)
    add_search_options(parser, ("sentences",))
    _add_scoring_options(parser.add_argument_group("how it is scored"))
    _add_comparison_options(parser.add_argument_group("compared with others"))
    add_options(
        parser,
        {
            "--documents": "also score what is between two blank lines, "
            "translated as one text and sentence by sentence",
            "--output FILE": "gets the translations, a line for each pair; "
            "gzip if its name ends in .gz",
            "--report FILE": "gets an HTML page: scores by length, best and "
            "worst sentences, repetition",
        },
    )
    add_json_option(parser)


def _add_scoring_options(group):
    add_options(
        group,
        {
            "--tokenize NAME": "sacreBLEU's tokenizer for BLEU, such as 13a, "
            "intl, zh, char or none, for text that is tokenized (default: the "
            "language's)",
            "--lowercase": "score without regard to case, as lower-cased "
            "results are reported",
        },
    )
    add_options(
        group,
        {
            "--paired-bs-n N": "resamples of intervals and of the paired "
            "bootstrap (default: 1000; 0: no intervals)",
            "--seed N": "of what is drawn (default: 12345)",
        },
        type=int,
    )


def _add_comparison_options(group):
    others = (
        "other runs, searched with the same options, or files of translations, "
        "a line for each pair, whose Chinese is simplified where the "
        "references' is; tests are the paired bootstrap (Koehn 2004) and "
        "paired approximate randomisation (Riezler & Maxwell 2005)"
    )
    add_options(group, {"--against RUN|FILE": others}, default=[], **SEVERAL)
    trials = "trials of the paired approximate randomisation (default: 10000)"
    add_options(group, {"--paired-ar-n N": trials}, type=int)


def run(arguments: argparse.Namespace) -> None:
    _check_options(arguments)
    config = Config()
    if arguments.run:
        config = run_config(arguments.run, default=config)
    load_tensorflow(sentences=decoding_config(config, arguments).batch_size)
    from keras_transformer.api.evaluation import evaluate
    from keras_transformer.data.corpus import read_pairs
    from keras_transformer.evaluation.report import Report, report_page
    from keras_transformer.evaluation.scoring import is_measured

    model, options = _model(arguments)
    data = model.config.data
    pairs = list(read_pairs(arguments.input, languages=data.languages))
    measured = [is_measured(pair) for pair in pairs]
    sentences = sum(measured)
    if not sentences:
        names = ", ".join(arguments.input)
        raise InputError(f"{names}: blank, no sentence pair to evaluate on")
    tests, scoring = _tests(arguments), _scoring(arguments, sentences)
    others = [
        _other(name, model, measured, options.get("weights"))
        for name in arguments.against
    ]
    count = sentences * (1 + sum(isinstance(o, str) for o in others))
    with Progress("translating", count, "sentences") as progress:
        options |= {"scoring": scoring, "progress": progress.advance}
        evaluation = evaluate(
            model,
            pairs,
            **options,
            ensemble=arguments.ensemble,
            documents=arguments.documents,
        )
        systems = {_name(arguments): evaluation.texts.translations}
        for name, other in zip(arguments.against, others, strict=True):
            if isinstance(other, str):
                config = run_config(other)
                options["decoding"] = decoding_config(config, arguments)
                other = evaluate(other, pairs, **options).texts.translations
            systems[name] = other
    compared = None
    if arguments.report or others:
        compared = scoring.compare(
            systems,
            evaluation.texts.references,
            data.target_language,
            tests,
        )
    # Before the files, as the disk may be full.
    _print(evaluation, compared, arguments.json)
    sys.stdout.flush()
    if arguments.output:
        with output_file(arguments.output) as file:
            translations = iter(evaluation.texts.translations)
            for counts in measured:
                text = next(translations) if counts else ""
                file.write(" ".join(text.splitlines()) + "\n")
    if compared is not None and arguments.report:
        report = Report(
            compared,
            systems,
            evaluation.texts,
            scoring,
            data,
            evaluation.truncated,
        )
        with output_file(arguments.report) as file:
            file.write(report_page(report))


def _check_options(arguments):
    """Refuses options that don't fit together, and outputs that are inputs."""
    if arguments.weights and not arguments.run:
        raise InputError(
            "--weights goes with --run: an export has one set of weights"
        )
    if arguments.paired_ar_n is not None and not arguments.against:
        raise InputError("--paired-ar-n goes with --against")
    pairs = [*arguments.input, *filter(None, [arguments.shortlist])]
    files = [path for spec in pairs for path in CorpusFile.parse(spec).paths]
    check_outputs(
        [arguments.output, arguments.report], [*files, *arguments.against]
    )
    systems = [_name(arguments), *arguments.against]
    paths = list(map(os.path.normpath, systems))
    for name, path in zip(systems, paths, strict=True):
        if paths.count(path) > 1:
            raise InputError(
                f"--against: {name} is given {paths.count(path)} times. "
                "Accepted: other runs, and files of translations"
            )


def _name(arguments):
    """Name of the model; of an ensemble, those of all its runs."""
    name = arguments.run or arguments.ctranslate2
    return " + ".join([name, *arguments.ensemble])


def _tests(arguments):
    """The paired tests of the difference to others, if there are any."""
    from keras_transformer.evaluation.significance import TESTS

    return TESTS if arguments.against else ()


def _scoring(arguments, sentences):
    """The options' `Scoring`; refuses it before anything is translated."""
    from keras_transformer.evaluation.bleu_chrf import metrics
    from keras_transformer.evaluation.scoring import Scoring
    from keras_transformer.evaluation.significance import Resampling

    values = {
        "resamples": arguments.paired_bs_n,
        "trials": arguments.paired_ar_n,
        "seed": arguments.seed,
    }
    values = {k: v for k, v in values.items() if v is not None}
    resampling = None
    if values or arguments.against:
        resampling = Resampling(**values)
        resampling.check(sentences, _tests(arguments))
    metrics("en", arguments.tokenize)
    return Scoring(arguments.tokenize, arguments.lowercase, resampling)


def _other(name, model, measured, weights):
    """A run's folder, checked, or the translations in a file.

    Args:
        measured: for each pair, whether it counts.

    Raises:
        InputError: the path is neither, or doesn't fit the pairs.
    """
    from keras_transformer.data.corpus import read_lines
    from keras_transformer.evaluation.scoring import as_references
    from keras_transformer.languages import same_language
    from keras_transformer.training.run import Run

    if pathlib.Path(name).is_dir():
        run = Run.load(name)
        run.check_weights(weights or "best")
        languages = [one.config.data.target_language for one in (run, model)]
        if not same_language(*languages):
            raise InputError(
                f"{name}: a run into {languages[0]}. Accepted: one into "
                f"{languages[1]}, to be compared"
            )
        return name
    lines = as_references(model, read_lines(name))
    if len(lines) != len(measured):
        raise InputError(
            f"{name}: {len(lines):,} lines. Accepted: a translation for each "
            f"of the {len(measured):,} pairs, or a run's folder"
        )
    return list(itertools.compress(lines, measured))


def _print(evaluation, compared, as_json):
    values = evaluation.figures()
    if as_json:
        if compared and compared.systems[1:]:
            others = compared.systems[1:]
            values["against"] = [dataclasses.asdict(one) for one in others]
        print(json.dumps(values))
        return
    values.pop("documents", None)
    for name in ("bleu", "chrf"):
        values[name] = _score(evaluation, name)
        del values[f"{name}_interval"]
    drawn = evaluation.resampling
    values["resampling"] = f"{drawn.resamples} resamples, seed {drawn.seed}"
    print(table([(name, _shown(v)) for name, v in values.items()]))
    if found := evaluation.documents:
        rows = [
            (one.name, _score(one, "bleu"), _score(one, "chrf"))
            for one in found.systems
        ]
        head = f"{found.sentences:,} documents", "BLEU", "chrF"
        print(f"\n{table([head, *rows])}")
    if compared and compared.systems[1:]:
        print(f"\n{_comparison(compared)}")


def _score(scores, name):
    from keras_transformer.evaluation.significance import score_text

    interval = getattr(scores, f"{name}_interval")
    return score_text(getattr(scores, name), interval, digits=2)


def _comparison(compared):
    """A table of all systems, and the meaning of its p-values."""
    from keras_transformer.evaluation.significance import p_value_text

    first, *others = compared.systems
    tests = list(others[0].bleu_p_values)
    rows = [["system"], *([system.name] for system in compared.systems)]
    for name, shown in (("bleu", "BLEU"), ("chrf", "chrF")):
        rows[0] += [shown, *(f"p ({test})" for test in tests)]
        rows[1] += [_score(first, name), *("" for _ in tests)]
        for row, system in zip(rows[2:], others, strict=True):
            p_values = getattr(system, f"{name}_p_values")
            row.append(_score(system, name))
            row += [p_value_text(p_values[test]) for test in tests]
    drawn = compared.resampling
    named = {
        "bs": f"paired bootstrap, {drawn.resamples} resamples",
        "ar": f"paired approximate randomisation, {drawn.trials} trials",
    }
    meanings = "; ".join(f"{test}: {named[test]}" for test in tests)
    return f"{table(rows)}\np of the difference to {first.name}; {meanings}"


def _model(arguments):
    """The model, and further arguments of `evaluate`."""
    from keras_transformer.exporting.ctranslate2_translator import (
        CTranslate2Translator,
    )
    from keras_transformer.training.run import Run

    model: Run | CTranslate2Translator
    if arguments.run:
        model = Run.load(arguments.run)
    else:
        model = CTranslate2Translator(
            arguments.ctranslate2, threads=usable_cores()
        )
    given = settings(arguments, ("decoding",)).get("decoding", {})
    return model, {
        "weights": arguments.weights,
        "decoding": decoding_config(model.config, arguments),
        "shortlist": arguments.shortlist,
        "sentences": given.get("sentences", "keep"),
    }


def _shown(value):
    if not isinstance(value, float):
        return str(value)
    return f"{value:.4g}" if abs(value) < 1000 else f"{value:.0f}"
