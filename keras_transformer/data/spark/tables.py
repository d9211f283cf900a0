"""Tables of Spark's: the lines of corpora, and the keys of their pairs.

Files are read in blocks side by side, by Python: Spark's own reader holds a
line whole, however long it is. The number of a line is that of its block's
first line, known once all blocks are counted, and what it is within the block.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from keras_transformer.data.bounded_lines import (
    bounded_lines,
    count_lines_of_block,
    is_over_long,
    lines_of_block,
)
from keras_transformer.data.corpus import (
    is_gzip,
    open_bytes,
    read_errors,
    refuse_old_line_ends,
    refuse_unequal_files,
)
from keras_transformer.data.mixing import WeightedCorpus
from keras_transformer.data.selection import Step
from keras_transformer.data.spark.session import BATCH_ROWS
from keras_transformer.system.remote import RemotePath, any_path, size_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


_BLOCK_BYTES = 32 << 20  # of a file that isn't packed
_BATCH_BYTES = 4 << 20  # of lines that are handed on together
_BLOCKS = "block long, lines long"
_LINES = "number long, content binary, long boolean"


def corpus_lines(
    spark: SparkSession, corpora: list[WeightedCorpus], line_bytes: int
) -> DataFrame:
    """The lines of all corpora, undecoded.

    Args:
        spark: a session.
        corpora: whose files were described, so that they can be read.
        line_bytes: of a line; those with more are emptied.

    Returns:
        DataFrame of `corpus` (index), `number` (from 0), `source`, `target`:
        the bytes of a line of a TSV file and null, or of two files; `long`:
        whether one of them was emptied.

    Raises:
        InputError: two files differ in length, or lines end with CR alone.
    """
    from pyspark.sql import functions

    frames = []
    for index, corpus in enumerate(corpora):
        file = corpus.file
        lines, count = _numbered(spark, file.source, "source", line_bytes)
        long = functions.col("source_long")
        if file.target is None:
            lines = lines.withColumn(
                "target", functions.lit(None).cast("binary")
            )
        else:
            targets, target_count = _numbered(
                spark, file.target, "target", line_bytes
            )
            long = long | functions.col("target_long")
            if count != target_count:
                refuse_unequal_files(file, count, target_count)
            lines = lines.join(targets, "number")
        lines = lines.withColumn("corpus", functions.lit(index))
        lines = lines.withColumn("long", long)
        names = ("corpus", "number", "source", "target", "long")
        frames.append(lines.select(*names))
    whole = frames[0]
    for frame in frames[1:]:
        whole = whole.unionByName(frame)
    return whole


def _numbered(spark, path, name, line_bytes):
    """The lines of a file, as DataFrame of `number`, `name` and `name_long`.

    Returns:
        it, and the number of lines.
    """
    path = _everywhere(path)
    with read_errors(path):
        packed = is_gzip(path)
        size = size_of(path)
    block_bytes = None if packed else _BLOCK_BYTES
    count = 1 if packed else max(1, math.ceil(size / _BLOCK_BYTES))
    blocks = spark.range(0, count, 1, count)
    counting = functools.partial(
        count_lines, path=str(path), block_bytes=block_bytes
    )
    rows = blocks.mapInArrow(counting, _BLOCKS).collect()
    first, total = {}, 0
    for block, lines in sorted(map(tuple, rows)):
        first[block] = total
        total += lines
    if total == 1:
        with open_bytes(path) as file:
            line = next(bounded_lines(file, line_bytes))
        if not is_over_long(line, line_bytes):
            refuse_old_line_ends(line, path)
    reading = functools.partial(
        read_lines,
        path=str(path),
        block_bytes=block_bytes,
        line_bytes=line_bytes,
        first=first,
    )
    frame = blocks.mapInArrow(reading, _LINES)
    return frame.toDF("number", name, f"{name}_long"), total


def _everywhere(path):
    """A path that means the same in another folder, or an address."""
    return path if isinstance(path, RemotePath) else path.absolute()


def count_lines(
    batches: Iterable, path: str, block_bytes: int | None
) -> Iterator:
    """Counts the lines of blocks of a file.

    Args:
        batches: of `id`, the numbers of blocks.
        path: of the file, or its address.
        block_bytes: of a block; None: the file is one.

    Yields:
        rows of `_BLOCKS`.
    """
    import pyarrow as pa

    for block in _ids(batches):
        with read_errors(path), open_bytes(any_path(path)) as file:
            count = count_lines_of_block(file, *_ends(block, block_bytes))
        table = {"block": pa.array([block]), "lines": pa.array([count])}
        yield pa.RecordBatch.from_pydict(table)


def read_lines(
    batches: Iterable,
    path: str,
    block_bytes: int | None,
    line_bytes: int,
    first: Mapping[int, int],
) -> Iterator:
    """Reads the lines of blocks of a file, over-long ones emptied.

    Args:
        batches: of `id`, the numbers of blocks.
        path: of the file, or its address.
        block_bytes: of a block; None: the file is one.
        line_bytes: of a line, at most.
        first: the number of the first line of each block.

    Yields:
        rows of `_LINES`.
    """
    for block in _ids(batches):
        number = first[block]
        with read_errors(path) as reading, open_bytes(any_path(path)) as file:
            begin, end = _ends(block, block_bytes)
            lines = lines_of_block(file, begin, end, line_bytes)
            for part in _some(lines):
                reading.line = number
                yield _lines_batch(part, number, line_bytes)
                number += len(part)


def _ids(batches):
    for batch in batches:
        yield from batch.column("id").to_pylist()


def _ends(block, block_bytes):
    if block_bytes is None:
        return 0, None
    return block * block_bytes, (block + 1) * block_bytes


def _some(lines):
    """Yields lists of lines, of bounded number and bytes."""
    part, size = [], 0
    for line in lines:
        part.append(line)
        size += len(line)
        if len(part) == BATCH_ROWS or size > _BATCH_BYTES:
            yield part
            part, size = [], 0
    if part:
        yield part


def _lines_batch(lines, number, line_bytes):
    import pyarrow as pa

    long = [is_over_long(line, line_bytes) for line in lines]
    contents = [
        b"" if over else line.removesuffix(b"\n")
        for line, over in zip(lines, long, strict=True)
    ]
    table = {
        "number": pa.array(range(number, number + len(lines)), pa.int64()),
        "content": pa.array(contents, pa.binary()),
        "long": pa.array(long, pa.bool_()),
    }
    return pa.RecordBatch.from_pydict(table)


class SparkTables:
    """As `KeyTables`: views, each computed once, on the workers' disks.

    Args:
        spark: a session.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._frames: dict[str, DataFrame] = {}
        self._waiting: dict = {}

    def create(self, table: str, **columns: str) -> None:
        """Makes an empty table of columns with these types.

        Its rows are held by this process until they are looked at: it is for
        held-out pairs.
        """
        schema = ", ".join(f"{name} {kind}" for name, kind in columns.items())
        self._waiting[table] = (schema, [])
        self.view(table, self._spark.createDataFrame([], schema))

    def insert(self, table: str, columns: Mapping[str, np.ndarray]) -> None:
        """Adds rows to a table that `create` has made.

        Args:
            table: its name.
            columns: for each column, its `(N,)` values.
        """
        schema, rows = self._waiting[table]
        names = [part.split()[0] for part in schema.split(", ")]
        rows += zip(*(columns[name].tolist() for name in names), strict=True)

    def view(self, table: str, frame: DataFrame) -> None:
        """Has a DataFrame be a table."""
        frame.createOrReplaceTempView(table)
        self._frames[table] = frame

    def frame(self, table: str) -> DataFrame:
        """A table as a DataFrame."""
        self._insert_all()
        return self._frames[table]

    def make(self, step: Step) -> int:
        """Makes a table by a query; the number of its rows."""
        from pyspark import StorageLevel

        self._insert_all()
        frame = self._spark.sql(step.query).persist(StorageLevel.DISK_ONLY)
        self.view(step.table, frame)
        return frame.count()

    def drop(self, table: str) -> None:
        """Removes a table, and what waits for it."""
        self._waiting.pop(table, None)
        self._spark.catalog.dropTempView(table)
        self._frames.pop(table).unpersist()

    def number(self, query: str) -> int:
        """The one number that a query gives."""
        self._insert_all()
        return self._spark.sql(query).first()[0]

    def arrays(self, query: str) -> list[np.ndarray]:
        """The columns that a query gives, each `(N,)`."""
        self._insert_all()
        frame = self._spark.sql(query)
        rows = np.array([tuple(row) for row in frame.collect()])
        return list(rows.reshape(-1, len(frame.columns)).T)

    def close(self) -> None:
        """Removes all tables."""
        for table in [*self._frames]:
            self.drop(table)

    def _insert_all(self):
        """Makes the rows that wait part of their tables."""
        for table, (schema, rows) in self._waiting.items():
            if rows:
                new = self._spark.createDataFrame(rows, schema)
                self.view(table, self._frames[table].unionByName(new))
                rows.clear()
