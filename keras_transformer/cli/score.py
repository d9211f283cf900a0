"""Tells how probable given translations are, from a run or an export.

A line a pair: the natural logarithm of the probability that the model gives
to the translation, its end included; the mean over the tokens; their number.
A pair of blank lines has 0, 0 and 0.
"""

import json
import sys
from typing import NamedTuple

from keras_transformer.cli.console import Progress, load_tensorflow, say
from keras_transformer.cli.detailed import split_prefix, with_prefix
from keras_transformer.cli.options import (
    add_search_options,
    add_weights_option,
    decoding_config,
    saved_batch_size,
)
from keras_transformer.cli.translations import format_tokens
from keras_transformer.errors import InputError

EXAMPLE = """example:
  keras-transformer score --run runs/en-zh --input test.tsv --token-scores
"""


class Scored(NamedTuple):
    """What a model says of one pair; None is what an export doesn't give.

    Attributes:
        source, target: the pair.
        log_probability: of the whole translation, its end included.
        score: the same, length-normalised as `translate` does.
        length: tokens, the end included.
        truncated: whether the source or the translation was too long for
            the model and lost its end.
        tokens: as the vocabulary has them.
        token_log_probabilities: as many.
    """

    source: str
    target: str
    log_probability: float
    score: float
    length: int
    truncated: bool | None = None
    tokens: list[str] | None = None
    token_log_probabilities: list[float] | None = None

    @property
    def per_token(self) -> float:
        """The mean of the tokens' log-probabilities."""
        return self.log_probability / self.length if self.length else 0.0


BLANK = Scored("", "", 0.0, 0.0, 0, False, [], [])


def add_arguments(parser):
    model = parser.add_mutually_exclusive_group(required=True)
    model.add_argument("--run", metavar="FOLDER", help="a run's folder")
    model.add_argument(
        "--saved-model",
        metavar="FOLDER",
        help="an export: a version, or the folder of versions (newest)",
    )
    parser.add_argument(
        "--input",
        nargs="+",
        required=True,
        metavar="FILE",
        help="TSV files or SOURCE,TARGET pairs of files",
    )
    add_weights_option(parser)
    parser.add_argument(
        "--token-scores",
        action="store_true",
        help="a column more: TOKEN:LOG-PROBABILITY of each token",
    )
    add_search_options(parser)
    parser.add_argument("--json", action="store_true", help="an object a line")


def run(arguments):
    load_tensorflow()
    from keras_transformer.data.corpus import CorpusFile, read_pairs
    from keras_transformer.translation.stream import translate_lines

    files = [CorpusFile.parse(spec) for spec in arguments.input]
    make = _saved_scorer if arguments.saved_model else _run_scorer
    score, batch_size = make(arguments)
    number = 0
    # A bar between results on one terminal would garble both.
    apart = not sys.stdout.isatty()
    with Progress("scoring", unit="pairs", shown=apart) as progress:
        for number, scored in enumerate(
            translate_lines(
                (with_prefix(*pair) for pair in read_pairs(files)),
                score,
                batch_size,
                blank=BLANK,
                progress=progress.advance,
            ),
            1,
        ):
            print(format_scored(scored, arguments))
            if scored.truncated:
                say(
                    f"warning: pair {number}: more tokens than the model has "
                    "positions; the rest is left out"
                )
    if not number:
        names = ", ".join(arguments.input)
        raise InputError(f"{names}: empty, no sentence pair to score")


def format_scored(scored: Scored, arguments) -> str:
    """A pair's line, without its end."""
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
    """A function from lines with translations to results, and batch size."""
    import tensorflow as tf

    from keras_transformer.training.run import Run
    from keras_transformer.translation.details import score_details
    from keras_transformer.translation.translator import Translator

    the_run = Run.load(arguments.run)
    decoding = decoding_config(the_run.config, arguments)
    model = the_run.load_model(arguments.weights or "best")
    function = score_details(Translator.from_run(the_run, model, decoding))

    def score(lines):
        pairs = [split_prefix(line) for line in lines]
        columns = zip(*pairs, strict=True)
        outputs = function(
            *(tf.constant([t.encode() for t in column]) for column in columns)
        )
        outputs = {name: tensor.numpy() for name, tensor in outputs.items()}
        return [
            _scored(pair, {name: v[place] for name, v in outputs.items()})
            for place, pair in enumerate(pairs)
        ]

    return score, decoding.batch_size


def _scored(pair, outputs):
    length = int(outputs["lengths"])
    return Scored(
        *pair,
        float(outputs["log_probability"]),
        float(outputs["score"]),
        length,
        bool(outputs["truncated"] | outputs["translation_truncated"]),
        [token.decode() for token in outputs["tokens"][:length]],
        outputs["token_log_probabilities"][:length].tolist(),
    )


def _saved_scorer(arguments):
    """The same, by an export's `score` signature."""
    from keras_transformer.export.loaded import SavedTranslator

    for option in ("weights", "token_scores", "decoding"):
        if getattr(arguments, option):
            raise InputError(
                f"--{option.replace('_', '-')} goes with --run: an export has "
                "one set of weights, one search, and scores of whole "
                "translations. Accepted with --saved-model: --batch-size, "
                "--json"
            )
    for option in ("beam_size", "length_penalty"):
        if getattr(arguments, option) is not None:
            raise InputError(
                f"--{option.replace('_', '-')} goes with --run: an export's "
                "search was fixed when it was made. Accepted with "
                "--saved-model: --batch-size, --json"
            )
    batch_size = saved_batch_size(arguments)
    translator = SavedTranslator(arguments.saved_model)

    def score(lines):
        pairs = [split_prefix(line) for line in lines]
        outputs = translator.score(*map(list, zip(*pairs, strict=True)))
        names = ("log_probability", "score", "tokens")
        numbers = zip(*(outputs[name].tolist() for name in names), strict=True)
        return [
            Scored(*pair, *row)
            for pair, row in zip(pairs, numbers, strict=True)
        ]

    return score, batch_size
