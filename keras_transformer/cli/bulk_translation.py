"""`translate --shards`: very many lines, by any number of processes."""

import argparse
import contextlib
import dataclasses
import functools
import os
import pathlib
from collections.abc import Callable
from typing import Any

from keras_transformer.cli.console import Progress, load_tensorflow, say
from keras_transformer.cli.options import SPARK
from keras_transformer.cli.translation_output import format_translation
from keras_transformer.documents.glossary import Glossary
from keras_transformer.errors import InputError
from keras_transformer.system.checksums import checksum
from keras_transformer.translation.bulk import LocalAttempt, finish
from keras_transformer.translation.request import (
    TranslationRequest,
    Truncations,
)
from keras_transformer.translation.shard_folder import (
    AlreadyJoined,
    open_folder,
    ranges,
)
from keras_transformer.translation.shard_manifest import BulkJob
from keras_transformer.translation.stream import BATCHES_A_WINDOW
from keras_transformer.translation.terms import all_patterns
from keras_transformer.version import __version__

_RETRIES = 2
# Where Slurm and Kubernetes give a task of an array its number.
_NUMBER_VARIABLES = ("SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX")

OpenTranslator = Callable[[int], contextlib.AbstractContextManager]


def translate_in_shards(
    arguments: argparse.Namespace,
    request: TranslationRequest,
    factory: Any,
    batch_size: int,
    open_translator: OpenTranslator,
    glossary: Glossary | None,
) -> None:
    """Translates the input's shards, or one of them, and joins them.

    Args:
        arguments: parsed.
        request: what is requested of each line.
        factory: of the translator, with a fingerprint: that of a run, of an
            export, or of one for CTranslate2.
        batch_size: lines translated together.
        open_translator: from the number of lines, at most, to a context
            manager of what translates batches.
        glossary: which `open_translator` has, too; None: there is none.

    Raises:
        InputError: options don't fit; shards are left, or missing; see
            `open_folder`.
    """
    _check_options(arguments)
    number = _chosen_shard(arguments)
    job = _job(arguments, request, factory, batch_size)
    if arguments.join and not job.folder.is_dir():
        raise InputError(
            f"{job.folder}: isn't there, so there is nothing to join. "
            "Accepted: after `translate --shards`, the same options"
        )
    try:
        opened = open_folder(job)
    except AlreadyJoined as done:
        say(str(done))
        return
    with opened as folder:
        if not arguments.join:
            _translate(
                *(arguments, request, folder, factory),
                *(open_translator, number, glossary),
            )
        elif left := folder.join():
            raise InputError(
                f"{folder.path}: {len(left)} of {job.count} shards are missing "
                f"or damaged: {ranges(sorted(left))}. Accepted with --join: "
                "all of them"
            )


def _check_options(arguments):
    """Refuses options that don't fit --shards."""
    for name in ("input", "output"):
        if getattr(arguments, name) is None:
            raise InputError(f"--shards needs --{name}, a file")
    if arguments.output.lower().endswith(".gz"):
        raise InputError(
            "--shards joins plain text. Accepted: an --output without .gz. "
            f"Received: {arguments.output}"
        )
    if arguments.join and arguments.shard is not None:
        raise InputError("--join joins all shards. Accepted: no --shard")
    if arguments.engine == SPARK and arguments.shard not in (None, "all"):
        raise InputError("--engine spark does all shards. Accepted: no --shard")


def _job(arguments, request, factory, batch_size) -> BulkJob:
    """The job that the options describe."""
    options = dataclasses.asdict(factory)
    # The fingerprint is that of all that is read, in whichever folder.
    for name in ("folder", "request", "ensemble", "shortlist"):
        options.pop(name, None)
    options |= options.pop("decoding", {})
    options |= dataclasses.asdict(request)
    if arguments.glossary:
        options["glossary"] = checksum(pathlib.Path(arguments.glossary))
    options |= {"threads": arguments.threads or 1, "version": __version__}
    return BulkJob(
        arguments.input,
        arguments.prefix,
        arguments.output,
        arguments.shards,
        batch_size,
        BATCHES_A_WINDOW * batch_size,
        factory.fingerprint(),
        options,
    )


def _translate(
    arguments, request, folder, factory, open_translator, number, glossary
):
    """Translates the shards that are left, and joins them if it is for all."""
    count = len(folder.shards)
    numbers = range(count) if number is None else [number]
    if number is not None:
        say(f"shard {number} of {count}")
    lines = sum(shard.lines for shard in folder.shards)
    done = folder.finished_lines()
    truncations = Truncations()
    options: dict[str, Any] = {
        "format": functools.partial(format_translation, request=request),
        "truncated": truncations.add,
    }
    with (
        Progress("translating", lines, "sentences", done=done) as progress,
        contextlib.ExitStack() as stack,
    ):
        if arguments.engine == SPARK:
            attempt = _by_spark(
                *(stack, arguments, folder, factory),
                *(glossary, progress.update),
                **options,
            )
        else:
            attempt = stack.enter_context(
                LocalAttempt(
                    folder,
                    lambda: open_translator(lines - done),
                    progress=progress.update,
                    **options,
                )
            )
        end = folder.join
        if number is not None:
            end = functools.partial(folder.discard_damaged, numbers)
        retries = _RETRIES if arguments.retries is None else arguments.retries
        finish(folder, numbers, attempt, retries, say, end)
    if truncations.count:
        unit = "lines"
        if done:
            unit += f" besides the {done:,} that were translated before"
        say(f"warning: {arguments.input}: {truncations.message(unit)}")


def _by_spark(
    stack, arguments, folder, factory, glossary, progress, format, truncated
):
    """An `Attempt` of Spark's tasks, whose session starts with the first."""
    from keras_transformer.data.spark.session import spark_session
    from keras_transformer.translation.spark_attempt import (
        ShardTask,
        SparkAttempt,
    )

    task = ShardTask(
        *(folder.job, factory, format, arguments.threads or 1),
        *(load_tensorflow, glossary),
        all_patterns(factory.data(), arguments.placeholder),
    )

    @functools.cache
    def attempt():
        session = stack.enter_context(spark_session(arguments.master))
        return SparkAttempt(session, folder, task, truncated, progress)

    return lambda numbers: attempt()(numbers)


def _chosen_shard(arguments) -> int | None:
    """The shard that this process is to translate; None: all."""
    if arguments.join or arguments.engine == SPARK:
        return None
    name, text = "--shard", arguments.shard or ""
    for variable in _NUMBER_VARIABLES:
        if not text:
            name, text = variable, os.environ.get(variable, "")
    if text in ("", "all"):
        return None
    last = arguments.shards - 1
    if not (text.isascii() and text.isdigit() and int(text) <= last):
        raise InputError(
            f"{name} must be an integer from 0 to {last}, as there are "
            f"{arguments.shards} shards, or all. Received: {text}"
        )
    return int(text)
