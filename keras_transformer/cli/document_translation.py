"""`translate` of documents: what isn't text stays as it is."""

import argparse
import contextlib
import dataclasses
import pathlib
from collections.abc import Callable, Collection
from typing import Any

from keras_transformer.api.runs import run_config
from keras_transformer.cli.console import Progress, say
from keras_transformer.cli.options import flag
from keras_transformer.cli.translators import input_format
from keras_transformer.config import Config
from keras_transformer.documents.formats import LINES, open_document
from keras_transformer.errors import InputError
from keras_transformer.system.checksums import checksum
from keras_transformer.system.locks import locked
from keras_transformer.translation.documents import (
    Journal,
    require_no_markup,
    require_unpacked,
    write_translated,
)
from keras_transformer.translation.request import (
    PROJECT,
    TranslationRequest,
    Truncations,
)
from keras_transformer.translation.stream import BATCHES_A_WINDOW
from keras_transformer.version import __version__

_OPTIONS = ("field", "overwrite", "resume")

OpenTranslator = Callable[[Collection[str]], contextlib.AbstractContextManager]


def chosen_format(arguments: argparse.Namespace) -> str:
    """The format of the input: what `--format` says, or its name.

    Raises:
        InputError: it is one of documents, and not a known one; or it is
            lines, with an option of documents.
    """
    chosen = input_format(arguments)
    given = [name for name in _OPTIONS if getattr(arguments, name)]
    if chosen == LINES and given:
        raise InputError(
            f"{flag(given[0])} goes with a document. Received: lines. "
            "Accepted: an --input such as texts.csv, or --format"
        )
    return chosen


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
    require_unpacked(arguments.output)
    if request.markup is None and arguments.run:
        data = run_config(arguments.run, default=Config()).data
        if not data.symbols:
            return dataclasses.replace(request, markup=PROJECT)
    return request


def translate_document(
    arguments: argparse.Namespace,
    format: str,
    translator: Any,
    batch_size: int,
    open_translator: OpenTranslator,
    has_markup: bool,
) -> None:
    """Translates `--input` to `--output`.

    Until that is written, translations are kept in `OUTPUT.partial`, with which
    `--resume` goes on.

    Args:
        arguments: parsed.
        format: of the input.
        translator: a factory with a fingerprint, or a `RemoteTranslator`.
        batch_size: texts translated together.
        open_translator: from the texts to a context manager of what
            translates batches.
        has_markup: whether what translates gives back markup.

    Raises:
        InputError: the input isn't of the format, or has markup that nothing
            places, or what is to go on is of another command.
    """
    data = translator.data()
    document = open_document(
        pathlib.Path(arguments.input),
        format,
        None if data is None else data.languages,
        arguments.field,
        arguments.overwrite,
    )
    if not has_markup and arguments.markup is None:
        require_no_markup(document, arguments.input)
    truncations = Truncations()
    with (
        _journal(
            arguments, format, translator, len(document.texts), batch_size
        ) as journal,
        open_translator(document.texts) as translate_batches,
        Progress(
            "translating",
            len(document.texts),
            "texts",
            done=journal.done if journal else 0,
        ) as progress,
    ):
        write_translated(
            document,
            arguments.output,
            translate_batches,
            batch_size,
            progress.advance,
            truncations,
            journal,
        )
    if truncations.count:
        say(f"warning: {arguments.input}: {truncations.message('texts')}")
    for reason, count in document.skipped.items():
        say(f"{count:,} texts {reason} were left as they are")


@contextlib.contextmanager
def _journal(arguments, format, translator, texts, batch_size):
    """What a killed run leaves; None where it would leave nothing.

    That is of few texts, which are translated before the first is written, of
    a pipe, which can't be read again, and of an output that is a device.
    """
    is_file = pathlib.Path(arguments.input).is_file()
    if arguments.resume and not is_file:
        raise InputError("--resume needs an --input that is a file")
    output = pathlib.Path(arguments.output)
    is_device = output.exists() and not output.is_file()
    if texts <= BATCHES_A_WINDOW * batch_size or not is_file or is_device:
        yield None
        return
    options = dataclasses.asdict(translator)
    # Another one is tried after a request that took too long.
    options.pop("timeout", None)
    if hasattr(translator, "fingerprint"):
        # That of all that is read, in whichever folder.
        options["folder"] = translator.fingerprint()
    settings = {
        "input": checksum(arguments.input),
        "format": format,
        **{name: getattr(arguments, name) for name in ("field", "overwrite")},
        "options": options,
        "glossary": arguments.glossary and checksum(arguments.glossary),
        "version": __version__,
    }
    path = f"{arguments.output}.partial"
    with (
        locked(f"{path}.lock", output, "is writing it"),
        Journal(path, settings, arguments.resume) as journal,
    ):
        yield journal
