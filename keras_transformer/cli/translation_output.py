"""Options for the output of translations, and its lines as text or JSON."""

import argparse
import itertools
import json
import os
from collections.abc import Iterable, Iterator, Sequence

from keras_transformer.cli.console import input_lines
from keras_transformer.cli.options import (
    add_json_option,
    add_options,
    add_placeholder_option,
)
from keras_transformer.constants import END_ID, SPECIAL_TOKENS
from keras_transformer.documents.markup import checked_placeholders
from keras_transformer.translation.request import (
    KEEP,
    PROJECT,
    Hypothesis,
    Translation,
    TranslationRequest,
)
from keras_transformer.translation.stream import missing_prefix


def add_request_options(parser: argparse.ArgumentParser) -> None:
    """Adds options for more than the text of the best translation."""
    count = (
        "so many translations of a line, at most --beam-size; each on a line "
        "that begins with the number of its source line"
    )
    add_options(parser, {"--n-best N": count}, type=int)
    add_token_scores_option(parser)
    add_options(
        parser,
        {
            "--scores": "a column more: log-probability, length-normalised",
            "--alignment": "a column more: SOURCE-TARGET, places of tokens "
            "from 0, for the source token that each target token attends to "
            "most; with --json the whole matrix",
            "--prefix FILE": "a line for a line of input: what its translation "
            "begins with",
        },
    )
    parser.add_argument(
        "--markup",
        choices=(KEEP, PROJECT),
        help="of tags, placeholders and addresses. Default: a model of data "
        "with --markup symbols puts them where they belong; of others they "
        "are text in lines (keep), and in documents come back where the words "
        "went that they belong to (project)",
    )
    add_placeholder_option(parser, "not with --markup keep")
    add_json_option(parser, "an object a line with all that was asked for")


def add_token_scores_option(parser: argparse.ArgumentParser) -> None:
    """Adds the option for a column of tokens."""
    text = "a column more: TOKEN:LOG-PROBABILITY of each token"
    add_options(parser, {"--token-scores": text})


def translation_request(arguments: argparse.Namespace) -> TranslationRequest:
    """The request of the options of `add_request_options`."""
    return TranslationRequest(
        n_best=arguments.n_best,
        scores=arguments.scores,
        token_scores=arguments.token_scores,
        alignment=arguments.alignment,
        prefixes=bool(arguments.prefix),
        json=arguments.json,
        markup=arguments.markup,
        placeholders=checked_placeholders(arguments.placeholder),
    )


def with_prefixes(
    lines: Iterable[str], path: str | os.PathLike
) -> Iterator[tuple[str, str]]:
    """Yields pairs of a line and its prefix, without line ends.

    Raises:
        InputError: the file of prefixes has fewer or more lines.
    """
    pairs = itertools.zip_longest(lines, input_lines(path))
    for number, (line, prefix) in enumerate(pairs, 1):
        if line is None or prefix is None:
            shorter = "input" if line is None else str(path)
            raise missing_prefix(str(path), number, shorter)
        yield line.rstrip("\r\n"), prefix.rstrip("\r\n")


def format_translation(
    translation: Translation, request: TranslationRequest, number: int
) -> str:
    """The output for a line's translation, line ends included.

    Args:
        translation: the result.
        request: what was requested.
        number: of the line, from 1.
    """
    if request.json:
        values = _as_json(translation, request)
        return json.dumps(values, ensure_ascii=False) + "\n"
    begin = [] if request.n_best is None else [str(number)]
    return "".join(
        "\t".join([*begin, *_columns(hypothesis, translation, request)]) + "\n"
        for hypothesis in translation.hypotheses
    )


def format_tokens(
    tokens: Sequence[str] | None, log_probabilities: Sequence[float] | None
) -> str:
    """Tokens and their log-probabilities in one column."""
    return " ".join(
        f"{token}:{value:.4f}"
        for token, value in zip(
            tokens or [], log_probabilities or [], strict=True
        )
    )


def _columns(hypothesis: Hypothesis, translation, request):
    others = request.scores or request.token_scores or request.alignment
    columns = [hypothesis.line]
    if others or request.n_best is not None:
        columns = [hypothesis.line.replace("\t", " ")]
    if request.scores:
        columns.append(f"{hypothesis.score:.4f}")
    if request.token_scores:
        columns.append(
            format_tokens(hypothesis.tokens, hypothesis.token_log_probabilities)
        )
    if request.alignment:
        columns.append(" ".join(_links(hypothesis, translation.source_tokens)))
    return columns


def _links(hypothesis, source_tokens):
    """Yields SOURCE-TARGET for each token but START and END of sentences."""
    # The number of each token of text, by its index.
    sources = {
        index: number
        for number, index in enumerate(
            i for i, token in enumerate(source_tokens) if token
        )
    }
    number = 0
    for token, weights in zip(
        hypothesis.tokens, hypothesis.alignment, strict=True
    ):
        if token == SPECIAL_TOKENS[END_ID]:
            continue
        if sources:
            index = max(sources, key=weights.__getitem__)
            yield f"{sources[index]}-{number}"
        number += 1


def _as_json(translation, request):
    """The requested values, and those that are always included."""
    keep = ["text", "score", "log_probability", "finished"]
    if request.token_scores or request.alignment:
        keep += ["tokens", "token_log_probabilities"]
    if request.alignment:
        keep += ["alignment"]
    values = {
        "source": translation.source,
        "truncated": translation.truncated,
        "translations": [
            {
                name: value
                for name, value in hypothesis._asdict().items()
                if name in keep and value is not None
            }
            for hypothesis in translation.hypotheses
        ],
    }
    if translation.sentences is not None:
        values["sentences"] = translation.sentences
    if request.alignment:
        values["source_tokens"] = translation.source_tokens
    return values
