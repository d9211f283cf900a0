"""Engines: what does the work of `prepare`, on one machine or on many.

An engine knows how to bring a corpus into the text of shards, how to read that
text, and how to do a task for each shard. What is done is the same: the tasks
of `data.corpus_tasks`, the queries of `data.selection`.
"""

import contextlib
import functools
import pathlib
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from keras_transformer.config.data import DataConfig
from keras_transformer.data.blocks import corpus_bytes
from keras_transformer.data.corpus import Pair
from keras_transformer.data.corpus_tasks import CorpusTasks, use_one_thread
from keras_transformer.data.key_tables import KeyTables
from keras_transformer.data.mixing import WeightedCorpus
from keras_transformer.data.partitions import PARTITION_BYTES
from keras_transformer.data.pieces import read_pairs_of
from keras_transformer.data.sorted_text import Do, Progress, SortedText
from keras_transformer.errors import InputError
from keras_transformer.system.machine import usable_cores
from keras_transformer.system.workers import Workers

ENGINES = ("local", "spark")
# Bytes of text; below, the start of workers takes longer than they save.
_WORTH_WORKERS = 16 << 20


class Engine(Protocol):
    """What `prepare` asks of an engine, in this order."""

    def sorted_text(self, progress: Progress) -> SortedText:
        """The steps from the corpora to the text of the shards."""

    def training_text(self, shard: int) -> Iterator[Pair]:
        """The pairs of a shard of the training split, in order."""

    def do(self, tasks: Iterable[tuple]) -> Iterator:
        """Does tasks of `CorpusTasks`, one for each shard of a split.

        Yields their results, in order.
        """


class LocalEngine:
    """This machine: the process that asks, or workers on its cores.

    Attributes:
        do: see `Engine`.

    Args:
        folder: where the prepared data will be, with a folder `work`.
        config: of the data.
        partitions: of the text, see `data.partitions`.
        do: see `sorted_text.Do`.
    """

    def __init__(
        self,
        folder: pathlib.Path,
        config: DataConfig,
        partitions: int,
        do: Do,
    ) -> None:
        self.do = do
        self._folder = folder
        self._config = config
        self._partitions = partitions

    def sorted_text(self, progress: Progress) -> SortedText:
        """See `Engine.sorted_text`."""
        return SortedText(
            self._folder,
            self._config,
            self.do,
            self._partitions,
            progress,
            lambda: KeyTables(self._folder / "work", usable_cores()),
        )

    def training_text(self, shard: int) -> Iterator[Pair]:
        """See `Engine.training_text`."""
        return read_pairs_of(self._folder / "work" / "train", shard)


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
    partitions = max(1, -(-size // PARTITION_BYTES))
    tasks = functools.partial(CorpusTasks, folder, config, partitions)
    if workers == 1:
        do = functools.partial(map, tasks())
        yield LocalEngine(folder, config, partitions, do)
        return
    set_up = functools.partial(use_one_thread, load)
    factory = functools.partial(tasks, set_up=set_up)
    with Workers(factory, workers, doing="preparing") as pool:
        yield LocalEngine(folder, config, partitions, pool.map)


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
