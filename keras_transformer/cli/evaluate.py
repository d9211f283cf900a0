"""Measures a run on a test set: cross-entropy, BLEU and chrF.

Cross-entropy is in nats per target token, end token counted, unsmoothed.
BLEU and chrF are sacreBLEU's, with the signatures that reproduce them.

example:
  keras-transformer evaluate --run runs/en-zh --input test.tsv --json
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


def add_arguments(parser):
    add_run_option(parser, required=True)
    add_pairs_option(parser)
    add_weights_option(parser)
    add_search_options(parser)
    add_json_option(parser)


def run(arguments):
    load_tensorflow()
    from keras_transformer.data.corpus import read_pairs
    from keras_transformer.evaluation.run_evaluation import evaluate_run
    from keras_transformer.training.run import Run

    run = Run.load(arguments.run)
    pairs = list(read_pairs(arguments.input))
    if not pairs:
        names = ", ".join(arguments.input)
        raise InputError(f"{names}: empty, no sentence pair to evaluate on")
    with Progress("translating", len(pairs), "sentences") as progress:
        evaluation = evaluate_run(
            run,
            pairs,
            which=arguments.weights or "best",
            decoding=decoding_config(run.config, arguments),
            progress=progress.advance,
        )
    values = dataclasses.asdict(evaluation)
    if arguments.json:
        print(json.dumps(values))
    else:
        print(table([(name, _shown(v)) for name, v in values.items()]))


def _shown(value):
    return f"{value:.4g}" if isinstance(value, float) else str(value)
