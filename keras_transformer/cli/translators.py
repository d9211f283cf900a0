"""Translators of the commands that translate, and their options."""

import argparse
import contextlib
import functools
import pathlib
from collections.abc import Iterator
from typing import Any

from keras_transformer.api.runs import run_config
from keras_transformer.cli.console import check_outputs, load_tensorflow
from keras_transformer.cli.options import (
    add_ensemble_option,
    add_model_options,
    add_options,
    add_process_options,
    add_search_options,
    add_shortlist_option,
    add_weights_option,
    decoding_config,
    fixed_search,
    flag,
    is_given,
)
from keras_transformer.cli.translation_output import add_request_options
from keras_transformer.config import Config
from keras_transformer.contract import layout
from keras_transformer.data.corpus import CorpusFile
from keras_transformer.data.lines import PACKED
from keras_transformer.documents.formats import (
    FORMATS,
    LINES,
    UNREAD,
    format_of,
)
from keras_transformer.documents.glossary import Glossary
from keras_transformer.errors import InputError
from keras_transformer.translation.request import PROJECT, TranslationRequest
from keras_transformer.translation.stream import (
    TranslateBatches,
    all_patterns,
    has_learned_terms,
    require_terms,
    with_glossary,
)
from keras_transformer.translation.texts import TextTranslator, check_n_best
from keras_transformer.translation.workers import (
    RunTranslatorFactory,
    choose_workers,
    open_translator,
)

_HERE = ("run", "saved_model", "ctranslate2")
# Options, and the only sources of translations that take them.
_GO_WITH: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("weights", "ensemble", "shortlist"), ("run",)),
    **dict.fromkeys(("token_scores", "alignment", "prefix"), ("run",)),
    **dict.fromkeys(("workers", "threads"), _HERE),
    **dict.fromkeys(("model", "version", "label", "timeout"), ("server",)),
}
# A glossary, and regular expressions of markup, in which no terms are searched.
Terms = tuple[Glossary | None, tuple[str, ...]]


def add_source_options(
    parser: argparse.ArgumentParser,
) -> "argparse._MutuallyExclusiveGroup":
    """Adds the sources of translations, of which one is required."""
    group = add_model_options(parser)
    text = "what `export --format ctranslate2` wrote; runs on the processor"
    add_options(group, {"--ctranslate2 FOLDER": text})
    return group


def add_translation_options(parser: argparse.ArgumentParser) -> None:
    """Adds options of the translation and of its output."""
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


def check_options(arguments: argparse.Namespace) -> None:
    """Refuses options that don't fit together, before anything is read.

    Raises:
        InputError: names the option and what is accepted.
    """
    source = _source(arguments)
    for name, others in _GO_WITH.items():
        given = is_given(getattr(arguments, name, None))
        if given and source not in others:
            raise InputError(
                f"{flag(name)} goes with {' or '.join(map(flag, others))}. "
                f"Received: {flag(source)}"
            )
    if arguments.markup == PROJECT and source != "run":
        raise InputError(
            f"--markup project goes with --run. Received: {flag(source)}"
        )
    for name in ("prefix", "token_scores", "alignment"):
        if arguments.markup == PROJECT and getattr(arguments, name):
            raise InputError(f"--markup project doesn't go with {flag(name)}")
    if arguments.glossary and arguments.prefix:
        raise InputError("--glossary doesn't go with --prefix")
    read = [arguments.input, arguments.prefix, arguments.glossary]
    if arguments.shortlist:
        read += CorpusFile.parse(arguments.shortlist).paths
    check_outputs([arguments.output], filter(None, read))


def _source(arguments):
    """The option that names the model or the server."""
    return next((name for name in _HERE if getattr(arguments, name)), "server")


def input_format(arguments: argparse.Namespace) -> str:
    """The format of the input, by `--format` or by the file's name.

    Raises:
        InputError: the name is that of a document of an unknown format.
    """
    if arguments.format or not arguments.input:
        return arguments.format or LINES
    path = pathlib.Path(arguments.input)
    found = format_of(path)
    is_packed = path.suffix.lower() in PACKED
    name = path.with_suffix("") if is_packed else path
    if name.suffix.lower() in UNREAD or format_of(name) != found:
        raise InputError(
            f"{path}: not a known format of documents. Accepted: one of "
            f"{', '.join(FORMATS)}, unpacked, by --format if not by name"
        )
    return found


def translator_factory(
    arguments: argparse.Namespace, request: TranslationRequest
) -> tuple[Any, int]:
    """A translator factory, with a fingerprint, and the batch size.

    Args:
        arguments: parsed.
        request: for each line.

    Raises:
        InputError: the model can't be used, or not with these options.
    """
    makers = {
        "run": _of_run,
        "saved_model": _of_export,
        "ctranslate2": _of_ctranslate2,
    }
    return makers[_source(arguments)](arguments, request)


def _of_run(arguments, request):
    """A translator factory of a run, and the batch size."""
    # Doesn't load the run, which would need TensorFlow. Loading it later tells
    # what is wrong with a folder that isn't a run.
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
        # The same version throughout, even if another one is published.
        str(find_saved_model(arguments.saved_model)),
        signature_of(request, greedy),
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


def signature_of(request: TranslationRequest, greedy: bool) -> str:
    """The signature of an export that returns the requested outputs.

    Raises:
        InputError: no signature does.
    """
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


def read_terms(arguments: argparse.Namespace, translator: Any) -> Terms:
    """The glossary, if there is one.

    Args:
        arguments: parsed.
        translator: a `TextTranslator`, or a factory.

    Raises:
        InputError: the file isn't a glossary, or the model wasn't trained
            with terms.
    """
    if not arguments.glossary:
        return None, ()
    glossary = Glossary.read(arguments.glossary)
    data = translator.data()
    require_terms(
        translator.has_terms()
        if isinstance(translator, TextTranslator)
        else has_learned_terms(data)
    )
    return glossary, all_patterns(data, arguments.placeholder)


def opened_factory(
    arguments: argparse.Namespace,
    factory: Any,
    batch_size: int,
    terms: Terms,
    sentences: int,
) -> contextlib.AbstractContextManager[TranslateBatches]:
    """A context manager of a batch translator: this process or workers.

    Args:
        arguments: parsed.
        factory: see `translator_factory`.
        batch_size: lines translated together.
        terms: see `read_terms`.
        sentences: number to translate, at least.
    """
    opened = open_translator(
        factory,
        choose_workers(arguments.workers, sentences, batch_size),
        arguments.threads or 1,
        functools.partial(
            load_tensorflow, sentences=min(sentences, batch_size)
        ),
    )
    return with_terms(opened, terms)


@contextlib.contextmanager
def with_terms(
    opened: contextlib.AbstractContextManager[TranslateBatches], terms: Terms
) -> Iterator[TranslateBatches]:
    """The same context manager, of a batch translator with a glossary."""
    with opened as translate_batches:
        yield with_glossary(translate_batches, *terms)
