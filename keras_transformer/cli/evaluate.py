"""Measures a run on a test set: cross-entropy, BLEU and chrF.

Cross-entropy is in nats per target token, end token counted, unsmoothed.
BLEU and chrF are sacreBLEU's, with the signatures that reproduce them.
"""

import dataclasses
import json

from keras_transformer.cli.console import Progress, load_tensorflow, table
from keras_transformer.cli.options import add_section_option, section_values
from keras_transformer.errors import InputError

# Those that have an option of their own.
SEARCH_OPTIONS = ("beam_size", "length_penalty", "batch_size")

EXAMPLE = """example:
  keras-transformer evaluate --run runs/en-zh --input test.tsv --json
"""


def add_arguments(parser):
    parser.add_argument(
        "--run", required=True, metavar="FOLDER", help="a run's folder"
    )
    parser.add_argument(
        "--input",
        nargs="+",
        required=True,
        metavar="FILE",
        help="TSV files or SOURCE,TARGET pairs of files",
    )
    add_weights_option(parser)
    add_search_options(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object")


def add_weights_option(parser):
    """Which of a run's weights are used."""
    parser.add_argument(
        "--weights",
        choices=("best", "last", "average"),
        help="best: by dev loss, or as training.best_by says (default); "
        "last: the newest epoch; average: the last training.average_epochs",
    )


def add_search_options(parser):
    """Options of the search, default as the run was configured."""
    parser.add_argument(
        "--beam-size", type=int, metavar="K", help="1 is greedy"
    )
    parser.add_argument(
        "--length-penalty", type=float, metavar="A", help="0 is none"
    )
    parser.add_argument(
        "--batch-size", type=int, metavar="N", help="sentences at a time"
    )
    add_section_option(
        parser,
        "decoding",
        "one value of the search, such as length_normalization=average",
    )


def decoding_config(config, arguments):
    """The run's search with the options applied."""
    values = section_values(arguments, "decoding")
    config = config.updated({"decoding": values}, "--decoding")
    given = {
        name: getattr(arguments, name)
        for name in SEARCH_OPTIONS
        if getattr(arguments, name) is not None
    }
    return config.updated({"decoding": given}, "options").decoding


def saved_batch_size(arguments, default: int = 64) -> int:
    """Sentences at a time with an export, which has no setting of its own.

    Args:
        arguments: parsed, with the options of `add_search_options`.
        default: if there is no --batch-size.

    Raises:
        InputError: fewer than 1.
    """
    batch_size = arguments.batch_size
    if batch_size is None:
        return default
    if batch_size < 1:
        raise InputError(
            f"--batch-size must be 1 or more. Received: {batch_size}"
        )
    return batch_size


def run(arguments):
    load_tensorflow()
    from keras_transformer.data.corpus import CorpusFile, read_pairs
    from keras_transformer.evaluation.run_evaluation import evaluate_run
    from keras_transformer.training.run import Run

    the_run = Run.load(arguments.run)
    files = [CorpusFile.parse(spec) for spec in arguments.input]
    pairs = list(read_pairs(files))
    if not pairs:
        names = ", ".join(arguments.input)
        raise InputError(f"{names}: empty, no sentence pair to evaluate on")
    with Progress("translating", len(pairs), "sentences") as progress:
        evaluation = evaluate_run(
            the_run,
            pairs,
            which=arguments.weights or "best",
            decoding=decoding_config(the_run.config, arguments),
            progress=progress.advance,
        )
    values = dataclasses.asdict(evaluation)
    if arguments.json:
        print(json.dumps(values))
    else:
        print(table([(name, format_value(v)) for name, v in values.items()]))


def format_value(value) -> str:
    """Numbers short, text as it is."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
