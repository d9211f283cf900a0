"""What can be asked of a translation beside its text, and how it is printed."""

import itertools
import json

from keras_transformer.cli.console import read_lines
from keras_transformer.cli.detailed import (
    DetailedRecipe,
    Hypothesis,
    SavedNbestRecipe,
    with_prefix,
)
from keras_transformer.config.decoding import DecodingConfig
from keras_transformer.errors import InputError


def add_arguments(parser):
    """Options for more than the text of the best translation."""
    parser.add_argument(
        "--n-best",
        type=int,
        metavar="N",
        help="so many translations of a line, at most --beam-size; each on a "
        "line that begins with the number of its source line",
    )
    parser.add_argument(
        "--scores",
        action="store_true",
        help="a column more: log-probability, length-normalised",
    )
    parser.add_argument(
        "--token-scores",
        action="store_true",
        help="a column more: TOKEN:LOG-PROBABILITY of each token",
    )
    parser.add_argument(
        "--alignment",
        action="store_true",
        help="a column more: SOURCE-TARGET, places of tokens from 0, for the "
        "source token that each target token attends to most; with --json the "
        "whole matrix",
    )
    parser.add_argument(
        "--prefix",
        metavar="FILE",
        help="a line for a line of input: what its translation begins with",
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="an object a line with all that was asked for",
    )


def wanted(arguments) -> bool:
    """Whether more is asked for than the best translation and its score."""
    return bool(
        arguments.n_best is not None
        or arguments.token_scores
        or arguments.alignment
        or arguments.prefix
        or arguments.json
    )


def run_recipe(arguments, decoding: DecodingConfig) -> DetailedRecipe:
    """What translates with a run as the options ask.

    Raises:
        InputError: options that don't go together.
    """
    if arguments.jit == "on":
        raise InputError(
            "--jit on compiles plain translating only. Accepted with --n-best, "
            "--token-scores, --alignment, --prefix or --json: off, auto"
        )
    most = 1 if decoding.sampling else decoding.beam_size
    accepted = f"1 to {most}, " + (
        "as sampling gives one" if decoding.sampling else "the beam size"
    )
    return DetailedRecipe(
        arguments.run,
        arguments.weights or "best",
        decoding,
        _count(arguments, most, accepted),
        prefixed=bool(arguments.prefix),
        tokens=arguments.token_scores,
        alignment=arguments.alignment,
    )


def saved_recipe(arguments) -> SavedNbestRecipe:
    """What translates with an export as the options ask.

    Raises:
        InputError: something is asked for that exports don't give.
    """
    return SavedNbestRecipe(arguments.saved_model, saved_count(arguments))


def saved_count(arguments, source: str = "--saved-model") -> int:
    """How many translations of a line are wanted of an export.

    Args:
        arguments: parsed.
        source: the option that names the export.

    Raises:
        InputError: something is asked for that exports don't give.
    """
    for option in ("token_scores", "alignment", "prefix"):
        if getattr(arguments, option):
            raise InputError(
                f"--{option.replace('_', '-')} goes with --run: exports don't "
                f"give it. Accepted with {source}: --n-best, --scores, --json"
            )
    if arguments.beam_size is not None:
        raise InputError(
            "--beam-size 1 is an export's greedy signature, which gives one "
            "translation as text. Accepted with --n-best and --json: no "
            "--beam-size"
        )
    return _count(arguments, None, "1 or more")


def _count(arguments, most, accepted):
    count = 1 if arguments.n_best is None else arguments.n_best
    if count < 1 or (most is not None and count > most):
        raise InputError(
            f"--n-best must be {accepted}. Received: {arguments.n_best}"
        )
    return count


def with_prefixes(lines, path):
    """Yields lines with their prefixes, as `DetailedRecipe` takes them.

    Raises:
        InputError: the file has fewer lines than there are, or more.
    """
    prefixes = read_lines(path)
    missing = object()
    for number, (line, prefix) in enumerate(
        itertools.zip_longest(lines, prefixes, fillvalue=missing), 1
    ):
        if missing in (line, prefix):
            fewer = "input" if line is missing else path
            raise InputError(
                f"{path}: a prefix for each line of input is needed, an empty "
                f"line for none. Received: no line {number} in {fewer}"
            )
        yield with_prefix(line, prefix)


def format_result(result, arguments, number: int) -> str:
    """A line's `Detailed` as it is written, line ends included.

    Args:
        result: the result.
        arguments: parsed, with the options of `add_arguments`.
        number: of the line, from 1.
    """
    if arguments.json:
        return (
            json.dumps(_as_json(result, arguments), ensure_ascii=False) + "\n"
        )
    begin = [] if arguments.n_best is None else [str(number)]
    return "".join(
        "\t".join([*begin, *format_translation(translation, result, arguments)])
        + "\n"
        for translation in result.translations
    )


def format_translation(translation: Hypothesis, result, arguments) -> list[str]:
    """The columns of one translation."""
    columns = [translation.text]
    if arguments.scores:
        columns.append(f"{translation.score:.4f}")
    if arguments.token_scores:
        columns.append(
            format_tokens(
                translation.tokens, translation.token_log_probabilities
            )
        )
    if arguments.alignment:
        columns.append(" ".join(_links(translation, result.source_tokens)))
    return columns


def format_tokens(tokens, log_probabilities) -> str:
    """Tokens and their log-probabilities in one column."""
    return " ".join(
        f"{token}:{value:.4f}"
        for token, value in zip(tokens, log_probabilities, strict=True)
    )


def _links(translation, source_tokens):
    """SOURCE-TARGET for each token but the end; START isn't counted."""
    tokens = translation.tokens
    count = len(tokens) - bool(translation.finished and tokens)
    places = [i for i, token in enumerate(source_tokens) if token]
    for number, shares in enumerate(translation.alignment[:count]):
        if places:
            yield f"{max(places, key=shares.__getitem__) - 1}-{number}"


def _as_json(result, arguments):
    """What was asked for, and what is never amiss."""
    keep = ["text", "score", "log_probability", "finished"]
    if arguments.token_scores or arguments.alignment:
        keep += ["tokens", "token_log_probabilities"]
    if arguments.alignment:
        keep += ["alignment"]
    translations = [
        {
            name: value
            for name, value in translation._asdict().items()
            if name in keep and value is not None
        }
        for translation in result.translations
    ]
    values = {
        "source": result.source,
        "truncated": result.truncated,
        "translations": translations,
    }
    if arguments.alignment:
        values["source_tokens"] = result.source_tokens
    return values
