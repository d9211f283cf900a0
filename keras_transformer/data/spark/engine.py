"""Spark engine: `prepare` on a cluster, or on all cores of a machine.

The pairs' keys and text are tables of Spark's; its workers run the package's
own cleaning, tokenizers and records, its SQL is that of `data.selection`. What
comes out is what one machine makes, byte for byte.
"""

from __future__ import annotations

import contextlib
import functools
import pathlib
import pickle
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from keras_transformer.config.data import DataConfig
from keras_transformer.data.corpus import Pair
from keras_transformer.data.corpus_tasks import CorpusTasks, use_one_thread
from keras_transformer.data.engines import Engine
from keras_transformer.data.prepared import SOURCE_TOKENIZER, TARGET_TOKENIZER
from keras_transformer.data.selection import TRAIN
from keras_transformer.data.sorted_text import Progress
from keras_transformer.data.spark.session import spark_session
from keras_transformer.data.spark.sorted_text import SparkSortedText
from keras_transformer.data.spark.tables import SparkTables
from keras_transformer.system.remote import RemotePath

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextlib.contextmanager
def spark_engine(
    folder: pathlib.Path,
    out: pathlib.Path | RemotePath,
    config: DataConfig,
    master: str | None,
    load: Callable[[], None] | None = None,
) -> Iterator[SparkEngine]:
    """An engine, whose session lasts as long as the block.

    Args:
        folder: where this process writes, with a folder `work`.
        out: where the prepared data will be. Workers write there, if it is an
            address; else to `folder`, so that a cluster has to share it.
        config: of the data.
        master: see `spark_session`.
        load: called in each worker before TensorFlow is used; anything that
            can be pickled by its name.

    Raises:
        InputError: see `spark_session`.
    """
    with spark_session(master) as spark:
        set_up = functools.partial(use_one_thread, load)
        yield SparkEngine(spark, folder, out, config, set_up)


class SparkEngine(Engine):
    """An `Engine`; see `data.engines`.

    Args:
        spark: a session.
        folder: where this process writes, with a folder `work`.
        out: see `spark_engine`.
        config: of the data.
        set_up: called in workers before TensorFlow is used.
    """

    def __init__(
        self,
        spark: SparkSession,
        folder: pathlib.Path,
        out: pathlib.Path | RemotePath,
        config: DataConfig,
        set_up: Callable[[], None],
    ) -> None:
        self._spark = spark
        self._set_up = set_up
        self._out = out if isinstance(out, RemotePath) else None
        self._folder = folder
        self._config = config
        self._text: dict = {}

    def sorted_text(self, progress: Progress) -> SparkSortedText:
        """See `Engine.sorted_text`."""
        return SparkSortedText(
            self._spark,
            self._folder,
            self._config,
            progress,
            functools.partial(SparkTables, self._spark),
            self._text,
            self._set_up,
        )

    def training_text(self, shard: int) -> Iterator[Pair]:
        """See `Engine.training_text`."""
        rows = (
            self._text[TRAIN]
            .where(f"shard = {shard}")
            .orderBy("shuffle_key")
            .select("source", "target")
            .collect()
        )
        yield from map(tuple, rows)

    def do(self, tasks: Iterable[tuple]) -> Iterator:
        """See `Engine.do`."""
        tasks = list(tasks)
        if not tasks:
            return
        _, split, *_ = tasks[0]
        here = CorpusTasks(self._folder, self._config, partitions=1)
        if split not in self._text:
            # A dev file, which this process has read.
            yield from map(here, tasks)
            return
        by_shard = {task[2]: task for task in tasks}
        done = self._done(split, by_shard)
        for shard, task in by_shard.items():
            # An empty shard has no rows that a worker could meet.
            yield done[shard] if shard in done else here(task)

    def _done(self, split, by_shard):
        """The results of tasks, by shard."""
        from keras_transformer.data.spark import tasks

        do = functools.partial(
            tasks.do_tasks,
            config=self._config,
            tasks=by_shard,
            split=split,
            tokenizers=self._tokenizer_files(),
            out=str(self._out or self._folder),
            set_up=self._set_up,
        )
        rows = self._text[split].mapInArrow(do, tasks.DONE_SCHEMA).collect()
        if self._out:
            (self._out / "work").fetch(self._folder / "work")
            (self._out / "work").remove()
        return {shard: pickle.loads(result) for shard, result in rows}

    def _tokenizer_files(self):
        return {
            path.relative_to(self._folder).as_posix(): path.read_bytes()
            for name in (SOURCE_TOKENIZER, TARGET_TOKENIZER)
            for path in (self._folder / name).iterdir()
        }
