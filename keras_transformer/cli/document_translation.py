"""`translate` of documents: what isn't text stays as it is."""

import argparse
import contextlib
import dataclasses
import pathlib
from collections.abc import Callable, Sequence

from keras_transformer.api.runs import run_config
from keras_transformer.cli.console import Progress, say
from keras_transformer.config import Config
from keras_transformer.documents.formats import (
    LINES,
    format_of,
    open_document,
)
from keras_transformer.errors import InputError
from keras_transformer.system.files import write_bytes
from keras_transformer.translation.documents import (
    require_no_markup,
    translated,
)
from keras_transformer.translation.request import (
    KEEP,
    PROJECT,
    TranslationRequest,
    Truncations,
)

OpenTranslator = Callable[[Sequence[str]], contextlib.AbstractContextManager]


def chosen_format(arguments: argparse.Namespace) -> str:
    """The format of the input: what `--format` says, or its name."""
    chosen = arguments.format
    if chosen is None and arguments.input:
        chosen = format_of(pathlib.Path(arguments.input))
    if chosen in (None, LINES) and (arguments.field or arguments.overwrite):
        option = "--field" if arguments.field else "--overwrite"
        raise InputError(
            f"{option} goes with a document. Received: lines. Accepted: an "
            "--input such as texts.csv, or --format"
        )
    return chosen or LINES


def document_request(
    request: TranslationRequest, arguments: argparse.Namespace
) -> TranslationRequest:
    """The request of a document: its best translation, with its markup.

    Raises:
        InputError: more is requested, or a file isn't named.
    """
    if not request.is_plain or request.scores or request.n_best:
        raise InputError(
            "a document gets its translation alone. Accepted with --n-best, "
            "--scores, --json and the like: lines (--format lines)"
        )
    if not arguments.input or not arguments.output:
        raise InputError("a document needs --input and --output, both files")
    if arguments.shards is not None:
        raise InputError("--shards goes with lines. Accepted: --format lines")
    if request.markup is None and arguments.run:
        data = run_config(arguments.run, default=Config()).data
        if data.markup == KEEP:  # So it has no symbols.
            return dataclasses.replace(request, markup=PROJECT)
    return request


def translate_document(
    arguments: argparse.Namespace,
    format: str,
    batch_size: int,
    open_translator: OpenTranslator,
    has_markup: bool,
) -> None:
    """Translates `--input` to `--output`.

    Args:
        arguments: parsed.
        format: of the input.
        batch_size: texts translated together.
        open_translator: from the texts to a context manager of what
            translates batches.
        has_markup: whether what translates gives back markup.

    Raises:
        InputError: the input isn't of the format, or has markup that nothing
            places.
    """
    languages: tuple = (None, None)
    if arguments.run:
        data = run_config(arguments.run, default=Config()).data
        languages = data.source_language, data.target_language
    document = open_document(
        pathlib.Path(arguments.input),
        format,
        languages,
        arguments.field,
        arguments.overwrite,
    )
    if not has_markup and arguments.markup is None:
        require_no_markup(document, arguments.input)
    truncations = Truncations()
    with (
        open_translator(document.texts) as translate_batches,
        Progress("translating", len(document.texts), "texts") as progress,
    ):
        content = translated(
            document,
            translate_batches,
            batch_size,
            progress.advance,
            truncations,
        )
    write_bytes(arguments.output, content)
    if truncations.count:
        say(f"warning: {arguments.input}: {truncations.message('texts')}")
    for reason, count in document.skipped.items():
        say(f"{count:,} texts {reason} were left as they are")
