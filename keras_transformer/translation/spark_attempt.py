"""Bulk translation by Apache Spark: a task for each shard.

The tasks read the text and write their shards where all of the cluster's
machines have the same files, by the same paths. Nothing but numbers goes
through Spark.
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


# Seconds between two looks at how far the tasks are.
_POLL_SECONDS = 1.0


class ShardOutcome(NamedTuple):
    """What became of a task.

    Attributes:
        tried: the number of its shard, and why it failed or None; none if
            another process does it.
        truncated: numbers of lines that lost their end.
        fatal: why no shard can be translated, None if they can.
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
        current: the folder from which relative paths begin.
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
        # Where it isn't there, absolute paths may be.
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
    """An `Attempt` (see `bulk`) of the tasks of a Spark session.

    Attributes:
        session: `pyspark.sql.SparkSession`.
        folder: the work folder, to see how far the tasks are.
        task: what translates a shard.
        truncated: called with the number of a line that lost its end.
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
            # Spark gave up after one of the tasks; others may be finished.
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
        """The outcomes of all tasks; shows progress meanwhile."""
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
