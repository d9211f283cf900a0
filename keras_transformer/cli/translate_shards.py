"""Translates very many lines in shards, by any number of processes.

Cuts a file into shards, translates each to a file in OUTPUT.shards, and joins
them to the same output as that of `translate`. The same command resumes after a
kill, and several processes may work on the same shards at once.

example:
  keras-transformer translate-shards --run runs/en-zh --shards 64 \\
      --input big.txt --output big.out
"""

import argparse
import contextlib
import dataclasses
import functools
import os
import pathlib

from keras_transformer.cli.console import Progress, load_tensorflow, say
from keras_transformer.cli.options import (
    SPARK,
    add_engine_options,
    add_options,
    check_engine_options,
    integer,
)
from keras_transformer.cli.translation_output import (
    format_translation,
    translation_request,
)
from keras_transformer.cli.translators import (
    add_source_options,
    add_translation_options,
    check_options,
    input_format,
    opened_factory,
    read_terms,
    translator_factory,
)
from keras_transformer.documents.formats import LINES
from keras_transformer.errors import InputError
from keras_transformer.system.checksums import checksum
from keras_transformer.translation.bulk import LocalAttempt, finish
from keras_transformer.translation.request import Truncations
from keras_transformer.translation.shard_folder import (
    AlreadyJoined,
    open_folder,
    ranges,
)
from keras_transformer.translation.shard_manifest import BulkJob
from keras_transformer.translation.stream import BATCHES_A_WINDOW
from keras_transformer.version import __version__

# Variables of Slurm and Kubernetes with a task's number in its array.
_NUMBER_VARIABLES = ("SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_source_options(parser)
    files = {
        "--input FILE": "lines, plain or packed",
        "--output FILE": "plain text",
    }
    add_options(parser, files, required=True)
    shards = "how many shards the input is cut into"
    add_options(parser, {"--shards N": shards}, type=integer(1), required=True)
    add_options(
        parser,
        {
            "--shard I": "translate shard I alone, from 0, and don't join. "
            "Default: SLURM_ARRAY_TASK_ID or JOB_COMPLETION_INDEX, if set; "
            "all: all of them, whatever is set",
            "--join": "join the shards and translate none; refused if any is "
            "missing",
        },
    )
    retries = (
        "how often a shard that failed is tried again (default: %(default)s)"
    )
    add_options(parser, {"--retries N": retries}, type=integer(0), default=2)
    parser.add_argument(
        "--format",
        choices=(LINES,),
        help="of --input, if its name is that of a document",
    )
    add_translation_options(parser)
    add_engine_options(
        parser,
        "a task of Apache Spark for each shard, on machines that share the "
        "files",
    )


def run(arguments: argparse.Namespace) -> None:
    check_options(arguments)
    _check_options(arguments)
    number = _chosen_shard(arguments)
    request = translation_request(arguments)
    factory, batch_size = translator_factory(arguments, request)
    terms = read_terms(arguments, factory)
    job = _job(arguments, request, factory, batch_size)
    if arguments.join and not job.folder.is_dir():
        raise InputError(
            f"{job.folder}: isn't there, so there is nothing to join. "
            "Accepted: after `translate-shards` without --join, the same "
            "options"
        )
    try:
        opened = open_folder(job)
    except AlreadyJoined as done:
        say(str(done))
        return
    with opened as folder:
        if not arguments.join:
            _translate(arguments, request, folder, factory, number, terms)
        elif left := folder.join():
            raise InputError(
                f"{folder.path}: {len(left)} of {job.count} shards are missing "
                f"or damaged: {ranges(sorted(left))}. Accepted with --join: "
                "all of them"
            )


def _check_options(arguments):
    """Refuses options that don't fit together, and documents."""
    check_engine_options(arguments)
    if input_format(arguments) != LINES:
        raise InputError(
            f"{arguments.input}: a document, which isn't cut into shards. "
            "Accepted: lines (--format lines)"
        )
    if arguments.output.lower().endswith(".gz"):
        raise InputError(
            "shards are joined to plain text. Accepted: an --output without "
            f".gz. Received: {arguments.output}"
        )
    if arguments.join and arguments.shard is not None:
        raise InputError("--join joins all shards. Accepted: no --shard")
    if arguments.engine == SPARK and arguments.shard not in (None, "all"):
        raise InputError("--engine spark does all shards. Accepted: no --shard")


def _job(arguments, request, factory, batch_size) -> BulkJob:
    """The job that the options describe."""
    options = dataclasses.asdict(factory)
    # The fingerprint covers all files that are read, in whichever folder.
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


def _translate(arguments, request, folder, factory, number, terms):
    """Translates the remaining shards, and joins them unless one was chosen."""
    count = len(folder.shards)
    numbers = range(count) if number is None else [number]
    if number is not None:
        say(f"shard {number} of {count}")
    lines = sum(shard.lines for shard in folder.shards)
    done = folder.finished_lines()
    format = functools.partial(format_translation, request=request)
    truncations = Truncations()

    def opened():
        batch_size = folder.job.batch_size
        return opened_factory(
            arguments, factory, batch_size, terms, lines - done
        )

    with (
        Progress("translating", lines, "sentences", done=done) as progress,
        contextlib.ExitStack() as stack,
    ):
        if arguments.engine == SPARK:
            attempt = _by_spark(
                *(stack, arguments, folder, factory, format, terms),
                *(truncations.add, progress.update),
            )
        else:
            attempt = stack.enter_context(
                LocalAttempt(
                    folder, opened, format, truncations.add, progress.update
                )
            )
        end = folder.join
        if number is not None:
            end = functools.partial(folder.discard_damaged, numbers)
        finish(folder, numbers, attempt, arguments.retries, say, end)
    if truncations.count:
        unit = "lines"
        if done:
            unit += f" besides the {done:,} that were translated before"
        say(f"warning: {arguments.input}: {truncations.message(unit)}")


def _by_spark(
    stack, arguments, folder, factory, format, terms, truncated, progress
):
    """An `Attempt` by Spark's tasks; its first call starts the session."""
    from keras_transformer.data.spark.session import spark_session
    from keras_transformer.translation.spark_attempt import (
        ShardTask,
        SparkAttempt,
    )

    task = ShardTask(
        *(folder.job, factory, format, arguments.threads or 1),
        *(load_tensorflow, *terms),
    )

    @functools.cache
    def attempt():
        session = stack.enter_context(spark_session(arguments.master))
        return SparkAttempt(session, folder, task, truncated, progress)

    return lambda numbers: attempt()(numbers)


def _chosen_shard(arguments) -> int | None:
    """The shard for this process to translate; None: all."""
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
