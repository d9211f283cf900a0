"""Prints how probable given translations are, by a run or an export.

One line per pair: the natural logarithm of the probability that the model gives
to the translation, its end included; the mean over the tokens; their number.
A pair of blank lines has 0, 0 and 0. If both sides have as many sentences,
these are scored one by one; else, and with --sentences keep, as one.

example:
  keras-transformer score --run runs/en-zh --input test.tsv --token-scores
"""

import argparse
import json
import sys

from keras_transformer.api.runs import run_config
from keras_transformer.cli.console import Progress, load_tensorflow, say
from keras_transformer.cli.options import (
    add_json_option,
    add_model_options,
    add_pairs_option,
    add_search_options,
    add_weights_option,
    decoding_config,
    fixed_search,
    flag,
)
from keras_transformer.cli.translation_output import (
    add_token_scores_option,
    format_tokens,
)
from keras_transformer.config import Config
from keras_transformer.errors import InputError
from keras_transformer.translation.request import (
    ScoredPair,
    Truncations,
    blank_pair,
)
from keras_transformer.translation.stream import one_by_one, stream_lines


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model_options(parser)
    add_pairs_option(parser)
    add_weights_option(parser)
    add_token_scores_option(parser)
    add_search_options(parser, ("sentences",))
    add_json_option(parser, "an object a line")


def run(arguments: argparse.Namespace) -> None:
    load_tensorflow()
    from keras_transformer.data.corpus import read_pairs

    languages = None
    if arguments.run:
        languages = run_config(arguments.run, default=Config()).data.languages
    pairs = read_pairs(arguments.input, languages=languages)
    make = _export_scorer if arguments.saved_model else _run_scorer
    score, batch_size = make(arguments)
    number = 0
    truncations = Truncations()
    # A bar between results on one terminal would garble both.
    apart = not sys.stdout.isatty()
    with Progress("scoring", unit="pairs", shown=apart) as progress:
        for number, scored in enumerate(
            stream_lines(
                pairs,
                one_by_one(score),
                batch_size,
                blank=blank_pair,
                progress=progress.advance,
            ),
            1,
        ):
            print(format_scored(scored, arguments))
            if scored.truncated:
                truncations.add(number)
    if truncations.count:
        say(f"warning: {truncations.message('pairs')}")
    if not number:
        names = ", ".join(arguments.input)
        raise InputError(f"{names}: empty, no sentence pair to score")


def format_scored(scored: ScoredPair, arguments: argparse.Namespace) -> str:
    """A pair's output line, without line end."""
    if arguments.json:
        values = scored._asdict() | {"per_token": scored.per_token}
        if not arguments.token_scores:
            del values["tokens"], values["token_log_probabilities"]
        values = {name: v for name, v in values.items() if v is not None}
        return json.dumps(values, ensure_ascii=False)
    columns = [
        f"{scored.log_probability:.4f}",
        f"{scored.per_token:.4f}",
        str(scored.length),
    ]
    if arguments.token_scores:
        columns.append(
            format_tokens(scored.tokens, scored.token_log_probabilities)
        )
    return "\t".join(columns)


def _run_scorer(arguments):
    """A function from pairs to `ScoredPair`s by a run, and the batch size."""
    from keras_transformer.training.run import Run
    from keras_transformer.translation.details import pair_scorer
    from keras_transformer.translation.translator import Translator

    run = Run.load(arguments.run)
    decoding = decoding_config(run.config, arguments)
    model = run.load_model(arguments.weights or "best")
    translator = Translator.from_run(run, model, decoding)
    splitters = translator.pair_splitters(run.config.data)
    return pair_scorer(translator, splitters), decoding.batch_size


def _export_scorer(arguments):
    """Like `_run_scorer`, by an export's `score` signature."""
    from keras_transformer.exporting.saved_translator import SavedTranslator

    for option in ("weights", "token_scores"):
        if getattr(arguments, option):
            raise InputError(
                f"{flag(option)} goes with --run: an export has one set of "
                "weights, and scores of whole translations. Accepted with "
                "--saved-model: --batch-size, --json"
            )
    batch_size, _ = fixed_search(arguments)
    translator = SavedTranslator(arguments.saved_model)

    def score(pairs):
        outputs = translator.score(*map(list, zip(*pairs, strict=True)))
        names = ["log_probability", "score", "tokens"]
        columns = [outputs[name] for name in names]
        columns.append(outputs["truncated"] | outputs["translation_truncated"])
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return [
            ScoredPair(*pair, *row)
            for pair, row in zip(pairs, rows, strict=True)
        ]

    return score, batch_size
