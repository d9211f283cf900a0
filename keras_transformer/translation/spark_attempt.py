"""Bulk translation by Apache Spark: a task for each shard.

The tasks read the text and write their shards where all of the cluster's
machines have the same files, by the same paths. Nothing but numbers goes
through Spark.
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from keras_transformer.errors import InputError
from keras_transformer.translation.bulk import (
    FAILURES,
    ShardWriting,
    finished_lines,
    reason_of,
)
from keras_transformer.translation.shard_folder import ShardFolder
from keras_transformer.translation.shard_manifest import BulkJob
from keras_transformer.translation.shards import ShardReader
from keras_transformer.translation.stream import one_by_one
from keras_transformer.translation.workers import (
    TranslatorFactory,
    set_threads,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


# Seconds between two looks at how far the tasks are.
_POLL_SECONDS = 1.0
# What a task says of its shard; the last: no shard can be translated.
_DONE, _FAILED, _NOT_OURS, _FATAL = "done", "failed", "not ours", "fatal"


class ShardOutcome(NamedTuple):
    """What became of a shard.

    Attributes:
        number: of the shard.
        kind: one of the words above.
        reason: why it failed, None if it didn't.
        truncated: numbers of lines that lost their end.
    """

    number: int
    kind: str
    reason: str | None = None
    truncated: Sequence[int] = ()


@dataclasses.dataclass(frozen=True)
class ShardTask:
    """Translates shards in a Python worker of Spark. Can be pickled.

    Attributes:
        job: the job, with absolute paths.
        factory: of the translator, which a Python worker loads once.
        writing: how shards are written.
        threads: that TensorFlow uses in each Python worker.
        prepare: called before the translator is loaded, without arguments.
    """

    job: BulkJob
    factory: TranslatorFactory
    writing: ShardWriting
    threads: int
    prepare: Callable[[], None]

    def __call__(self, number: int) -> ShardOutcome:
        """Translates a shard, if no other process does."""
        truncated: list = []
        try:
            with (
                ShardFolder(self.job) as folder,
                ShardReader(self.job.input, self.job.prefixes) as reader,
                folder.claim(number) as is_ours,
            ):
                if not is_ours:
                    return ShardOutcome(number, _NOT_OURS)
                shard = folder.shards[number]
                reader.check(shard)
                try:
                    translate = _loaded(
                        self.factory, self.threads, self.prepare
                    )
                except InputError as error:
                    return ShardOutcome(number, _FATAL, str(error))
                self.writing.write(
                    folder,
                    shard,
                    reader,
                    one_by_one(translate),
                    truncated.append,
                )
        except FAILURES as error:
            reason = reason_of(error)
            return ShardOutcome(number, _FAILED, reason, truncated)
        return ShardOutcome(number, _DONE, None, truncated)


@functools.lru_cache(maxsize=1)
def _loaded(factory, threads, prepare):
    """What translates, kept by the Python worker for its next shards."""
    prepare()
    set_threads(threads)
    return factory()


class SparkAttempt:
    """An `Attempt` (see `bulk`) of the tasks of a Spark session.

    Args:
        session: `pyspark.sql.SparkSession`.
        folder: the work folder, to see how far the tasks are.
        task: what translates a shard.
        truncated: called with the number of a line that lost its end.
        progress: called with the number of lines of all shards that are
            done, whoever did them.
    """

    def __init__(
        self,
        session: SparkSession,
        folder: ShardFolder,
        task: ShardTask,
        truncated: Callable[[int], None],
        progress: Callable[[int], None],
    ) -> None:
        self._session = session
        self._folder = folder
        self._task = task
        self._truncated = truncated
        self._progress = progress

    def __call__(self, numbers: list[int]) -> Iterator[tuple[int, str | None]]:
        """Translates these shards; yields why each failed, or None."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        try:
            outcomes = self._watched(numbers)
        except (Py4JError, PySparkException) as error:
            # Spark gave up after one of the tasks; others may be finished.
            reason = f"Spark: {_first_line(error)}"
            for number in self._folder.unfinished(numbers):
                yield number, reason
            return
        for outcome in outcomes:
            if outcome.kind == _FATAL:
                raise InputError(outcome.reason)
            for line in outcome.truncated:
                self._truncated(line)
            if outcome.kind != _NOT_OURS:
                yield outcome.number, outcome.reason

    def _watched(self, numbers) -> list[ShardOutcome]:
        """The outcomes of all tasks; shows progress meanwhile."""
        context = self._session.sparkContext
        # A partition, and so a task, for each shard.
        tasks = context.parallelize(numbers, len(numbers)).map(self._task)
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            outcomes = pool.submit(tasks.collect)
            try:
                while not outcomes.done():
                    concurrent.futures.wait([outcomes], _POLL_SECONDS)
                    self._progress(finished_lines(self._folder))
            except BaseException:
                context.cancelAllJobs()
                raise
        return outcomes.result()


def _first_line(error):
    """What an error of Spark says, without the stack of the JVM."""
    java = getattr(error, "java_exception", None)
    text = str(java if java is not None else error).strip()
    return text.splitlines()[0] if text else type(error).__name__
