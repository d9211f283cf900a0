"""Sorted text: a corpus, cleaned, selected, in the order of its shards.

Text is cleaned block by block and lies in partitions; which of it is kept,
`data.selection` says by the pairs' keys, in a database on disk; then each
partition is sorted into the text of the shards. No step holds more than a
block or a partition, so that memory doesn't grow with the corpus.
"""

import collections
import itertools
import pathlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np

from keras_transformer.config.data import DataConfig
from keras_transformer.constants import SPECIAL_TOKENS
from keras_transformer.data.blocks import read_blocks
from keras_transformer.data.cleaning import Cleaner, CleaningReport
from keras_transformer.data.corpus_tasks import KeptPairs
from keras_transformer.data.corpus_tokenizers import vocabulary_size
from keras_transformer.data.keys import key_range, pair_keys
from keras_transformer.data.mixing import Mixture, WeightedCorpus
from keras_transformer.data.partitions import CHUNK, partition_folder
from keras_transformer.data.pieces import Piece, write_piece
from keras_transformer.data.selection import (
    COLUMNS,
    DEV,
    HELD_OUT,
    PAIRS,
    TRAIN,
    Step,
    cleaning_steps,
    dev_steps,
    overlap_query,
)
from keras_transformer.errors import InputError

# Does tasks of `CorpusTasks`, here or in workers, and gives their results in
# order.
Do = Callable[[Iterable[tuple]], Iterator]
# Called with (stage, pairs done, of how many or None).
Progress = Callable[[str, int, int | None], None]


class Tables(Protocol):
    """A database of the pairs' keys, `KeyTables` or `SparkTables`."""

    def create(self, table: str, **columns: str) -> None:
        """Makes an empty table of columns with these types."""

    def insert(self, table: str, columns: Mapping[str, np.ndarray]) -> None:
        """Adds rows, for each column `(N,)`, to a table that was created."""

    def make(self, step: Step) -> int:
        """Makes a table by a query; the number of its rows."""

    def drop(self, table: str) -> None:
        """Removes a table."""

    def number(self, query: str) -> int:
        """The one number that a query gives."""

    def arrays(self, query: str) -> list[np.ndarray]:
        """The columns that a query gives, each `(N,)`."""

    def close(self) -> None:
        """Removes all tables, or leaves them alone."""


class SortedText:
    """The steps to the text of the shards, in their order; and the counts.

    A context manager, which has a database while it is open.

    Attributes:
        reports: the counts of cleaning, by split.
        shards: how many each split will have.
        mixture: of the corpora, once they are read.

    Args:
        folder: where the prepared data will be, with a folder `work` for
            what goes again.
        config: of the data.
        do: see `Do`.
        partitions: of the text.
        progress: called with (stage, pairs done, how many or None).
        open_tables: gives the database.
    """

    def __init__(
        self,
        folder: pathlib.Path,
        config: DataConfig,
        do: Do,
        partitions: int,
        progress: Progress,
        open_tables: Callable[[], Tables],
    ) -> None:
        self.reports = {TRAIN: CleaningReport()}
        self.shards: dict[str, int] = {}
        self._folder = folder
        self._work = folder / "work"
        self._config = config
        self._do = do
        self._partitions = partitions
        self._progress = progress
        self._open_tables = open_tables
        self._tables: Tables
        self._sorted: list[str] = []  # splits whose text is in the partitions

    def __enter__(self) -> "SortedText":
        self._tables = self._open_tables()
        return self

    def __exit__(self, *_: object) -> None:
        self._tables.close()

    def hold_out(
        self, held_out: list[WeightedCorpus], dev: WeightedCorpus | None
    ) -> None:
        """Reads what training mustn't have, and a dev file.

        Of dev, the empty pairs go; the others stand in the file's order.

        Raises:
            InputError: a file can't be used, or no dev pair is left.
        """
        for table in (HELD_OUT, DEV)[: 1 if dev is None else 2]:
            self._tables.create(table, source_key="BIGINT", target_key="BIGINT")
        for pairs in _chunks(self._pairs(held_out), CHUNK):
            self._insert_keys(HELD_OUT, pairs)
        if dev is None:
            return
        report = self.reports[DEV] = CleaningReport()
        clean = Cleaner(self._config, check=False)
        long: list[int] = []
        dev_pairs = dev.pairs(self._config.max_line_bytes, long)
        for pairs in _chunks(dev_pairs, self._config.shard_size):
            pairs = clean(pairs, report)
            self._insert_keys(HELD_OUT, pairs)
            self._insert_keys(DEV, pairs)
            lines = [f"{source}\t{target}".encode() for source, target in pairs]
            shard = self.shards.get(DEV, 0)
            piece = Piece(0, np.arange(len(lines)), lines, {})
            write_piece(self._work / DEV, shard, piece)
            self.shards[DEV] = shard + 1
            self._progress("reading dev", report.read, None)
        # Of two files, both lines of a pair may be.
        report.drop_long_lines(len(set(long)))
        require_pairs(report, str(dev))

    def _pairs(self, corpora):
        # Over-long lines hold nothing out.
        limit = self._config.max_line_bytes
        return itertools.chain.from_iterable(
            corpus.pairs(limit, []) for corpus in corpora
        )

    def _insert_keys(self, table, pairs):
        keys = pair_keys(pairs, self._config.seed)
        self._tables.insert(
            table, {"source_key": keys.source, "target_key": keys.target}
        )

    def read(self, corpora: list[WeightedCorpus]) -> None:
        """Reads and cleans the corpora.

        Raises:
            InputError: a file can't be used, or no pair is left.
        """
        report = self.reports[TRAIN]
        self.mixture = Mixture(corpora)
        for corpus, read, dropped in self._clean(corpora):
            report.add(read, dropped)
            self.mixture.read[corpus] += read
            self._progress("reading train", report.read, None)
        require_pairs(report, " ".join(str(c.file) for c in corpora))

    def _clean(self, corpora):
        """Makes the table of all pairs; yields (corpus, read, dropped)."""
        self._tables.create(PAIRS, **dict.fromkeys(COLUMNS, "BIGINT"))
        for partition in range(self._partitions):
            partition_folder(self._work, partition).mkdir()
        files = [corpus.file for corpus in corpora]
        limit = self._config.max_line_bytes
        tasks = (
            ("clean", block, corpora[block.corpus].tag)
            for block in read_blocks(files, line_bytes=limit)
        )
        for corpus, read, dropped, keys in self._do(tasks):
            self._tables.insert(PAIRS, keys)
            yield corpus, read, dropped

    def select(self, fraction: float | None) -> int | None:
        """Settles which pairs are trained on, and which are dev.

        Args:
            fraction: of the pairs, for dev; None: none are taken.

        Returns:
            If there is a dev file, its pairs of which a side stands in
            training; else None.

        Raises:
            InputError: a split is empty.
        """
        report = self.reports[TRAIN]
        table, pairs = PAIRS, report.kept
        for step in cleaning_steps(self._config):
            left = self._tables.make(step)
            self._tables.drop(table)
            report.drop(str(step.reason), pairs - left)
            table, pairs = step.table, left
        require_pairs(report, TRAIN)
        counts = {TRAIN: pairs}
        overlap = None
        if fraction is not None:
            counts = self._take_dev(table, pairs, fraction)
            table = TRAIN
        elif DEV in self.reports:
            overlap = self._tables.number(overlap_query(table, DEV))
        counts[TRAIN] = self._weigh(table)
        for split, name in {TRAIN: table, DEV: DEV}.items():
            if split in counts:
                self._keep(split, name)
                shards = -(-counts[split] // self._config.shard_size)
                self.shards[split] = max(1, shards)
        return overlap

    def _keep(self, split, table):
        """Has the pairs of a table be those of a split."""
        query = f"SELECT shuffle_key, corpus FROM {table} ORDER BY shuffle_key"
        self._tables.make(Step(f"sorted_{split}", query))
        self._sorted.append(split)
        self._tables.drop(table)

    def _weigh(self, table):
        """Settles the weights of corpora; about the pairs of an epoch."""
        corpora, counts = self._tables.arrays(
            f"SELECT corpus, count(*) AS n FROM {table} GROUP BY corpus"
        )
        left = dict(zip(corpora.tolist(), counts.tolist(), strict=True))
        return self.mixture.weigh(left, self._config.temperature)

    def _take_dev(self, table, pairs, fraction):
        """Makes the tables of the splits; how many pairs each has."""
        counts = {
            step.table: self._tables.make(step)
            for step in dev_steps(table, pairs, fraction)
        }
        self._tables.drop(table)
        dev, train = counts[DEV], counts[TRAIN]
        if not dev or not train:
            raise InputError(
                f"dev fraction {fraction:g} of {pairs} pairs leaves a split "
                "empty. Accepted: a fraction that holds out a sentence or "
                "more whose translations few others have, or a file"
            )
        report = self.reports[TRAIN]
        report.drop("shared_with_dev", pairs - dev - train)
        report.read -= dev
        self.reports[DEV] = CleaningReport()
        self.reports[DEV].read = dev
        return {TRAIN: train, DEV: dev}

    def sort(self, counted: Sequence[str]) -> dict[str, collections.Counter]:
        """Sorts the text that is kept into the order of the shards.

        Args:
            counted: the sides whose tokens are to be counted.

        Returns:
            For each, how often its most frequent tokens stand in training,
            as many as a vocabulary may have.
        """
        for side in counted:
            self._tables.create(f"{side}_tokens", token="VARCHAR", n="BIGINT")
        tasks = (
            ("sort", partition, self._kept(partition), self.shards, counted)
            for partition in range(self._partitions)
        )
        not_sampled = 0
        for done, results in enumerate(self._do(tasks), start=1):
            self.mixture.add(results.trained)
            not_sampled += results.not_sampled
            for side, (tokens, counts) in zip(
                counted, results.counts, strict=True
            ):
                tokens = np.array(tokens, object)
                self._tables.insert(
                    f"{side}_tokens", {"token": tokens, "n": counts}
                )
            total = self.reports[TRAIN].kept
            self._progress("sorting", total * done // self._partitions, total)
        self._count_copies(not_sampled)
        return {side: self._most_frequent(side) for side in counted}

    def _count_copies(self, not_sampled):
        """Adds to the report what weights have left out and repeated."""
        if not self.mixture.is_weighted:
            return
        report = self.reports[TRAIN]
        report.repeated = sum(self.mixture.trained) + not_sampled - report.kept
        report.drop("not_sampled", not_sampled)
        require_pairs(report, TRAIN)

    def _kept(self, partition):
        """The shuffle keys of a partition that each split has, ascending."""
        first, last = key_range(partition, self._partitions)
        kept = {}
        for split in self._sorted:
            weighted = split == TRAIN and self.mixture.is_weighted
            names = "shuffle_key, corpus" if weighted else "shuffle_key"
            arrays = self._tables.arrays(
                f"SELECT {names} FROM sorted_{split} WHERE shuffle_key "
                f"BETWEEN {first} AND {last} ORDER BY {names}"
            )
            corpora = arrays[1] if weighted else None
            weights = self.mixture.weights if weighted else None
            kept[split] = KeptPairs(arrays[0], corpora, weights)
        return kept

    def _most_frequent(self, side):
        # As many again as are reserved, in case the text has those.
        reserved = len(SPECIAL_TOKENS) + len(self._config.source_tags)
        limit = vocabulary_size(self._config, side) + reserved
        tokens, counts = self._tables.arrays(
            f"SELECT token, CAST(sum(n) AS BIGINT) AS total FROM {side}_tokens "
            f"GROUP BY token ORDER BY total DESC, token LIMIT {limit}"
        )
        pairs = zip(tokens.tolist(), counts.tolist(), strict=True)
        return collections.Counter(dict(pairs))


def require_pairs(report: CleaningReport, name: str) -> None:
    """Refuses a text of which nothing is left.

    Raises:
        InputError: no pair was read, or none was kept; then with the counts.
    """
    if report.kept:
        return
    if not report.read:
        raise InputError(f"{name}: no sentence pair. Accepted: one or more")
    raise InputError(f"{name}: no sentence pair is left ({report})")


def _chunks(pairs, size):
    """The pairs in order, in lists of up to `size`."""
    pairs = iter(pairs)
    return iter(lambda: list(itertools.islice(pairs, size)), [])
