"""Tasks of preparation: what is done to one block or shard at a time.

They run in this process or in worker processes; what they hand to each other
are Parquet files. TensorFlow is imported by those that tokenize, so that
workers which only clean text do without its memory.
"""

from __future__ import annotations

import collections
import functools
import itertools
import pathlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from keras_transformer.config.data import DataConfig
from keras_transformer.data.cleaning import (
    ALIGNMENT,
    Cleaner,
    CleaningReport,
    keep_by_length,
)
from keras_transformer.data.corpus import Block, Pair
from keras_transformer.data.database import Database
from keras_transformer.data.masking import mask_pair
from keras_transformer.data.mixing import tagged
from keras_transformer.data.selection import key_range, pair_keys
from keras_transformer.system.checksums import describe_file
from keras_transformer.system.machine import set_threads

# The path of the model of the filter `alignment`, while it is wanted.
ALIGNMENT_MODEL = "work/alignment.npz"
# Ids of pairs that a corpus may have.
_IDS = 1 << 40

# From a training pair to what is trained on, and counts of what was done; can
# be pickled.
Rewrite = Callable[[Pair], tuple[Pair, Mapping[str, int]]]


class EncodedShard(NamedTuple):
    """What encoding made of a shard.

    Attributes:
        description: the file as the manifest lists it.
        report: of the pairs that were left out.
        tokens: int64 `(2, 2)`: of each side all tokens, and unknown ones.
    """

    description: dict
    report: CleaningReport
    tokens: np.ndarray


class CorpusTasks:
    """Does tasks: a method of this class and its arguments.

    Args:
        folder: where the prepared data will be; `work` in it is for files
            that go again.
        config: of the data.
        set_up: called before TensorFlow is used, perhaps again; anything that
            can be pickled by its name.
    """

    def __init__(
        self,
        folder: pathlib.Path,
        config: DataConfig,
        set_up: Callable[[], None] = lambda: None,
    ) -> None:
        self._folder = folder
        self._work = folder / "work"
        self._config = config
        self._set_up = set_up

    def __call__(self, task: tuple) -> Any:
        """Does a task."""
        method, *arguments = task
        return method(self, *arguments)

    def write_cleaned(
        self, number: int, block: Block, tag: str | None
    ) -> tuple[int, CleaningReport]:
        """Cleans a block; writes what is left to a file.

        Args:
            number: of the block.
            block: some lines of a corpus.
            tag: that its sources get; None: none.

        Returns:
            the index of the corpus, and what was read and dropped.
        """
        report, rows = self.clean(block, tag)
        if rows["source"]:
            path = self._work / "pairs" / f"{number:06d}.parquet"
            self._database.write(path, rows)
        return block.corpus, report

    def clean(
        self, block: Block, tag: str | None
    ) -> tuple[CleaningReport, dict[str, Any]]:
        """Cleans a block; also returns the rows of the table `pairs`."""
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
        """Writes the text of a shard as `rewrite` makes it; its counts."""
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
        """Counts the tokens of a side of a training shard, into a file."""
        self._set_up()
        from keras_transformer.data.corpus_tokenizers import token_counts

        rows = self.texts("train", shard, shards, side)
        lines = (text for part in rows for (text,) in part)
        counts = token_counts(lines, self._config, side)
        path = self._work / f"{side}_tokens" / f"{shard:06d}.parquet"
        numbers = np.array([*counts.values()], np.int64)
        self._database.write(path, {"token": [*counts], "n": numbers})

    def encode(self, split: str, shard: int, shards: int) -> EncodedShard:
        """Writes the records of a shard, their lengths, and dev's text."""
        texts = self.texts(split, shard, shards)
        return self.encode_texts(split, shard, shards, texts)

    def encode_texts(
        self,
        split: str,
        shard: int,
        shards: int,
        texts: Iterable[Sequence[Pair]],
    ) -> EncodedShard:
        """Does the same with text that is given.

        Only training pairs are checked for their length ratio and alignment.
        """
        self._set_up()
        from keras_transformer.data.records import Ids, shard_name, write_shard

        is_dev = split == "dev"
        report = CleaningReport()
        tokens = np.zeros((2, 2), np.int64)
        lines: list[str] = []
        unknown = [each.unknown_ids() for each in self._tokenizers]

        def batches():
            for pairs in texts:
                written = pairs
                if is_dev and self._config.markup == "symbols":
                    # Evaluation translates the text as it was.
                    pairs = [self._masked(pair) for pair in pairs]
                sides = [
                    Ids.of(tokenizer.tokenize(side))
                    for tokenizer, side in zip(
                        self._tokenizers, zip(*pairs, strict=True), strict=True
                    )
                ]
                for keep in (self._keep_by_length, self._keep_aligned):
                    kept = keep(split, pairs, sides, report)
                    sides = [side.only(kept) for side in sides]
                    pairs, written = (
                        list(itertools.compress(each, kept))
                        for each in (pairs, written)
                    )
                tokens[...] += [
                    [len(side.values), int(np.isin(side.values, ids).sum())]
                    for side, ids in zip(sides, unknown, strict=True)
                ]
                if is_dev:
                    lines.extend(f"{a}\t{b}\n" for a, b in written)
                yield sides

        path = self._folder / shard_name(split, shard, shards)
        lengths = write_shard(path, batches())
        np.save(self._work / f"{split}-{shard:06d}.npy", lengths)
        if is_dev:
            content = "".join(lines).encode()
            (self._work / f"dev-{shard:06d}.tsv").write_bytes(content)
        description = describe_file(path) | {"pairs": len(lengths)}
        return EncodedShard(description, report, tokens)

    def _keep_by_length(self, split, pairs, sides, report):
        sources, targets = sides
        return keep_by_length(
            sources.lengths,
            targets.lengths,
            self._config,
            report,
            check_ratio=split != "dev",
            pairs=pairs,
        )

    def _keep_aligned(self, split, pairs, sides, report):
        if split == "dev" or ALIGNMENT not in self._config.filters:
            return np.ones(len(pairs), bool)
        return self._alignment.keep(*sides, pairs, report)

    def _masked(self, pair):
        return mask_pair(pair, self._config.markup_patterns)[0]

    def texts(
        self, split: str, shard: int, shards: int, sides: str = "source, target"
    ) -> Iterator[list[tuple]]:
        """Yields the pairs of a shard, or a side, in order, some at a time."""
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
        from keras_transformer.data.alignment import AlignmentModel

        return AlignmentModel.load(self._folder / ALIGNMENT_MODEL)

    @functools.cached_property
    def _tokenizers(self):
        from keras_transformer.data.prepared import TOKENIZERS
        from keras_transformer.text.tokenizer import load_tokenizer

        return [load_tokenizer(self._folder / name) for name in TOKENIZERS]


def use_one_thread(load: Callable[[], None] | None) -> None:
    """Has TensorFlow leave the other cores to the other workers.

    Args:
        load: called first.
    """
    if load is not None:
        load()
    set_threads(1)
