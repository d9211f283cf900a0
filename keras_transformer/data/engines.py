"""Engines: what does the work of `prepare`, on one machine or on many.

What is done is the same: the tasks of `data.corpus_tasks`, the queries of
`data.selection`.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import pathlib
import shutil
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from keras_transformer.config.data import DataConfig
from keras_transformer.data.cleaning import CleaningReport
from keras_transformer.data.corpus import corpus_bytes, read_blocks
from keras_transformer.data.corpus_tasks import (
    CorpusTasks,
    EncodedShard,
    Rewrite,
    use_one_thread,
)
from keras_transformer.data.database import Database, plain_path
from keras_transformer.data.mixing import WeightedCorpus
from keras_transformer.data.selection import PAIRS, TRAIN
from keras_transformer.errors import InputError
from keras_transformer.system.machine import usable_cores
from keras_transformer.system.workers import Workers

if TYPE_CHECKING:
    from keras_transformer.data.spark.engine import SparkEngine

Engine: TypeAlias = "LocalEngine | SparkEngine"
ENGINES = ("local", "spark")
# Bytes of text; below, the start of workers takes longer than they save.
_WORTH_WORKERS = 16 << 20


class LocalEngine:
    """This machine: the process that asks, or workers on its cores.

    `Pipeline` calls the methods in their order.

    Args:
        folder: where the prepared data will be, with a folder `work`.
        config: of the data.
        do: does tasks of `CorpusTasks`; gives their results in order.
    """

    def __init__(
        self,
        folder: pathlib.Path,
        config: DataConfig,
        do: Callable[[Iterable[tuple]], Iterator],
    ) -> None:
        self._work = folder / "work"
        self._config = config
        self._do = do
        self.tables = Database(self._work, usable_cores())

    def clean(
        self, corpora: list[WeightedCorpus]
    ) -> Iterator[tuple[int, CleaningReport]]:
        """Cleans the corpora, part by part, and makes the table `pairs`.

        Yields:
            of each part the index of its corpus, and what was dropped.
        """
        pairs = self._work / "pairs"
        pairs.mkdir()
        files = [corpus.file for corpus in corpora]
        blocks = read_blocks(files, line_bytes=self._config.max_line_bytes)
        tags = [corpus.tag for corpus in corpora]
        yield from self._do(
            (CorpusTasks.write_cleaned, number, block, tags[block.corpus])
            for number, block in enumerate(blocks)
        )
        if any(pairs.iterdir()):
            self.tables.view(PAIRS, pairs / "*.parquet")

    def sort(self, split: str, query: str) -> None:
        """Keeps the text of a split, in the order that the query gives."""
        self.tables.copy(query, self._work / f"{split}.parquet")

    def remove_tables(self) -> None:
        """Removes all tables, but not what `sort` has kept."""
        self.tables.close()
        self.tables.open()
        shutil.rmtree(self._work / "pairs")

    def rewrite(
        self, split: str, shards: int, rewrite: Rewrite
    ) -> Iterator[collections.Counter]:
        """Keeps what is made of the text of a split in place of it.

        Yields the counts of parts of it.
        """
        new = self._work / "rewritten"
        new.mkdir()
        yield from self._do(
            (CorpusTasks.write_rewritten, split, shard, shards, rewrite)
            for shard in range(shards)
        )
        (self._work / f"{split}.parquet").unlink()
        for path in new.iterdir():
            path.rename(self._work / path.name)

    def count(self, side: str, shards: int) -> Iterator[object]:
        """Makes the table `source_tokens` or `target_tokens` of training.

        Yields something after each shard. The rows have `token` and `n`.
        """
        tokens = self._work / f"{side}_tokens"
        tokens.mkdir()
        yield from self._do(
            (CorpusTasks.write_counts, side, shard, shards)
            for shard in range(shards)
        )
        self.tables.view(tokens.name, tokens / "*.parquet")

    def training_text(self, side: str) -> Iterator[str]:
        """Yields a side of the training text, in its order."""
        tasks = CorpusTasks(self._work.parent, self._config)
        for rows in tasks.texts(TRAIN, 0, 1, side):
            for (text,) in rows:
                yield text

    def encode(self, split: str, shards: int) -> Iterator[EncodedShard]:
        """Writes the shards of a split, in order."""
        return self._do(
            (CorpusTasks.encode, split, shard, shards)
            for shard in range(shards)
        )


@contextlib.contextmanager
def local_engine(
    folder: pathlib.Path,
    config: DataConfig,
    corpora: list[WeightedCorpus],
    workers: int | None,
    load: Callable[[], None] | None = None,
) -> Iterator[LocalEngine]:
    """An engine, whose workers last as long as the block.

    Args:
        folder: where the prepared data will be, with a folder `work`.
        config: of the data.
        corpora: of the training data.
        workers: processes; None: as many as are worth it.
        load: called in each worker before TensorFlow is used; anything that
            can be pickled by its name.

    Raises:
        InputError: fewer than 1 worker; or a worker was killed.
    """
    size = corpus_bytes(corpus.file for corpus in corpora)
    workers = choose_workers(workers, size)
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(plain_path(folder))
        tasks = functools.partial(CorpusTasks, folder, config)
        do: Callable = functools.partial(map, tasks())
        if workers > 1:
            set_up = functools.partial(use_one_thread, load)
            factory = functools.partial(tasks, set_up=set_up)
            pool = Workers(factory, workers, doing="preparing")
            do = stack.enter_context(pool).map
        engine = LocalEngine(folder, config, do)
        stack.callback(engine.tables.close)
        yield engine


def choose_workers(requested: int | None, size: int) -> int:
    """The number of processes that prepare data; 1: this one alone.

    Args:
        requested: what the user says; None: as many as are worth it.
        size: bytes of text.

    Raises:
        InputError: fewer than 1 are requested.
    """
    if requested is None:
        return usable_cores() if size >= _WORTH_WORKERS else 1
    if requested < 1:
        raise InputError(f"workers must be 1 or more. Received: {requested}")
    return requested
