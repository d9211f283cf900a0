"""Parts of corpora: byte ranges of files, which Spark's workers read.

Python reads them: Spark's own reader holds a line whole, however long it is.
The number of a part's first line is known once all parts are counted.
"""

from __future__ import annotations

import bisect
import dataclasses
import functools
import itertools
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from keras_transformer.data.corpus import CorpusFile, Part, refuse_unequal_files
from keras_transformer.data.lines import (
    bounded_lines,
    count_lines_of_block,
    is_over_long,
    is_packed,
    read_errors,
    refuse_old_line_ends,
)
from keras_transformer.system.remote import RemotePath, any_path, size_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PART_BYTES = 32 << 20  # of a file that isn't packed


def corpus_parts(
    spark: SparkSession, files: Iterable[CorpusFile], line_bytes: int
) -> list[Part]:
    """The parts of corpora, whose lines Spark's workers count.

    A packed file is one part, and so is a file that belongs to it.

    Args:
        spark: a session.
        files: the corpora.
        line_bytes: of a line; those with more are emptied.

    Raises:
        InputError: a file can't be read, two files differ in length, or lines
            end with CR alone.
    """
    parts = []
    for corpus, file in enumerate(files):
        # Paths that mean the same in another folder, or addresses.
        paths = map(_everywhere, file.paths)
        sides = dict(zip(("source", "target"), paths, strict=False))
        file = dataclasses.replace(file, **sides)
        packed = bool(file.format)
        for path in file.paths:
            with read_errors(path):
                packed |= is_packed(path)
        size = None if packed else _PART_BYTES
        # The first line of each block of a file, and the number of lines.
        starts = [
            _starts(spark, file, path, size, line_bytes) for path in file.paths
        ]
        *lines, total = starts[0]
        if starts[-1][-1] != total:
            refuse_unequal_files(file, total, starts[-1][-1])
        for block, line in enumerate(lines):
            begin, end = _ends(block, size)
            # The block of the other file that has this line.
            other = bisect.bisect_right(starts[-1][:-1], line) - 1
            target, _ = _ends(other, size)
            skipped = line - starts[-1][other]
            parts.append(Part(corpus, file, line, begin, end, target, skipped))
    return parts


def _everywhere(path):
    return path if isinstance(path, RemotePath) else path.absolute()


def _ends(block, size):
    return (0, None) if size is None else (block * size, (block + 1) * size)


def _starts(spark, file, path, size, line_bytes):
    """The number of the first line of each block of a file; of all lines."""
    count = 1
    if size is not None:
        with read_errors(path):
            count = max(1, math.ceil(size_of(path) / size))
    counting = functools.partial(
        _count_lines, corpus=file, path=str(path), size=size
    )
    rows = spark.range(0, count, 1, count).mapInArrow(
        counting, "block long, lines long"
    )
    counts = [lines for _, lines in sorted(map(tuple, rows.collect()))]
    if sum(counts) == 1:
        with file.opened(path) as lines:
            line = next(bounded_lines(lines, line_bytes))
        if not is_over_long(line, line_bytes):
            refuse_old_line_ends(line, path)
    return [0, *itertools.accumulate(counts)]


def _count_lines(batches, corpus, path, size):
    """Counts the lines of blocks: a generator for `mapInArrow`."""
    import pyarrow as pa

    for batch in batches:
        for block in batch.column("id").to_pylist():
            with read_errors(path), corpus.opened(any_path(path)) as file:
                count = count_lines_of_block(file, *_ends(block, size))
            row = {"block": pa.array([block]), "lines": pa.array([count])}
            yield pa.RecordBatch.from_pydict(row)
