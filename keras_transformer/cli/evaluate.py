"""Measures a model on a test set: cross-entropy, BLEU and chrF.

Cross-entropy is in nats per target token, end token counted, unsmoothed.
BLEU and chrF are sacreBLEU's, with the signatures that reproduce them.

example:
  keras-transformer evaluate --run runs/en-zh --input test.tsv --json
  keras-transformer evaluate --ctranslate2 ctranslate2/en-zh --input test.tsv
"""

import dataclasses
import functools
import json

from keras_transformer.cli.console import Progress, load_tensorflow, table
from keras_transformer.cli.options import (
    add_json_option,
    add_pairs_option,
    add_run_option,
    add_search_options,
    add_weights_option,
    decoding_config,
)
from keras_transformer.errors import InputError
from keras_transformer.machine import usable_cores


def add_arguments(parser):
    group = parser.add_mutually_exclusive_group(required=True)
    add_run_option(group)
    group.add_argument(
        "--ctranslate2",
        metavar="FOLDER",
        help="what `export --format ctranslate2` wrote; its cross-entropy is "
        "that of tokens that may be generated",
    )
    add_pairs_option(parser)
    add_weights_option(parser)
    add_search_options(parser)
    add_json_option(parser)


def run(arguments):
    load_tensorflow()
    from keras_transformer.data.corpus import read_pairs

    evaluate = _ctranslate2_evaluator if arguments.ctranslate2 else _evaluator
    evaluate = evaluate(arguments)
    pairs = list(read_pairs(arguments.input))
    if not pairs:
        names = ", ".join(arguments.input)
        raise InputError(f"{names}: empty, no sentence pair to evaluate on")
    with Progress("translating", len(pairs), "sentences") as progress:
        evaluation = evaluate(pairs, progress=progress.advance)
    values = dataclasses.asdict(evaluation)
    if arguments.json:
        print(json.dumps(values))
    else:
        print(table([(name, _shown(v)) for name, v in values.items()]))


def _evaluator(arguments):
    """`evaluate_run` of the run and its options."""
    from keras_transformer.evaluation.run_evaluation import evaluate_run
    from keras_transformer.training.run import Run

    run = Run.load(arguments.run)
    return functools.partial(
        evaluate_run,
        run,
        which=arguments.weights or "best",
        decoding=decoding_config(run.config, arguments),
    )


def _ctranslate2_evaluator(arguments):
    """`evaluate_translator` of an export, on all cores."""
    from keras_transformer.evaluation.run_evaluation import (
        evaluate_translator,
    )
    from keras_transformer.export.ctranslate2_folder import read_config
    from keras_transformer.export.ctranslate2_translator import (
        CTranslate2Translator,
    )

    if arguments.weights:
        raise InputError("--weights goes with --run: an export has one set")
    decoding = decoding_config(read_config(arguments.ctranslate2), arguments)
    translator = CTranslate2Translator(
        arguments.ctranslate2, decoding, usable_cores()
    )
    return functools.partial(evaluate_translator, translator)


def _shown(value):
    return f"{value:.4g}" if isinstance(value, float) else str(value)
