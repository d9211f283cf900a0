"""Spark engine: `prepare` on a cluster, or on all cores of a machine.

The pairs' keys and text are tables of Spark's; its workers run the package's
own cleaning, tokenizers and records, its SQL is that of `data.selection`. What
comes out is what one machine makes, byte for byte.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import json
import pathlib
import pickle
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from keras_transformer.config.data import DataConfig
from keras_transformer.data.cleaning import CleaningReport
from keras_transformer.data.engines import (
    ALIGNMENT_MODEL,
    CorpusTasks,
    EncodedShard,
    Rewrite,
    use_one_thread,
)
from keras_transformer.data.mixing import WeightedCorpus
from keras_transformer.data.prepared import TOKENIZERS
from keras_transformer.data.selection import KEY_BITS, PAIRS, TRAIN
from keras_transformer.data.spark.parts import corpus_parts
from keras_transformer.data.spark.session import spark_session
from keras_transformer.data.spark.tables import SparkTables
from keras_transformer.errors import InputError
from keras_transformer.system.remote import RemotePath

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


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
        engine = SparkEngine(spark, folder, out, config, set_up)
        with contextlib.closing(engine):
            yield engine


class SparkEngine:
    """Spark in place of `LocalEngine`.

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
        self.tables = SparkTables(spark)
        self._spark = spark
        self._set_up = set_up
        self._out = out if isinstance(out, RemotePath) else None
        self._folder = folder
        self._config = config
        self._cleaned: DataFrame
        self._text: dict[str, DataFrame] = {}
        self._persisted: list[DataFrame] = []

    def close(self) -> None:
        """Frees the workers' disks, where the session's cluster goes on."""
        # If Java doesn't answer, it has ended or was interrupted.
        with contextlib.suppress(Exception):
            self.tables.close()
            for frame in self._persisted:
                frame.unpersist()

    def _persist(self, frame):
        """Has the workers keep a DataFrame, at most until the end."""
        from pyspark import StorageLevel

        self._persisted.append(frame.persist(StorageLevel.DISK_ONLY))
        return frame

    def clean(
        self, corpora: list[WeightedCorpus]
    ) -> Iterator[tuple[int, CleaningReport]]:
        """See `LocalEngine.clean`."""
        from keras_transformer.data.spark import tasks

        files = [corpus.file for corpus in corpora]
        parts = corpus_parts(self._spark, files, self._config.max_line_bytes)
        clean = functools.partial(
            tasks.clean, parts=parts, corpora=corpora, config=self._config
        )
        numbers = self._spark.range(0, len(parts), 1, len(parts))
        self._cleaned = self._persist(
            numbers.mapInArrow(clean, tasks.CLEANED_SCHEMA)
        )
        rows = self._cleaned.where("report IS NOT NULL").select("report")
        reports = [json.loads(report) for (report,) in rows.collect()]
        if errors := [report for report in reports if report[-1] is not None]:
            raise InputError(min(errors, key=lambda each: each[:2])[-1])
        self.tables.view(
            PAIRS, self._cleaned.where("report IS NULL").drop("report")
        )
        for corpus, _, read, dropped, samples, _ in reports:
            report = CleaningReport()
            report.read, report.samples = read, samples
            report.dropped.update(dropped)
            yield corpus, report

    def sort(self, split: str, query: str) -> None:
        """See `LocalEngine.sort`."""
        text = self._persist(self._spark.sql(query))
        text.count()  # Computed now, as the tables go.
        self._text[split] = text

    def remove_tables(self) -> None:
        """See `LocalEngine.remove_tables`."""
        self.tables.close()
        self._cleaned.unpersist()

    def rewrite(
        self, split: str, shards: int, rewrite: Rewrite
    ) -> Iterator[collections.Counter]:
        """See `LocalEngine.rewrite`; done for all shards at once."""
        from keras_transformer.data.spark import tasks

        before = self._text[split]
        task = functools.partial(tasks.rewrite, rewrite=rewrite)
        text = self._persist(before.mapInArrow(task, tasks.REWRITTEN_SCHEMA))
        for (counts,) in (
            text.where("counts IS NOT NULL").select("counts").collect()
        ):
            yield collections.Counter(json.loads(counts))
        self._text[split] = text.drop("counts")
        before.unpersist()

    def count(self, side: str, shards: int) -> Iterator[object]:
        """See `LocalEngine.count`; they are counted when the table is used."""
        from keras_transformer.data.spark import tasks

        count = functools.partial(
            tasks.count_tokens,
            config=self._config,
            side=side,
            set_up=self._set_up,
        )
        text = self._text[TRAIN].select(side)
        tokens = text.mapInArrow(count, tasks.COUNTED_SCHEMA)
        self.tables.view(f"{side}_tokens", tokens)
        yield from range(shards)

    def training_text(self, side: str) -> Iterator[str]:
        """See `LocalEngine.training_text`."""
        for (text,) in self._text[TRAIN].select(side).toLocalIterator():
            yield text

    def encode(self, split: str, shards: int) -> Iterator[EncodedShard]:
        """See `LocalEngine.encode`."""
        from keras_transformer.data.spark import tasks

        encoder = tasks.Encoder(
            self._config,
            split,
            shards,
            self._files(),
            str(self._out or self._folder),
            self._set_up,
        )
        # See `selection.key_range`.
        shard = (
            f"shiftright(shiftright(place, 31) * {shards}L, {KEY_BITS - 31}) "
            "AS shard"
        )
        rows = (
            self._text[split]
            .selectExpr(shard, "place", "source", "target")
            .groupBy("shard")
            .applyInArrow(lambda table: encoder(table), tasks.ENCODED_SCHEMA)
            .collect()
        )
        if self._out:
            (self._out / "work").fetch(self._folder / "work")
            (self._out / "work").remove()
        done = {number: pickle.loads(result) for number, result in rows}
        here = CorpusTasks(self._folder, self._config)
        for number in range(shards):
            # An empty shard has no rows that a worker could meet.
            yield done.get(number) or here.encode_texts(
                split, number, shards, []
            )

    def _files(self):
        folder = self._folder
        paths = [*folder.glob(ALIGNMENT_MODEL)]
        for name in TOKENIZERS:
            paths += (folder / name).iterdir()
        return {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in paths
        }
