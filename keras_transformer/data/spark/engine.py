"""Spark engine: `prepare` on a cluster, or on all cores of a machine.

Spark's tables have the keys and text of pairs, and its workers run the
package's own cleaning, tokenizers and records. The SQL is that of
`data.selection`. The result equals that of `LocalEngine`, byte for byte.
"""

from __future__ import annotations

import bisect
import collections
import contextlib
import dataclasses
import functools
import itertools
import json
import math
import pathlib
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from keras_transformer.config.data import DataConfig
from keras_transformer.data.cleaning import CleaningReport
from keras_transformer.data.corpus import Part, refuse_unequal_files
from keras_transformer.data.engines import (
    ALIGNMENT_MODEL,
    CorpusTasks,
    EncodedShard,
    use_one_thread,
)
from keras_transformer.data.lines import (
    bounded_lines,
    is_over_long,
    is_packed,
    read_errors,
    refuse_old_line_ends,
)
from keras_transformer.data.masking import Rewrite
from keras_transformer.data.mixing import WeightedCorpus
from keras_transformer.data.prepared import TOKENIZERS
from keras_transformer.data.selection import KEY_BITS, PAIRS, TRAIN, Step
from keras_transformer.data.spark.session import spark_session
from keras_transformer.errors import InputError
from keras_transformer.system.remote import RemotePath, size_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PART_BYTES = 32 << 20  # of a file that isn't compressed


@contextlib.contextmanager
def spark_engine(
    folder: pathlib.Path,
    out: pathlib.Path | RemotePath,
    config: DataConfig,
    master: str | None,
    load: Callable[[], None] | None = None,
) -> Iterator[SparkEngine]:
    """Yields an engine whose session lasts until the end of the block.

    Args:
        folder: where this process writes, with a subfolder `work`.
        out: target of the prepared data. Workers write there if it is an
            address; otherwise they write to `folder`, which a cluster has to
            share.
        config: of the data.
        master: see `spark_session`.
        load: called in each worker before TensorFlow is used; must be picklable
            by name.

    Raises:
        InputError: see `spark_session`.
    """
    with spark_session(master) as spark:
        set_up = functools.partial(use_one_thread, load)
        engine = SparkEngine(spark, folder, out, config, set_up)
        with contextlib.closing(engine):
            yield engine


class SparkTables:
    """Spark's counterpart of `Database`: views cached on the workers' disks.

    Args:
        spark: a session.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._frames: dict[str, DataFrame] = {}

    def fill(
        self,
        table: str,
        types: Mapping[str, str],
        chunks: Iterable[Mapping[str, Any]],
    ) -> None:
        """See `Database.fill`. This process holds all rows."""
        rows: list[tuple] = []
        for chunk in chunks:
            # As objects: NumPy strings would all be as long as the longest.
            columns = (np.asarray(chunk[name], object) for name in types)
            rows += zip(*map(np.ndarray.tolist, columns), strict=True)
        schema = ", ".join(f"{name} {kind}" for name, kind in types.items())
        self.view(table, self._spark.createDataFrame(rows, schema))

    def view(self, table: str, frame: DataFrame) -> None:
        """Makes a DataFrame a table."""
        frame.createOrReplaceTempView(table)
        self._frames[table] = frame

    def make(self, step: Step) -> int:
        """Creates a table by a query, and returns the number of its rows."""
        frame = on_disk(self._spark.sql(step.query))
        self.view(step.table, frame)
        return frame.count()

    def drop(self, table: str) -> None:
        """Removes a table."""
        self._spark.catalog.dropTempView(table)
        self._frames.pop(table).unpersist()

    def number(self, query: str) -> int:
        """Returns the single number in the result of a query."""
        return self._spark.sql(query).first()[0]

    def arrays(self, query: str) -> list[np.ndarray]:
        """Returns the columns of the result of a query, each `(N,)`."""
        table = self._spark.sql(query).toArrow()
        return [column.to_numpy() for column in table.columns]

    def close(self) -> None:
        """Removes all tables."""
        for table in [*self._frames]:
            self.drop(table)


class SparkEngine:
    """Spark's counterpart of `LocalEngine`.

    Args:
        spark: a session.
        folder: where this process writes, with a subfolder `work`.
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
        # Imported here because it needs pyarrow, which `spark_session` checks.
        from keras_transformer.data.spark import tasks

        self.tables = SparkTables(spark)
        self._tasks = tasks
        self._spark = spark
        self._set_up = set_up
        self._out = out if isinstance(out, RemotePath) else None
        self._folder = folder
        self._config = config
        self._cleaned: DataFrame
        self._text: dict[str, DataFrame] = {}
        self._persisted: list[DataFrame] = []

    def close(self) -> None:
        """Frees the workers' disks, as the cluster may outlive this engine."""
        # Java may have ended, or may have been interrupted.
        with contextlib.suppress(Exception):
            self.tables.close()
            for frame in self._persisted:
                frame.unpersist()

    def _persist(self, frame):
        """Caches a DataFrame on the workers, until `close` at the latest."""
        self._persisted.append(on_disk(frame))
        return frame

    def clean(
        self, corpora: list[WeightedCorpus]
    ) -> Iterator[tuple[int, CleaningReport]]:
        """See `LocalEngine.clean`."""
        files = [corpus.file for corpus in corpora]
        parts = self._parts(files)
        clean = functools.partial(
            self._tasks.clean, parts=parts, corpora=corpora, config=self._config
        )
        numbers = self._spark.range(0, len(parts), 1, len(parts))
        self._cleaned = self._persist(
            numbers.mapInArrow(clean, self._tasks.CLEANED_SCHEMA)
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

    def _parts(self, files):
        """Divides corpora into byte ranges, and counts the lines of each.

        The ranges are read in Python, because Spark's own reader holds lines of
        any length in memory. A compressed file is one part, and so is the other
        file of its pair.
        """
        parts = []
        for corpus, file in enumerate(files):
            # Workers have another current folder.
            paths = map(_everywhere, file.paths)
            sides = dict(zip(("source", "target"), paths, strict=False))
            file = dataclasses.replace(file, **sides)
            packed = bool(file.format)
            for path in file.paths:
                with read_errors(path):
                    packed |= is_packed(path)
            size = None if packed else _PART_BYTES
            # The first line of each block of a file, and the total of lines.
            starts = [self._starts(file, path, size) for path in file.paths]
            *lines, total = starts[0]
            if starts[-1][-1] != total:
                refuse_unequal_files(file, total, starts[-1][-1])
            for block, line in enumerate(lines):
                begin, end = self._tasks.ends_of_block(block, size)
                # The block of the other file that contains this line.
                other = bisect.bisect_right(starts[-1][:-1], line) - 1
                target, _ = self._tasks.ends_of_block(other, size)
                skipped = line - starts[-1][other]
                parts.append(
                    Part(corpus, file, line, begin, end, target, skipped)
                )
        return parts

    def _starts(self, file, path, size):
        """The first line's number of each block of a file, and the total."""
        count = 1
        if size is not None:
            with read_errors(path):
                count = max(1, math.ceil(size_of(path) / size))
        counting = functools.partial(
            self._tasks.count_lines, corpus=file, path=str(path), size=size
        )
        rows = self._spark.range(0, count, 1, count).mapInArrow(
            counting, self._tasks.LINES_SCHEMA
        )
        counts = [lines for _, lines in sorted(map(tuple, rows.collect()))]
        if sum(counts) == 1:
            with file.opened(path) as lines:
                line = next(bounded_lines(lines))
            if not is_over_long(line):
                refuse_old_line_ends(line, path)
        return [0, *itertools.accumulate(counts)]

    def sort(self, split: str, query: str) -> None:
        """See `LocalEngine.sort`."""
        text = self._persist(self._spark.sql(query))
        text.count()  # Computed now, before the tables are removed.
        self._text[split] = text

    def remove_tables(self) -> None:
        """See `LocalEngine.remove_tables`."""
        self.tables.close()
        self._cleaned.unpersist()

    def rewrite(
        self, split: str, shards: int, rewrite: Rewrite
    ) -> Iterator[collections.Counter]:
        """See `LocalEngine.rewrite`; processes all shards at once."""
        before = self._text[split]
        task = functools.partial(self._tasks.rewrite, rewrite=rewrite)
        text = self._persist(
            before.mapInArrow(task, self._tasks.REWRITTEN_SCHEMA)
        )
        for (counts,) in (
            text.where("counts IS NOT NULL").select("counts").collect()
        ):
            yield collections.Counter(json.loads(counts))
        self._text[split] = text.drop("counts")
        before.unpersist()

    def count(self, side: str, shards: int) -> Iterator[object]:
        """See `LocalEngine.count`; counting is deferred to the table's use."""
        count = functools.partial(
            self._tasks.count_tokens,
            config=self._config,
            side=side,
            set_up=self._set_up,
        )
        text = self._text[TRAIN].select(side)
        tokens = text.mapInArrow(count, self._tasks.COUNTED_SCHEMA)
        self.tables.view(f"{side}_tokens", tokens)
        yield from range(shards)

    def training_text(self, side: str) -> Iterator[str]:
        """See `LocalEngine.training_text`."""
        for (text,) in self._text[TRAIN].select(side).toLocalIterator():
            yield text

    def encode(self, split: str, shards: int) -> Iterator[EncodedShard]:
        """See `LocalEngine.encode`."""
        encoder = self._tasks.Encoder(
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
            .applyInArrow(
                lambda table: encoder(table), self._tasks.ENCODED_SCHEMA
            )
            .collect()
        )
        if self._out:
            (self._out / "work").fetch(self._folder / "work")
            (self._out / "work").remove()
        done = {number: pickle.loads(result) for number, result in rows}
        here = CorpusTasks(self._folder, self._config)
        for number in range(shards):
            # Workers get no group for an empty shard.
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


def on_disk(frame: DataFrame) -> DataFrame:
    """Makes workers compute a DataFrame once, and keep it on their disks."""
    from pyspark import StorageLevel

    return frame.persist(StorageLevel.DISK_ONLY)


def _everywhere(path):
    return path if isinstance(path, RemotePath) else path.absolute()
