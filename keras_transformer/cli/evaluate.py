"""Measures a model on a test set: cross-entropy, BLEU and chrF.

Cross-entropy is in nats per target token, end token counted, unsmoothed.
BLEU and chrF are sacreBLEU's, with the signatures that reproduce them.

example:
  keras-transformer evaluate --run runs/en-zh --input test.tsv --json
  keras-transformer evaluate --ctranslate2 ctranslate2/en-zh --input test.tsv
"""

import dataclasses
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
    from keras_transformer.api.evaluation import evaluate
    from keras_transformer.data.corpus import read_pairs

    model, options = _model(arguments)
    pairs = list(read_pairs(arguments.input))
    if not pairs:
        names = ", ".join(arguments.input)
        raise InputError(f"{names}: empty, no sentence pair to evaluate on")
    with Progress("translating", len(pairs), "sentences") as progress:
        evaluation = evaluate(
            model, pairs, progress=progress.advance, **options
        )
    values = dataclasses.asdict(evaluation)
    if arguments.json:
        print(json.dumps(values))
    else:
        print(table([(name, _shown(v)) for name, v in values.items()]))


def _model(arguments):
    """What is measured, and how `evaluate` is to do it."""
    from keras_transformer.training.run import Run

    if arguments.ctranslate2:
        return _ctranslate2_translator(arguments), {}
    run = Run.load(arguments.run)
    decoding = decoding_config(run.config, arguments)
    return run, {"which": arguments.weights, "decoding": decoding}


def _ctranslate2_translator(arguments):
    """The translator of an export, on all cores."""
    from keras_transformer.export.ctranslate2_folder import read_config
    from keras_transformer.export.ctranslate2_translator import (
        CTranslate2Translator,
    )

    if arguments.weights:
        raise InputError("--weights goes with --run: an export has one set")
    decoding = decoding_config(read_config(arguments.ctranslate2), arguments)
    return CTranslate2Translator(
        arguments.ctranslate2, decoding, usable_cores()
    )


def _shown(value):
    return f"{value:.4g}" if isinstance(value, float) else str(value)
