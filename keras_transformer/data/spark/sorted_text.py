"""Sorted text as tables of Spark's: a corpus in the order of its shards.

A row is a pair; its keys and its text are columns. Which rows stay, the SQL of
`data.selection` says, as on one machine.
"""

from __future__ import annotations

import collections
import functools
import json
import pathlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from keras_transformer.config.data import DataConfig
from keras_transformer.constants import SPECIAL_TOKENS
from keras_transformer.data.corpus_tokenizers import vocabulary_size
from keras_transformer.data.keys import KEY_BITS
from keras_transformer.data.mixing import WeightedCorpus
from keras_transformer.data.selection import COLUMNS, PAIRS, TRAIN
from keras_transformer.data.sorted_text import Progress, SortedText
from keras_transformer.data.spark.tables import SparkTables, corpus_lines
from keras_transformer.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class SparkSortedText(SortedText):
    """The steps to the text of the shards, as tables of Spark's.

    Args:
        spark: a session.
        folder: where the prepared data will be, with a folder `work`.
        config: of the data.
        progress: called with (stage, pairs done, how many or None).
        open_tables: gives the tables of keys.
        text: gets a DataFrame of `shard`, `shuffle_key`, `source` and
            `target` for each split that is taken from the corpora; a shard's
            rows stand together, in order.
        set_up: called in workers before TensorFlow is used.
    """

    def __init__(
        self,
        spark: SparkSession,
        folder: pathlib.Path,
        config: DataConfig,
        progress: Progress,
        open_tables: Callable[[], SparkTables],
        text: dict,
        set_up: Callable[[], None],
    ) -> None:
        super().__init__(folder, config, _not_called, 0, progress, open_tables)
        self._spark = spark
        self._text = text
        self._set_up = set_up
        self._kept_tables: dict[str, str] = {}
        self._cleaned: DataFrame
        self._tables: SparkTables

    def _clean(self, corpora: list[WeightedCorpus]):
        from pyspark import StorageLevel

        from keras_transformer.data.spark import tasks

        clean = functools.partial(
            tasks.clean, config=self._config, corpora=corpora
        )
        self._cleaned = (
            corpus_lines(self._spark, corpora, self._config.max_line_bytes)
            .mapInArrow(clean, tasks.CLEANED_SCHEMA)
            .persist(StorageLevel.DISK_ONLY)
        )
        rows = (
            self._cleaned.where("report IS NOT NULL").select("report").collect()
        )
        reports = [json.loads(report) for (report,) in rows]
        errors = [
            (report["corpus"], *report["error"])
            for report in reports
            if report["error"]
        ]
        if errors:
            raise InputError(min(errors)[-1])
        self._tables.view(
            PAIRS,
            self._cleaned.where("report IS NULL").select(*COLUMNS),
        )
        for report in reports:
            yield report["corpus"], report["read"], report["dropped"]

    def _keep(self, split, table):
        self._kept_tables[split] = table

    def sort(self, counted: Sequence[str]) -> dict[str, collections.Counter]:
        """See `SortedText.sort`."""
        self._count_copies(self._count_repetitions())
        for split, table in self._kept_tables.items():
            self._text[split] = self._sorted_frame(split, table)
            self._progress("sorting", 0, self.reports[split].kept)
            # Computed now, as the text that it is of goes.
            self._text[split].count()
        self._cleaned.unpersist()
        return {side: self._most_frequent(side) for side in counted}

    def _count_repetitions(self):
        """Counts what the weights do; how many pairs they leave out."""
        if not self.mixture.is_weighted:
            return 0
        from keras_transformer.data.spark import tasks

        count = functools.partial(
            tasks.count_repetitions, weights=self.mixture.weights
        )
        rows = (
            self._tables.frame(self._kept_tables[TRAIN])
            .select("shuffle_key", "corpus")
            .mapInArrow(count, tasks.REPEATED_SCHEMA)
            .groupBy("corpus")
            .sum("trained", "left_out")
            .orderBy("corpus")
            .collect()
        )
        self.mixture.add([trained for _, trained, _ in rows])
        return sum(left_out for *_, left_out in rows)

    def _sorted_frame(self, split, table):
        """The text of a split by shard; a shard in the order of its keys."""
        from pyspark import StorageLevel

        from keras_transformer.data.spark import tasks

        # Equal keys are of equal text: the pairs say how often it stands.
        text = (
            self._cleaned.where("report IS NULL")
            .select("shuffle_key", "source", "target")
            .dropDuplicates(["shuffle_key"])
        )
        keys = self._tables.frame(table).select("shuffle_key", "corpus")
        frame = keys.join(text, "shuffle_key")
        if split == TRAIN and self.mixture.is_weighted:
            repeat = functools.partial(
                tasks.repeat, weights=self.mixture.weights
            )
            frame = frame.mapInArrow(repeat, frame.schema)
        shards = self.shards[split]
        # As in `keys.shard_of`.
        shard = (
            f"shiftright(shiftright(shuffle_key, 31) * {shards}L, "
            f"{KEY_BITS - 31}) AS shard"
        )
        return (
            frame.selectExpr(shard, "shuffle_key", "source", "target")
            .repartition(shards, "shard")
            .sortWithinPartitions("shard", "shuffle_key")
            .persist(StorageLevel.DISK_ONLY)
        )

    def _most_frequent(self, side):
        from keras_transformer.data.spark import tasks

        count = functools.partial(
            tasks.count_tokens,
            config=self._config,
            side=side,
            set_up=self._set_up,
        )
        # As many again as are reserved, in case the text has those.
        reserved = len(SPECIAL_TOKENS) + len(self._config.source_tags)
        limit = vocabulary_size(self._config, side) + reserved
        rows = (
            self._text[TRAIN]
            .select(side)
            .mapInArrow(count, tasks.COUNTED_SCHEMA)
            .groupBy("token")
            .sum("n")
            .orderBy("sum(n)", "token", ascending=[False, True])
            .limit(limit)
            .collect()
        )
        return collections.Counter(dict(map(tuple, rows)))


def _not_called(tasks: Iterable[tuple]) -> Iterator:
    """Stands where others run tasks: Spark runs them, so nobody calls it."""
    raise NotImplementedError
