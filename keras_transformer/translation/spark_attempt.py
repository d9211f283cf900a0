"""Bulk translation by Apache Spark: a task for each shard.

The tasks read the text and write their shards in a file system that all of the
cluster's machines share, with the same paths. The text and its translations
don't pass through Spark.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import dataclasses
import functools
import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from keras_transformer.data.spark.session import spark_reason
from keras_transformer.documents.glossary import Glossary
from keras_transformer.errors import InputError
from keras_transformer.system.machine import choose_onednn, set_threads
from keras_transformer.translation.bulk import LocalAttempt
from keras_transformer.translation.shard_folder import ShardFolder
from keras_transformer.translation.shard_manifest import BulkJob
from keras_transformer.translation.stream import one_by_one, with_glossary
from keras_transformer.translation.workers import TranslatorFactory

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


# Seconds between reports of the tasks' progress.
_POLL_SECONDS = 1.0


class ShardOutcome(NamedTuple):
    """Result of a task.

    Attributes:
        tried: the number of its shard, and why it failed or None; empty if
            another process does the shard.
        truncated: numbers of truncated lines.
        fatal: an error that concerns all shards, or None.
    """

    tried: Sequence[tuple[int, str | None]] = ()
    truncated: Sequence[int] = ()
    fatal: str | None = None


@dataclasses.dataclass(frozen=True)
class ShardTask:
    """Translates shards in a Python worker of Spark. Can be pickled.

    Attributes:
        job: the job.
        factory: of the translator, which a Python worker loads once.
        format: see `LocalAttempt`.
        threads: that TensorFlow uses in each Python worker.
        prepare: called before the translator is loaded, without arguments.
        glossary, patterns: see `with_glossary`.
        current: the working directory, for relative paths.
    """

    job: BulkJob
    factory: TranslatorFactory
    format: Callable[..., str]
    threads: int
    prepare: Callable[[], None]
    glossary: Glossary | None = None
    patterns: tuple[str, ...] = ()
    current: str = dataclasses.field(default_factory=os.getcwd)

    def __call__(self, number: int) -> ShardOutcome:
        """Translates a shard, if no other process does."""
        # A machine without this directory may still have absolute paths.
        with contextlib.suppress(OSError):
            os.chdir(self.current)
        truncated: list[int] = []
        try:
            with ShardFolder(self.job) as folder:
                attempt = LocalAttempt(
                    folder,
                    self._opened,
                    self.format,
                    truncated.append,
                    lambda done: None,
                )
                return ShardOutcome(list(attempt([number])), truncated)
        except (InputError, OSError) as error:
            return ShardOutcome(fatal=str(error))

    def _opened(self):
        choose_onednn(self.job.batch_size)
        translate = _loaded(self.factory, self.threads, self.prepare)
        return contextlib.nullcontext(
            with_glossary(one_by_one(translate), self.glossary, self.patterns)
        )


@functools.lru_cache(maxsize=1)
def _loaded(factory, threads, prepare):
    """The translator, kept by the Python worker for its next shards."""
    prepare()
    set_threads(threads)
    return factory()


@dataclasses.dataclass(frozen=True)
class SparkAttempt:
    """An `Attempt` (see `bulk`) that runs tasks in a Spark session.

    Attributes:
        session: `pyspark.sql.SparkSession`.
        folder: the work folder, which shows the tasks' progress.
        task: translates a shard.
        truncated: called with the number of a truncated line.
        progress: called with the number of lines of all shards that are
            done, by any process.
    """

    session: SparkSession
    folder: ShardFolder
    task: ShardTask
    truncated: Callable[[int], None]
    progress: Callable[[int], None]

    def __call__(self, numbers: list[int]) -> Iterator[tuple[int, str | None]]:
        """Translates these shards; yields why each failed, or None."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        try:
            outcomes = self._watched(numbers)
        except (Py4JError, PySparkException) as error:
            # Spark gave up because of one task; others may be finished.
            reason = f"Spark: {spark_reason(error)}"
            for number in self.folder.unfinished(numbers):
                yield number, reason
            return
        for outcome in outcomes:
            if outcome.fatal is not None:
                raise InputError(outcome.fatal)
            for line in outcome.truncated:
                self.truncated(line)
            yield from outcome.tried

    def _watched(self, numbers) -> list[ShardOutcome]:
        """Runs the tasks, reports their progress and returns the outcomes."""
        context = self.session.sparkContext
        # A partition, and so a task, for each shard.
        tasks = context.parallelize(numbers, len(numbers)).map(self.task)
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            outcomes = pool.submit(tasks.collect)
            try:
                while not outcomes.done():
                    concurrent.futures.wait([outcomes], _POLL_SECONDS)
                    self.progress(self.folder.finished_lines())
            except BaseException:
                context.cancelAllJobs()
                raise
        return outcomes.result()
