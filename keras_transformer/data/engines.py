"""Engines: do the work of `prepare`, on one machine or on a cluster.

Both run the same tasks, defined here, each on one block or shard, and the same
queries of `data.selection`. On one machine, tasks exchange Parquet files.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import itertools
import pathlib
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from keras_transformer.config.data import DataConfig
from keras_transformer.data.alignment import AlignmentModel
from keras_transformer.data.cleaning import (
    ALIGNMENT,
    Cleaner,
    CleaningReport,
    keep_by_length,
)
from keras_transformer.data.corpus import (
    Block,
    Pair,
    corpus_bytes,
    read_blocks,
)
from keras_transformer.data.corpus_tokenizers import token_counts
from keras_transformer.data.database import Database, plain_path
from keras_transformer.data.masking import Rewrite, mask_pairs
from keras_transformer.data.mixing import WeightedCorpus, tagged
from keras_transformer.data.prepared import TOKENIZERS
from keras_transformer.data.records import Ids, shard_name, write_shard
from keras_transformer.data.selection import (
    DEV,
    PAIRS,
    TRAIN,
    key_range,
    pair_keys,
)
from keras_transformer.errors import InputError
from keras_transformer.system.checksums import describe_file
from keras_transformer.system.machine import set_threads, usable_cores
from keras_transformer.system.workers import Workers
from keras_transformer.text.tokenizer import load_tokenizer

if TYPE_CHECKING:
    from keras_transformer.data.spark.engine import SparkEngine

Engine: TypeAlias = "LocalEngine | SparkEngine"
ENGINES = ("local", "spark")
# The temporary path of the model of the filter `alignment`.
ALIGNMENT_MODEL = "work/alignment.npz"
# Ids reserved for the pairs of each corpus file.
_IDS = 1 << 40
# Bytes of text. Below this, starting workers takes longer than they save.
_WORTH_WORKERS = 16 << 20


class EncodedShard(NamedTuple):
    """The result of encoding a shard.

    Attributes:
        description: the file as the manifest lists it.
        report: counts of the dropped pairs.
        tokens: int64 `(2, 2)`: for each side, the numbers of all tokens and of
            unknown ones.
    """

    description: dict
    report: CleaningReport
    tokens: np.ndarray


class CorpusTasks:
    """Executes tasks, which are a method of this class and its arguments.

    Args:
        folder: of the prepared data; its subfolder `work` is for temporary
            files.
        config: of the data.
    """

    def __init__(self, folder: pathlib.Path, config: DataConfig) -> None:
        self._folder = folder
        self._work = folder / "work"
        self._config = config

    def __call__(self, task: tuple) -> Any:
        """Executes a task."""
        method, *arguments = task
        return method(self, *arguments)

    def write_cleaned(
        self, number: int, block: Block, tag: str | None
    ) -> tuple[int, CleaningReport]:
        """Cleans a block and writes the kept pairs to a file.

        Args:
            number: of the block.
            block: some lines of a corpus.
            tag: put before its sources; None: no tag.

        Returns:
            the index of the corpus, and counts of pairs read and dropped.
        """
        report, rows = self.clean(block, tag)
        if rows["source"]:
            path = self._work / "pairs" / f"{number:06d}.parquet"
            self._database.write(path, rows)
        return block.corpus, report

    def clean(
        self, block: Block, tag: str | None
    ) -> tuple[CleaningReport, dict[str, Any]]:
        """Cleans a block; returns counts and the rows of the table `pairs`."""
        report = CleaningReport()
        pairs = self._cleaner(list(tagged(block.pairs(), tag)), report)
        report.drop_long_lines(len(block.long))
        first = block.corpus * _IDS + block.first_line
        rows = {
            **pair_keys(pairs, self._config.seed),
            "corpus": np.full(len(pairs), block.corpus),
            "id": first + np.arange(len(pairs)),
            "source": [source for source, _ in pairs],
            "target": [target for _, target in pairs],
        }
        return report, rows

    def write_rewritten(
        self, split: str, shard: int, shards: int, rewrite: Rewrite
    ) -> collections.Counter:
        """Applies `rewrite` to the text of a shard; returns its counts."""
        rows = self.texts(split, shard, shards, "place, source, target")
        places, pairs = [], []
        counts: collections.Counter = collections.Counter()
        for place, *pair in itertools.chain.from_iterable(rows):
            rewritten, done = rewrite(tuple(pair))
            places.append(place)
            pairs.append(rewritten)
            counts.update(done)
        if pairs:
            source, target = zip(*pairs, strict=True)
            self._database.write(
                self._work / "rewritten" / f"{split}-{shard:06d}.parquet",
                {"place": np.array(places), "source": source, "target": target},
            )
        return counts

    def write_counts(self, side: str, shard: int, shards: int) -> None:
        """Counts the tokens of a side of a training shard; writes a file."""
        rows = self.texts(TRAIN, shard, shards, side)
        lines = (text for part in rows for (text,) in part)
        counts = token_counts(lines, self._config, side)
        path = self._work / f"{side}_tokens" / f"{shard:06d}.parquet"
        numbers = np.array([*counts.values()], np.int64)
        self._database.write(path, {"token": [*counts], "n": numbers})

    def encode(self, split: str, shard: int, shards: int) -> EncodedShard:
        """Writes the records of a shard, their lengths, and the text of dev."""
        texts = self.texts(split, shard, shards)
        return self.encode_texts(split, shard, shards, texts)

    def encode_texts(
        self,
        split: str,
        shard: int,
        shards: int,
        texts: Iterable[Sequence[Pair]],
    ) -> EncodedShard:
        """Does the same as `encode` with the given text.

        Only training pairs are checked for their length ratio and alignment.
        """
        report = CleaningReport()
        tokens = np.zeros((2, 2), np.int64)
        lines: list[str] = []
        unknown = [each.unknown_ids() for each in self._tokenizers]

        def batches():
            for pairs in texts:
                sides, pairs = self._encoded(split, pairs, report)
                tokens[...] += [
                    [len(side.values), int(np.isin(side.values, ids).sum())]
                    for side, ids in zip(sides, unknown, strict=True)
                ]
                if split == DEV:
                    lines.extend(f"{a}\t{b}\n" for a, b in pairs)
                yield sides

        path = self._folder / shard_name(split, shard, shards)
        lengths = write_shard(path, batches())
        np.save(self._work / f"{split}-{shard:06d}.npy", lengths)
        if split == DEV:
            content = "".join(lines).encode()
            (self._work / f"dev-{shard:06d}.tsv").write_bytes(content)
        description = describe_file(path) | {"pairs": len(lengths)}
        return EncodedShard(description, report, tokens)

    def _encoded(self, split, pairs, report):
        """The ids of both sides of the kept pairs, and these pairs."""
        config, texts = self._config, pairs
        if split == DEV and config.markup == "symbols":
            # Masked only for the ids: evaluation translates the original text.
            texts = mask_pairs(pairs, config.markup_patterns)
        sides = [
            Ids.of(tokenizer.tokenize(side))
            for tokenizer, side in zip(
                self._tokenizers, zip(*texts, strict=True), strict=True
            )
        ]
        source, target = (side.lengths for side in sides)
        kept = keep_by_length(
            source, target, config, report, split != DEV, texts
        )
        sides = [side.only(kept) for side in sides]
        pairs = list(itertools.compress(pairs, kept))
        if split != DEV and ALIGNMENT in config.filters:
            kept = self._alignment.keep(*sides, pairs, report)
            sides = [side.only(kept) for side in sides]
        return sides, pairs

    def texts(
        self, split: str, shard: int, shards: int, sides: str = "source, target"
    ) -> Iterator[list[tuple]]:
        """Yields lists of the pairs of a shard, or of one side, in order."""
        first, last = key_range(shard, shards)
        files = self._work / f"{split}*.parquet"
        return self._database.rows(
            f"SELECT {sides} FROM read_parquet('{files}') "
            f"WHERE place BETWEEN {first} AND {last}"
        )

    @functools.cached_property
    def _database(self):
        return Database(self._work, threads=1)

    @functools.cached_property
    def _cleaner(self):
        return Cleaner(self._config)

    @functools.cached_property
    def _alignment(self):
        return AlignmentModel.load(self._folder / ALIGNMENT_MODEL)

    @functools.cached_property
    def _tokenizers(self):
        return [load_tokenizer(self._folder / name) for name in TOKENIZERS]


class LocalEngine:
    """Runs on this machine: in this process, or in workers on its cores.

    `Pipeline` calls the methods in their order.

    Args:
        folder: of the prepared data, with a subfolder `work`.
        config: of the data.
        do: executes tasks of `CorpusTasks` and yields their results in order.
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
        """Cleans the corpora, part by part, and creates the table `pairs`.

        Yields:
            for each part, the index of its corpus and its counts.
        """
        pairs = self._work / "pairs"
        pairs.mkdir()
        files = [corpus.file for corpus in corpora]
        blocks = read_blocks(files)
        tags = [corpus.tag for corpus in corpora]
        yield from self._do(
            (CorpusTasks.write_cleaned, number, block, tags[block.corpus])
            for number, block in enumerate(blocks)
        )
        if any(pairs.iterdir()):
            self.tables.view(PAIRS, pairs / "*.parquet")

    def sort(self, split: str, query: str) -> None:
        """Stores the text of a split, in the order of the query."""
        self.tables.copy(query, self._work / f"{split}.parquet")

    def remove_tables(self) -> None:
        """Removes all tables, but not the text stored by `sort`."""
        self.tables.close()
        self.tables.open()
        shutil.rmtree(self._work / "pairs")

    def rewrite(
        self, split: str, shards: int, rewrite: Rewrite
    ) -> Iterator[collections.Counter]:
        """Replaces the text of a split by its rewritten form.

        Yields the counts of each part.
        """
        new = self._work / "rewritten"
        new.mkdir()
        yield from self._each(
            CorpusTasks.write_rewritten, split, shards, rewrite
        )
        (self._work / f"{split}.parquet").unlink()
        for path in new.iterdir():
            path.rename(self._work / path.name)

    def count(self, side: str, shards: int) -> Iterator[object]:
        """Creates the table `source_tokens` or `target_tokens` of training.

        The columns are `token` and `n`. Yields a placeholder after each shard,
        for progress.
        """
        tokens = self._work / f"{side}_tokens"
        tokens.mkdir()
        yield from self._each(CorpusTasks.write_counts, side, shards)
        self.tables.view(tokens.name, tokens / "*.parquet")

    def training_text(self, side: str) -> Iterator[str]:
        """Yields a side of the training text, in order."""
        tasks = CorpusTasks(self._work.parent, self._config)
        for rows in tasks.texts(TRAIN, 0, 1, side):
            for (text,) in rows:
                yield text

    def encode(self, split: str, shards: int) -> Iterator[EncodedShard]:
        """Writes the shards of a split, in order."""
        return self._each(CorpusTasks.encode, split, shards)

    def _each(self, task, name, shards, *more):
        """Executes a task for each shard, and yields the results in order."""
        return self._do(
            (task, name, shard, shards, *more) for shard in range(shards)
        )


@contextlib.contextmanager
def local_engine(
    folder: pathlib.Path,
    config: DataConfig,
    corpora: list[WeightedCorpus],
    workers: int | None,
    load: Callable[[], None] | None = None,
) -> Iterator[LocalEngine]:
    """Yields an engine whose workers run until the end of the block.

    Args:
        folder: of the prepared data, with a subfolder `work`.
        config: of the data.
        corpora: of the training data.
        workers: number of processes; None: see `choose_workers`.
        load: called in each worker before TensorFlow is used; must be picklable
            by name.

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
            pool = Workers(tasks, workers, set_up, doing="preparing")
            do = stack.enter_context(pool).map
        engine = LocalEngine(folder, config, do)
        stack.callback(engine.tables.close)
        yield engine


def choose_workers(requested: int | None, size: int) -> int:
    """The number of processes that prepare data; 1: only this one.

    Args:
        requested: the user's choice; None: one per core if the text is large
            enough, else 1.
        size: bytes of text.

    Raises:
        InputError: fewer than 1 are requested.
    """
    if requested is None:
        return usable_cores() if size >= _WORTH_WORKERS else 1
    if requested < 1:
        raise InputError(f"workers must be 1 or more. Received: {requested}")
    return requested


def use_one_thread(load: Callable[[], None] | None) -> None:
    """Limits TensorFlow in a worker to one thread.

    Args:
        load: called first, unless None.
    """
    if load is not None:
        load()
    set_threads(1)
