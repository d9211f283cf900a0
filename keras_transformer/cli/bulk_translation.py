"""`translate --shards`: very many lines, by any number of processes."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import functools
import json
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from keras_transformer.cli.console import Progress, load_tensorflow, say
from keras_transformer.cli.options import (
    LOCAL,
    SPARK,
    add_engine_options,
    add_number,
    check_engine_options,
    is_given,
)
from keras_transformer.cli.translation_output import format_translation
from keras_transformer.data.corpus import CorpusFile
from keras_transformer.errors import InputError
from keras_transformer.translation.bulk import (
    LocalAttempt,
    ShardWriting,
    check_finished,
    finish,
    finished_lines,
    window_of,
)
from keras_transformer.translation.request import (
    TranslationRequest,
    Truncations,
)
from keras_transformer.translation.shard_folder import open_folder
from keras_transformer.translation.shard_manifest import BulkJob
from keras_transformer.translation.shards import ShardReader
from keras_transformer.translation.spark_attempt import ShardTask, SparkAttempt
from keras_transformer.version import __version__

if TYPE_CHECKING:
    from keras_transformer.export.ctranslate2_translator import (
        CTranslate2TranslatorFactory,
    )
    from keras_transformer.export.saved_translator import SavedTranslatorFactory
    from keras_transformer.translation.factory import RunTranslatorFactory

# Where Slurm and Kubernetes tell a task of an array its number.
_NUMBER_VARIABLES = ("SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX")
_RETRIES = 2

OpenTranslator = Callable[[int], contextlib.AbstractContextManager]


def add_shard_options(parser: argparse.ArgumentParser) -> None:
    """The options of bulk translation."""
    group = parser.add_argument_group(
        "in shards, for very many lines",
        "The same command goes on where one was killed, and several may work "
        "on the\nsame shards at once; the result is that without --shards.",
    )
    add_number(
        group,
        "--shards",
        "cut --input into N shards, translate each to a file in "
        "OUTPUT.shards, skip those that are finished, and join them",
    )
    group.add_argument(
        "--shard",
        metavar="I",
        help="translate shard I alone, from 0, and don't join. Default: "
        f"{' or '.join(_NUMBER_VARIABLES)}, if set; all: all of them, whatever "
        "is set",
    )
    group.add_argument(
        "--join",
        action="store_true",
        help="join the shards and translate none; refused if any is missing",
    )
    add_number(
        group,
        "--retries",
        f"how often a shard that failed is tried again (default: {_RETRIES})",
    )
    add_engine_options(
        group,
        "a task of Apache Spark for each shard, on machines that share the "
        "files",
    )


def check_shard_options(arguments: argparse.Namespace) -> None:
    """Refuses options of shards without --shards, or that don't fit.

    Raises:
        InputError: names the option and what is accepted.
    """
    count = arguments.shards
    check_engine_options(arguments)
    if count is None:
        for name in ("shard", "join", "retries", "engine"):
            value = getattr(arguments, name)
            if is_given(value) and value != LOCAL:
                raise InputError(f"--{name} goes with --shards")
        return
    if count < 1:
        raise InputError(f"--shards must be 1 or more. Received: {count}")
    if arguments.retries is not None and arguments.retries < 0:
        raise InputError(
            f"--retries must be 0 or more. Received: {arguments.retries}"
        )
    for name in ("input", "output"):
        if getattr(arguments, name) is None:
            raise InputError(f"--shards needs --{name}, a file")
    if arguments.server:
        raise InputError(
            "--shards goes with --run, --saved-model or --ctranslate2: a "
            "server's model may change between two shards"
        )
    if arguments.join and arguments.shard is not None:
        raise InputError("--join joins all shards. Accepted: no --shard")
    if arguments.engine == SPARK and arguments.shard not in (None, "all"):
        raise InputError("--engine spark does all shards. Accepted: no --shard")


def translate_in_shards(
    arguments: argparse.Namespace,
    request: TranslationRequest,
    factory: (
        RunTranslatorFactory
        | SavedTranslatorFactory
        | CTranslate2TranslatorFactory
    ),
    batch_size: int,
    open_translator: OpenTranslator,
) -> None:
    """Translates the input's shards, or one of them, and joins them.

    Args:
        arguments: parsed, and checked by `check_shard_options`.
        request: what is requested of each line.
        factory: of the translator.
        batch_size: lines translated together.
        open_translator: from the number of lines, at most, to a context
            manager of what translates batches.

    Raises:
        InputError: shards are left, or missing; see `open_folder`.
    """
    number = _chosen_shard(arguments)
    job = _job(arguments, request, factory, batch_size)
    if arguments.join and not job.folder.is_dir():
        raise InputError(
            f"{job.folder}: isn't there, so there is nothing to join. "
            "Accepted: after `translate --shards`, the same options"
        )
    folder, undecodable = open_folder(job)
    if folder is None:
        say(f"{job.output} was joined already")
        return
    with folder:
        if undecodable is not None:
            say(
                f"warning: {job.input}, line {undecodable}: not UTF-8; its "
                "shard can't be translated"
            )
        if not arguments.join:
            writing = ShardWriting(
                batch_size,
                functools.partial(format_translation, request=request),
            )
            left = _translate(
                arguments,
                job,
                folder,
                factory,
                writing,
                open_translator,
                number,
            )
            check_finished(folder, left)
        if number is None:
            folder.join()


def _job(arguments, request, factory, batch_size) -> BulkJob:
    """The job that the options describe."""
    options = dataclasses.asdict(factory)
    # The fingerprint stands for what is read, wherever it lies.
    for name in ("folder", "request", "ensemble", "shortlist"):
        options.pop(name, None)
    options |= options.pop("decoding", {})
    options |= dataclasses.asdict(request)
    options |= {
        "batch_size": batch_size,
        "threads": arguments.threads,
        "version": __version__,
    }
    return BulkJob(
        arguments.input,
        arguments.prefix,
        arguments.output,
        arguments.shards,
        window_of(batch_size),
        factory.fingerprint(),
        # As it is read back.
        json.loads(json.dumps(options)),
    )


def _translate(
    arguments, job, folder, factory, writing, open_translator, number
):
    """Translates what is left; `{number: why it failed}`."""
    count = len(folder.shards)
    numbers = range(count) if number is None else [number]
    if number is not None:
        say(f"shard {number} of {count}")
    lines = sum(shard.lines for shard in folder.shards)
    done = finished_lines(folder)
    truncations = Truncations()
    with Progress("translating", lines, "sentences", done=done) as progress:
        if not folder.unfinished(numbers):
            return {}
        if arguments.engine == SPARK:
            task = ShardTask(
                _anywhere(job),
                _anywhere(factory),
                writing,
                arguments.threads,
                load_tensorflow,
            )
            attempt = _by_spark(arguments, folder, task, truncations, progress)
        else:
            left = sum(
                folder.shards[n].lines for n in folder.unfinished(numbers)
            )
            attempt = _by_this_process(
                arguments,
                folder,
                writing,
                lambda: open_translator(left),
                truncations,
                progress,
            )
        retries = _RETRIES if arguments.retries is None else arguments.retries
        with attempt as translate:
            left_over = finish(folder, numbers, translate, retries, say)
    if truncations.count:
        say(f"warning: {arguments.input}: {truncations.message('lines')}")
    return left_over


@contextlib.contextmanager
def _by_this_process(
    arguments, folder, writing, open_translator, truncations, progress
):
    """An `Attempt` of this process and its workers."""
    with (
        ShardReader(arguments.input, arguments.prefix) as reader,
        LocalAttempt(
            folder,
            reader,
            writing,
            open_translator,
            truncations.add,
            progress.update,
        ) as attempt,
    ):
        yield attempt


@contextlib.contextmanager
def _by_spark(arguments, folder, task, truncations, progress):
    """An `Attempt` of Spark's tasks."""
    from keras_transformer.data.spark.session import spark_session

    with spark_session(arguments.master) as session:
        yield SparkAttempt(
            session,
            folder,
            task,
            truncations.add,
            progress.update,
        )


def _anywhere(value):
    """A job or a factory whose paths mean the same in every folder."""
    fields = {field.name for field in dataclasses.fields(value)}
    named = fields & {"input", "prefixes", "output", "folder", "ensemble"}
    paths = {
        name: _absolute(getattr(value, name))
        for name in named
        if getattr(value, name) is not None
    }
    if getattr(value, "shortlist", None) is not None:
        files = CorpusFile.parse(value.shortlist).paths
        paths["shortlist"] = ",".join(_absolute(tuple(map(str, files))))
    return dataclasses.replace(value, **paths)


def _absolute(path):
    """A path, or each of several; an address stays as it is."""
    if isinstance(path, tuple):
        return tuple(map(_absolute, path))
    # `Path.resolve` would follow links.
    return path if "://" in path else os.path.abspath(path)  # noqa: PTH100


def _chosen_shard(arguments) -> int | None:
    """The shard that this process is to translate; None: all."""
    if arguments.join or arguments.engine == SPARK:
        return None
    name, text = "--shard", arguments.shard
    if text is None:
        for variable in _NUMBER_VARIABLES:
            if os.environ.get(variable):
                name, text = variable, os.environ[variable]
                break
    if text in (None, "all"):
        return None
    last = arguments.shards - 1
    if not (text.isascii() and text.isdigit() and int(text) <= last):
        raise InputError(
            f"{name} must be an integer from 0 to {last}, as there are "
            f"{arguments.shards} shards, or all. Received: {text}"
        )
    return int(text)
