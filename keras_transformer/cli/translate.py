"""Translates lines of text, with a run, an export, or a server.

Reads stdin or a file, and writes one line for each line, in the same order;
blank lines stay. There may be any number of lines: they are read a window at a
time, and more than a few are translated by one process per core, or in several
requests at a time.

example:
  keras-transformer translate --run runs/en-zh "Good morning."
  keras-transformer translate --saved-model saved_models/en-zh < in.en > out.zh
  keras-transformer translate --ctranslate2 ctranslate2/en-zh < in.en > out.zh
  keras-transformer translate --server http://127.0.0.1:8501 --model en-zh
"""

import argparse
import contextlib
import dataclasses
import functools
import itertools
import os
import pathlib
import sys
from typing import Any

from keras_transformer.api.loading import SERVER_TIMEOUT, model_of
from keras_transformer.api.runs import run_config
from keras_transformer.blank import is_blank
from keras_transformer.cli.console import (
    Progress,
    argument_text,
    input_lines,
    output_file,
    say,
)
from keras_transformer.cli.options import add_options, fixed_search, flag
from keras_transformer.cli.translation_output import (
    format_translation,
    translation_request,
    with_prefixes,
)
from keras_transformer.cli.translators import (
    add_source_options,
    add_translation_options,
    check_options,
    input_format,
    opened_factory,
    read_terms,
    signature_of,
    translator_factory,
    with_terms,
)
from keras_transformer.config import Config
from keras_transformer.documents.formats import FORMATS, LINES, open_document
from keras_transformer.errors import InputError, shown
from keras_transformer.system.checksums import checksum
from keras_transformer.system.locks import locked
from keras_transformer.translation.documents import (
    Journal,
    require_no_markup,
    require_unpacked,
    write_translated,
)
from keras_transformer.translation.request import (
    KEEP,
    PROJECT,
    Truncations,
    blank_translation,
)
from keras_transformer.translation.stream import BATCHES_A_WINDOW, stream_lines
from keras_transformer.version import __version__


def add_arguments(parser: argparse.ArgumentParser) -> None:
    group = add_source_options(parser)
    text = (
        "of TensorFlow Serving or `serve`: http://HOST:8501 (REST) or "
        "grpc://HOST:8500"
    )
    add_options(group, {"--server URL": text})
    parser.add_argument(
        "text",
        nargs="*",
        type=str,  # An empty text, too.
        metavar="TEXT",
        help="what is translated, in place of lines of a file",
    )
    add_options(
        parser,
        {
            "--input FILE": "lines, plain or packed, or a document; default: "
            "stdin",
            "--output FILE": "default: stdout; gzip if its name ends in .gz",
        },
    )
    _add_document_options(parser)
    add_translation_options(parser)
    of_server = parser.add_argument_group("with --server")
    add_options(
        of_server,
        {
            "--model NAME": "its name there (default: default)",
            "--label NAME": "of a version, such as stable",
        },
    )
    latest = "its version (default: the latest)"
    add_options(of_server, {"--version N": latest}, type=int)
    text = (
        "seconds for a batch, its retries included "
        f"(default: {SERVER_TIMEOUT:g})"
    )
    add_options(of_server, {"--timeout S": text}, type=float)


def _add_document_options(parser):
    group = parser.add_argument_group(
        "of documents, of which all but the text stays",
        "Those with markup in a text need --run, or a model with symbols.",
    )
    group.add_argument(
        "--format",
        choices=FORMATS,
        help="of --input (default: by its name; lines of any other)",
    )
    add_options(
        group,
        {
            "--field NAME[:TARGET]": "the column of .csv and .tsv, the key of "
            ".jsonl; with TARGET translations go into that one",
            "--resume": "go on where the same command was killed",
            "--overwrite": "of .po, .tmx and .xliff: translate what has a "
            "translation, too",
        },
    )


def run(arguments: argparse.Namespace) -> None:
    check_options(arguments)
    _check_texts(arguments)
    format = _chosen_format(arguments)
    request = translation_request(arguments)
    if format != LINES:
        request = _document_request(request, arguments)
    make = _of_server if arguments.server else translator_factory
    translator, batch_size = make(arguments, request)
    terms = read_terms(arguments, translator)
    opened = functools.partial(
        _opened, arguments, translator, batch_size, terms
    )
    if format == LINES:
        _translate(arguments, request, batch_size, opened)
    else:
        has_markup = _has_markup(arguments, request, translator)
        _translate_document(
            arguments, format, translator, batch_size, opened, has_markup
        )


def _chosen_format(arguments):
    """The format of the input; refuses options of documents for lines."""
    chosen = input_format(arguments)
    names = ("field", "overwrite", "resume")
    given = [name for name in names if getattr(arguments, name)]
    if chosen == LINES and given:
        raise InputError(
            f"{flag(given[0])} goes with a document. Received: lines. "
            "Accepted: an --input such as texts.csv, or --format"
        )
    return chosen


def _document_request(request, arguments):
    """The request of a document: its best translation, with its markup."""
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


def _has_markup(arguments, request, translator):
    """True if translations keep markup, by the alignment or by symbols."""
    if request.markup == PROJECT:
        return True
    if arguments.server:
        return translator.masks_markup()
    data = translator.data()  # None if an export doesn't say.
    return request.markup is None and bool(getattr(data, "symbols", ()))


def _translate(arguments, request, batch_size, opened):
    """Translates lines as they arrive; `opened` is `_opened`."""
    from_stdin = arguments.input is None and not arguments.text
    interactive = from_stdin and sys.stdin.isatty()
    if interactive:
        say("type a line to be translated; Ctrl-D ends")
    window = 1 if interactive else BATCHES_A_WINDOW * batch_size
    texts = [argument_text(text, "TEXT") for text in arguments.text]
    lines: Any = iter(texts) if texts else input_lines(arguments.input)
    if request.prefixes:
        lines = with_prefixes(lines, arguments.prefix)
    # Read now, as a missing file should be an error before a long start.
    first = list(itertools.islice(lines, window))
    truncations = Truncations()
    # A bar between translations on one terminal would garble both.
    apart = arguments.output is not None or not sys.stdout.isatty()
    with (
        opened(_sentences(first), interactive) as translate_batches,
        Progress("translating", unit="sentences", shown=apart) as progress,
        output_file(arguments.output) as out,
    ):
        translations = stream_lines(
            itertools.chain(first, lines),
            translate_batches,
            batch_size,
            window,
            blank=blank_translation,
            progress=progress.advance,
        )
        for number, translation in enumerate(translations, 1):
            out.write(format_translation(translation, request, number))
            if translation.truncated:
                truncations.add(number)
            if interactive:
                out.flush()
                _tell(truncations, "stdin")
                truncations = Truncations()
    _tell(truncations, "stdin" if from_stdin else arguments.input or "TEXT")


def _translate_document(
    arguments, format, translator, batch_size, opened, has_markup
):
    """Translates a document.

    Until the output is complete, translations are kept in `OUTPUT.partial`,
    from which `--resume` continues.

    Args:
        translator: a factory with a fingerprint, or a `RemoteTranslator`.
        opened: see `_opened`.
        has_markup: whether translations keep markup.
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
    # A server doesn't need the number of sentences.
    sentences = 0 if arguments.server else _sentences(document.texts)
    truncations = Truncations()
    with (
        _journal(
            arguments, format, translator, len(document.texts), batch_size
        ) as journal,
        opened(sentences) as translate_batches,
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
    _tell(truncations, arguments.input, "texts")
    for reason, count in document.skipped.items():
        say(f"{count:,} texts {reason} were left as they are")


@contextlib.contextmanager
def _journal(arguments, format, translator, texts, batch_size):
    """Yields the journal from which to resume after a kill, or None.

    None for few texts, which are translated before the first is written, for
    a pipe, which can't be read again, and for an output that is a device.
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
    # May differ on resuming, as after a request that took too long.
    options.pop("timeout", None)
    if hasattr(translator, "fingerprint"):
        # The fingerprint of all files that are read, in whichever folder.
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


def _sentences(lines):
    """The number of lines that aren't blank."""
    return sum(1 for line in lines if not is_blank("".join(line)))


def _opened(
    arguments, translator, batch_size, terms, sentences, interactive=False
):
    """A context manager of a batch translator: server, this process or workers.

    Args:
        translator: a `RemoteTranslator`, or a factory.
        terms: see `read_terms`.
        sentences: number to translate, at least.
        interactive: whether a server answers each batch before the next.
    """
    if arguments.server:
        return with_terms(translator.opened(interactive=interactive), terms)
    return opened_factory(arguments, translator, batch_size, terms, sentences)


def _tell(truncations, name, unit="lines"):
    if truncations.count:
        say(f"warning: {name}: {truncations.message(unit)}")


def _check_texts(arguments):
    """Refuses texts together with a file, and a file's name as a text."""
    if arguments.text and arguments.input:
        raise InputError(
            "TEXT on the command line doesn't go with --input. Received: "
            f"{shown(arguments.text[0], 40)}"
        )
    # Unlike `Path.is_file`, this accepts a text of any length.
    if len(arguments.text) == 1 and os.path.isfile(arguments.text[0]):  # noqa: PTH113
        raise InputError(
            "TEXT on the command line is a file's name. Accepted: --input, or "
            f"a text. Received: {shown(arguments.text[0], 40)}"
        )


def _of_server(arguments, request):
    """A translator on a server, and the batch size."""
    from keras_transformer.serving.client.remote_translator import (
        BATCH_SIZE,
        RemoteTranslator,
    )

    batch_size, greedy = fixed_search(arguments, BATCH_SIZE)
    timeout = arguments.timeout
    url, named = model_of(
        arguments.server,
        model=arguments.model,
        version=arguments.version,
        label=arguments.label,
    )
    translator = RemoteTranslator(
        url,
        **named,
        timeout=SERVER_TIMEOUT if timeout is None else timeout,
        signature=signature_of(request, greedy),
        count=request.count,
        placeholders=None if request.markup == KEEP else request.placeholders,
    )
    return translator, batch_size
