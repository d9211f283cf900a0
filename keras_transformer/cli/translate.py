"""Translates lines of text, by a run, an export, or a server.

Reads stdin or a file, writes a line for a line in the same order, and keeps
blank lines. Any number of lines: they are read a window at a time, and more
than a few are translated by a process for each core, or in several requests
at a time. With --shards a hundred million of them survive a kill, and many
processes share them.

example:
  keras-transformer translate --run runs/en-zh "Good morning."
  keras-transformer translate --saved-model saved_models/en-zh < in.en > out.zh
  keras-transformer translate --ctranslate2 ctranslate2/en-zh < in.en > out.zh
  keras-transformer translate --server http://127.0.0.1:8501 --model en-zh
  keras-transformer translate --run runs/en-zh --shards 64 --input big.txt \\
      --output big.out
"""

import argparse
import contextlib
import functools
import itertools
import os
import sys
from typing import Any

from keras_transformer.api.loading import (
    SERVER_MODEL,
    SERVER_TIMEOUT,
)
from keras_transformer.api.runs import run_config
from keras_transformer.blank import is_blank
from keras_transformer.cli.console import (
    Progress,
    argument_text,
    check_outputs,
    input_lines,
    load_tensorflow,
    output_file,
    say,
)
from keras_transformer.cli.document_translation import (
    chosen_format,
    document_request,
    translate_document,
)
from keras_transformer.cli.options import (
    LOCAL,
    add_engine_options,
    add_ensemble_option,
    add_model_options,
    add_options,
    add_process_options,
    add_search_options,
    add_shortlist_option,
    add_weights_option,
    check_engine_options,
    decoding_config,
    fixed_search,
    flag,
    integer,
    is_given,
)
from keras_transformer.cli.translation_output import (
    add_request_options,
    format_translation,
    translation_request,
    with_prefixes,
)
from keras_transformer.config import Config
from keras_transformer.contract import layout
from keras_transformer.data.corpus import CorpusFile
from keras_transformer.documents.formats import FORMATS, LINES
from keras_transformer.documents.glossary import Glossary
from keras_transformer.errors import InputError, shown
from keras_transformer.translation.request import (
    KEEP,
    PROJECT,
    Truncations,
    blank_translation,
)
from keras_transformer.translation.stream import (
    BATCHES_A_WINDOW,
    stream_lines,
)
from keras_transformer.translation.terms import (
    all_patterns,
    has_learned_terms,
    require_terms,
    with_glossary,
)
from keras_transformer.translation.texts import check_n_best
from keras_transformer.translation.workers import (
    RunTranslatorFactory,
    choose_workers,
    open_translator,
)

_HERE = ("run", "saved_model", "ctranslate2")
# Options that go with one of these alone.
_GO_WITH: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("weights", "ensemble", "shortlist"), ("run",)),
    **dict.fromkeys(("token_scores", "alignment", "prefix"), ("run",)),
    **dict.fromkeys(("workers", "threads", "shards"), _HERE),
    **dict.fromkeys(("shard", "join", "retries", "engine"), ("shards",)),
    **dict.fromkeys(("model", "version", "label", "timeout"), ("server",)),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    group = add_model_options(parser)
    add_options(
        group,
        {
            "--ctranslate2 FOLDER": "what `export --format ctranslate2` wrote; "
            "runs on the processor",
            "--server URL": "of TensorFlow Serving or `serve`: "
            "http://HOST:8501 (REST) or grpc://HOST:8500",
        },
    )
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
    add_weights_option(parser)
    add_ensemble_option(parser)
    add_shortlist_option(parser)
    add_request_options(parser)
    text = (
        "TSV of terms and the translations that are wanted of them, none of "
        "one that stays; for models of data with --term-share"
    )
    add_options(parser, {"--glossary FILE": text})
    add_search_options(parser, ("sentences",))
    add_process_options(parser)
    _add_shard_options(parser)
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


def _add_shard_options(parser):
    group = parser.add_argument_group(
        "in shards, for very many lines",
        "The same command goes on where one was killed, and several may work "
        "on the\nsame shards at once; the result is that without --shards.",
    )
    shards = (
        "cut --input into N shards, translate each to a file in OUTPUT.shards, "
        "skip those that are finished, and join them"
    )
    add_options(group, {"--shards N": shards}, type=integer(1))
    add_options(
        group,
        {
            "--shard I": "translate shard I alone, from 0, and don't join. "
            "Default: SLURM_ARRAY_TASK_ID or JOB_COMPLETION_INDEX, if set; "
            "all: all of them, whatever is set",
            "--join": "join the shards and translate none; refused if any is "
            "missing",
        },
    )
    retries = "how often a shard that failed is tried again (default: 2)"
    add_options(group, {"--retries N": retries}, type=integer(0))
    add_engine_options(
        group,
        "a task of Apache Spark for each shard, on machines that share the "
        "files",
    )


def run(arguments: argparse.Namespace) -> None:
    makers = {
        "run": _of_run,
        "saved_model": _of_export,
        "ctranslate2": _of_ctranslate2,
        "server": _of_server,
    }
    source = next(name for name in makers if getattr(arguments, name))
    _check_options(arguments, source)
    read = [arguments.input, arguments.prefix, arguments.glossary]
    if arguments.shortlist:
        read += CorpusFile.parse(arguments.shortlist).paths
    check_outputs([arguments.output], filter(None, read))
    document_format = chosen_format(arguments)
    request = translation_request(arguments)
    if document_format != LINES:
        request = document_request(request, arguments)
    if request.markup == PROJECT and source != "run":
        raise InputError(
            f"--markup project goes with --run. Received: {flag(source)}"
        )
    for name in ("prefix", "token_scores", "alignment"):
        if request.markup == PROJECT and getattr(arguments, name):
            raise InputError(f"--markup project doesn't go with {flag(name)}")
    translator, batch_size = makers[source](arguments, request)
    glossary = _glossary(arguments, translator)
    opened = functools.partial(
        _opened, arguments, translator, batch_size, glossary
    )
    if arguments.shards is not None:
        from keras_transformer.cli.bulk_translation import translate_in_shards

        translate_in_shards(
            arguments, request, translator, batch_size, opened, glossary
        )
    elif document_format != LINES:
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
    else:
        _translate(arguments, request, batch_size, opened)


def _masks_markup(arguments, request, translator):
    """Whether markup is masked, as the model has symbols for it."""
    if arguments.server:
        return translator.masks_markup()
    data = translator.data()  # None if an export doesn't say.
    return request.markup is None and bool(getattr(data, "symbols", ()))


def _glossary(arguments, translator):
    """The glossary, if there is one."""
    if not arguments.glossary:
        return None
    if arguments.prefix:
        raise InputError("--glossary doesn't go with --prefix")
    glossary = Glossary.read(arguments.glossary)
    require_terms(
        translator.has_terms()
        if arguments.server
        else has_learned_terms(translator.data())
    )
    return glossary


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


@contextlib.contextmanager
def _opened(
    arguments, translator, batch_size, glossary, sentences, interactive=False
):
    """Yields what translates batches: a server, this process, or workers.

    Args:
        translator: a `RemoteTranslator`, or a factory.
        sentences: that are to be translated, at least.
        interactive: whether a server answers each batch before the next.
    """
    if arguments.server:
        opened = translator.opened(interactive=interactive)
    else:
        opened = open_translator(
            translator,
            choose_workers(arguments.workers, sentences, batch_size),
            arguments.threads or 1,
            functools.partial(
                load_tensorflow, sentences=min(sentences, batch_size)
            ),
        )
    with opened as translate_batches:
        if glossary is not None:
            patterns = all_patterns(translator.data(), arguments.placeholder)
            translate_batches = with_glossary(
                translate_batches, glossary, patterns
            )
        yield translate_batches


def _tell(truncations, name):
    if truncations.count:
        say(f"warning: {name}: {truncations.message('lines')}")


def _check_options(arguments, source):
    """Refuses options that don't go together."""
    check_engine_options(arguments)
    given = {source} if arguments.shards is None else {source, "shards"}
    for name, others in _GO_WITH.items():
        value = getattr(arguments, name)
        if is_given(value) and value != LOCAL and not given & {*others}:
            raise InputError(
                f"{flag(name)} goes with {' or '.join(map(flag, others))}. "
                f"Received: {flag(source)}"
            )
    if arguments.text and (arguments.input or arguments.shards is not None):
        raise InputError(
            "TEXT on the command line goes neither with --input nor with "
            f"--shards. Received: {shown(arguments.text[0], 40)}"
        )
    # Unlike `Path.is_file` it takes a text of any length.
    if len(arguments.text) == 1 and os.path.isfile(arguments.text[0]):  # noqa: PTH113
        raise InputError(
            "TEXT on the command line is a file's name. Accepted: --input, or "
            f"a text. Received: {shown(arguments.text[0], 40)}"
        )


def _of_run(arguments, request):
    """A translator factory of a run, and the batch size."""
    # Without loading the run, for which TensorFlow would be needed. Its
    # loader tells what is wrong with a folder that isn't one.
    config = run_config(arguments.run, default=Config())
    decoding = decoding_config(config, arguments)
    check_n_best(request.n_best, decoding, "--n-best")
    factory = RunTranslatorFactory(
        arguments.run,
        arguments.weights or "best",
        decoding,
        request,
        tuple(arguments.ensemble),
        arguments.shortlist,
    )
    return factory, decoding.batch_size


def _of_export(arguments, request):
    """A translator factory of an export, and the batch size."""
    from keras_transformer.exporting.registry.version_folders import (
        find_saved_model,
    )
    from keras_transformer.exporting.saved_translator import (
        SavedTranslatorFactory,
    )

    batch_size, greedy = fixed_search(arguments)
    factory = SavedTranslatorFactory(
        # One version, whatever is published meanwhile.
        str(find_saved_model(arguments.saved_model)),
        _signature(request, greedy),
        request,
    )
    return factory, batch_size


def _of_ctranslate2(arguments, request):
    """A translator factory of a folder for CTranslate2, and the batch size."""
    from keras_transformer.exporting.ctranslate2_folder import (
        read_config,
        require_ctranslate2,
        require_search,
    )
    from keras_transformer.exporting.ctranslate2_translator import (
        CTranslate2TranslatorFactory,
    )

    require_ctranslate2()
    folder = arguments.ctranslate2
    decoding = decoding_config(read_config(folder), arguments)
    require_search(decoding)
    check_n_best(request.n_best, decoding, "--n-best")
    factory = CTranslate2TranslatorFactory(
        folder,
        decoding,
        request,
        arguments.threads or 1,
    )
    return factory, decoding.batch_size


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
        _signature(request, greedy),
        request.count,
        None if request.markup == KEEP else request.placeholders,
    )
    return translator, batch_size


def _signature(request, greedy):
    """The signature of an export that gives what is requested."""
    if request.is_plain:
        return layout.GREEDY if greedy else layout.BEAM
    if greedy:
        raise InputError(
            "--beam-size 1 is an export's greedy signature, which gives one "
            "translation as text. Accepted with --n-best and --json: no "
            "--beam-size"
        )
    if request.count < 1:
        raise InputError(
            f"--n-best must be 1 or more. Received: {request.n_best}"
        )
    return layout.NBEST
