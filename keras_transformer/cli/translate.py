"""Translates lines of text, by a run, an export, or a server.

Reads stdin or a file, writes a line for a line in the same order, and keeps
blank lines. Any number of lines: they are read a window at a time, and more
than a few are translated by a process for each core, or in several requests
at a time.

example:
  keras-transformer translate --run runs/en-zh "Good morning."
  keras-transformer translate --saved-model saved_models/en-zh < in.en > out.zh
  keras-transformer translate --ctranslate2 ctranslate2/en-zh < in.en > out.zh
  keras-transformer translate --server http://127.0.0.1:8501 --model en-zh
"""

import argparse
import functools
import itertools
import os
import sys
from typing import Any

from keras_transformer.api.loading import SERVER_MODEL, SERVER_TIMEOUT
from keras_transformer.blank import is_blank
from keras_transformer.cli.console import (
    Progress,
    argument_text,
    input_lines,
    output_file,
    say,
)
from keras_transformer.cli.document_translation import (
    chosen_format,
    document_request,
    translate_document,
)
from keras_transformer.cli.options import add_options, fixed_search
from keras_transformer.cli.translation_output import (
    format_translation,
    translation_request,
    with_prefixes,
)
from keras_transformer.cli.translators import (
    add_source_options,
    add_translation_options,
    check_options,
    opened_factory,
    read_terms,
    signature_of,
    translator_factory,
    with_terms,
)
from keras_transformer.documents.formats import FORMATS, LINES
from keras_transformer.errors import InputError, shown
from keras_transformer.translation.request import (
    KEEP,
    PROJECT,
    Truncations,
    blank_translation,
)
from keras_transformer.translation.stream import BATCHES_A_WINDOW, stream_lines


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
        type=str,  # An empty one, too.
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
    document_format = chosen_format(arguments)
    request = translation_request(arguments)
    if document_format != LINES:
        request = document_request(request, arguments)
    make = _of_server if arguments.server else translator_factory
    translator, batch_size = make(arguments, request)
    terms = read_terms(arguments, translator)
    opened = functools.partial(
        _opened, arguments, translator, batch_size, terms
    )
    if document_format == LINES:
        _translate(arguments, request, batch_size, opened)
    else:
        translate_document(
            arguments,
            document_format,
            translator,
            batch_size,
            # A server has no use for their number.
            lambda texts: opened(0 if arguments.server else _sentences(texts)),
            request.markup == PROJECT
            or _masks_markup(arguments, request, translator),
        )


def _masks_markup(arguments, request, translator):
    """Whether markup is masked, as the model has symbols for it."""
    if arguments.server:
        return translator.masks_markup()
    data = translator.data()  # None if an export doesn't say.
    return request.markup is None and bool(getattr(data, "symbols", ()))


def _translate(arguments, request, batch_size, opened):
    """Translates lines as they come; `opened` as `_opened`."""
    from_stdin = arguments.input is None and not arguments.text
    interactive = from_stdin and sys.stdin.isatty()
    if interactive:
        say("type a line to be translated; Ctrl-D ends")
    window = 1 if interactive else BATCHES_A_WINDOW * batch_size
    texts = [argument_text(text, "TEXT") for text in arguments.text]
    lines: Any = iter(texts) if texts else input_lines(arguments.input)
    if request.prefixes:
        lines = with_prefixes(lines, arguments.prefix)
    # A missing file is an error before a long start.
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


def _sentences(lines):
    """How many lines aren't blank."""
    return sum(1 for line in lines if not is_blank("".join(line)))


def _opened(
    arguments, translator, batch_size, terms, sentences, interactive=False
):
    """A context of what translates batches: a server, this process, or workers.

    Args:
        translator: a `RemoteTranslator`, or a factory.
        terms: see `read_terms`.
        sentences: that are to be translated, at least.
        interactive: whether a server answers each batch before the next.
    """
    if arguments.server:
        opened = translator.opened(interactive=interactive)
    else:
        opened = opened_factory(arguments, translator, batch_size, sentences)
    return with_terms(opened, terms)


def _tell(truncations, name):
    if truncations.count:
        say(f"warning: {name}: {truncations.message('lines')}")


def _check_texts(arguments):
    """Refuses texts beside a file, and a file's name in place of a text."""
    if arguments.text and arguments.input:
        raise InputError(
            "TEXT on the command line doesn't go with --input. Received: "
            f"{shown(arguments.text[0], 40)}"
        )
    # Unlike `Path.is_file` it takes a text of any length.
    if len(arguments.text) == 1 and os.path.isfile(arguments.text[0]):  # noqa: PTH113
        raise InputError(
            "TEXT on the command line is a file's name. Accepted: --input, or "
            f"a text. Received: {shown(arguments.text[0], 40)}"
        )


def _of_server(arguments, request):
    """A translator by a server, and the batch size."""
    from keras_transformer.serving.client.remote_translator import (
        BATCH_SIZE,
        RemoteTranslator,
    )

    batch_size, greedy = fixed_search(arguments, BATCH_SIZE)
    timeout = arguments.timeout
    translator = RemoteTranslator(
        arguments.server,
        arguments.model or SERVER_MODEL,
        arguments.version,
        arguments.label,
        SERVER_TIMEOUT if timeout is None else timeout,
        signature_of(request, greedy),
        request.count,
        None if request.markup == KEEP else request.placeholders,
    )
    return translator, batch_size
