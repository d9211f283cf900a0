"""Tasks of preparation: what is done to one part of a corpus at a time.

They run in this process or in worker processes; what they hand to each other
are files. TensorFlow is imported by those that tokenize, so that workers which
only clean text do without its memory.
"""

import functools
import itertools
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from keras_transformer.config.data import SUBWORD_KINDS, DataConfig
from keras_transformer.constants import SIDES
from keras_transformer.data.blocks import Block
from keras_transformer.data.cleaning import (
    Cleaner,
    CleaningReport,
    keep_by_length,
)
from keras_transformer.data.corpus import Pair
from keras_transformer.data.ids import Ids
from keras_transformer.data.keys import pair_keys
from keras_transformer.data.mixing import copies, repetitions, tagged
from keras_transformer.data.partitions import (
    CHUNK,
    add_to_partitions,
    take_partition,
)
from keras_transformer.data.pieces import (
    Piece,
    merged_lines,
    read_pieces,
    reading_order,
    write_pieces,
)
from keras_transformer.system.checksums import describe_file
from keras_transformer.system.machine import set_threads

# What a side's tokens are counted by: (tokens, int64 counts); None: nothing.
SideCounts = tuple[list[str], np.ndarray] | None


class CleanedBlock(NamedTuple):
    """What cleaning made of a block.

    Attributes:
        corpus: that it is of, an index.
        read: pairs.
        dropped: of them, by reason.
        keys: the columns of the table `pairs`, each int64 `(N,)`.
    """

    corpus: int
    read: int
    dropped: dict[str, int]
    keys: dict[str, np.ndarray]


class KeptPairs(NamedTuple):
    """Which pairs of a partition go to a split.

    Attributes:
        keys: their shuffle keys, int64 `(N,)`, ascending; the text of a key
            that stands there again does so, too.
        corpora: int64 `(N,)`, the index of the corpus of each; None: of one.
        weights: of each corpus, see `mixing.repetitions`; None: all 1.
    """

    keys: np.ndarray
    corpora: np.ndarray | None = None
    weights: Sequence[float] | None = None


class SortedPartition(NamedTuple):
    """What sorting made of a partition.

    Attributes:
        counts: for each counted side, how often tokens stand in training.
        trained: int64 `(number of corpora,)`, training pairs, if there are
            weights.
        not_sampled: pairs that the weights leave out.
    """

    counts: list["SideCounts"]
    trained: np.ndarray | int = 0
    not_sampled: int = 0


class EncodedShard(NamedTuple):
    """What encoding made of a shard.

    Attributes:
        description: the file as the manifest lists it.
        dropped: pairs left out, by reason.
        tokens: int64 `(2, 2)`: of each side all tokens, and unknown ones.
    """

    description: dict
    dropped: dict[str, int]
    tokens: np.ndarray


class CorpusTasks:
    """Does tasks: tuples of the name of a method and its arguments.

    Args:
        folder: where the prepared data will be; `work` in it is for files
            that go again.
        config: of the data.
        partitions: of the text.
        set_up: called before TensorFlow is used, perhaps again; anything that
            can be pickled by its name.
    """

    def __init__(
        self,
        folder: pathlib.Path,
        config: DataConfig,
        partitions: int,
        set_up: Callable[[], None] = lambda: None,
    ) -> None:
        self._folder = folder
        self._work = folder / "work"
        self._config = config
        self._partitions = partitions
        self._set_up = set_up

    def __call__(self, task: tuple) -> Any:
        """Does a task: the name of a method, and its arguments."""
        name, *arguments = task
        return getattr(self, name)(*arguments)

    def clean(self, block: Block, tag: str | None) -> CleanedBlock:
        """Cleans pairs; adds their text to the partitions.

        Args:
            block: some lines of a corpus.
            tag: that its sources get; None: none.
        """
        report = CleaningReport()
        pairs = list(tagged(block.pairs(), tag))
        pairs = self._cleaner(pairs, report)
        report.drop_long_lines(len(block.long))
        keys = key_columns(pairs, block.corpus, self._config)
        add_to_partitions(
            self._work, self._partitions, pairs, keys["shuffle_key"]
        )
        return CleanedBlock(
            block.corpus, report.read, dict(report.dropped), keys
        )

    def sort(
        self,
        partition: int,
        kept: Mapping[str, KeptPairs],
        shards: Mapping[str, int],
        counted: tuple[str, ...],
    ) -> SortedPartition:
        """Sorts a partition; writes what is kept of it, by split and shard.

        Args:
            partition: its number.
            kept: for each split, what is kept.
            shards: of each split.
            counted: the sides whose tokens are to be counted.
        """
        keys, lines = take_partition(self._work, partition)
        numbering = self._numbering(counted)
        for split, (wanted, corpora, weights) in kept.items():
            indices = np.searchsorted(keys, wanted)
            if weights is not None and corpora is not None:
                times = repetitions(wanted, np.asarray(weights)[corpora])
                of, wanted = copies(wanted, times)
                order = np.argsort(wanted, kind="stable")
                wanted, indices = wanted[order], indices[of[order]]
            piece = Piece(
                partition, wanted, [lines[i] for i in indices.tolist()], {}
            )
            for side in counted:
                texts = _side(piece.lines, side)
                piece.numbers[side] = numbering[side].number(texts)
            write_pieces(self._work / split, piece, shards[split])
            if split == "train":
                counts = [
                    _counts(numbering[side].tokens, piece.numbers[side].values)
                    for side in counted
                ]
                result = SortedPartition(counts)
                if weights is not None and corpora is not None:
                    trained = np.bincount(corpora[of], minlength=len(weights))
                    left_out = int((times == 0).sum())
                    result = SortedPartition(counts, trained, left_out)
        for side in counted:
            numbering[side].save(self._tokens_path(partition, side))
        return result

    def _numbering(self, counted):
        if not counted:
            return {}
        self._set_up()
        from keras_transformer.data.partition_tokens import PartitionTokens

        return {side: PartitionTokens(self._splits[side]) for side in counted}

    def _tokens_path(self, partition, side):
        return self._work / f"tokens-{partition:06d}.{side}"

    def encode(self, split: str, shard: int, shards: int) -> EncodedShard:
        """Writes the records of a shard, their lengths, and dev's text.

        Only training pairs are checked for their length ratio.
        """
        self._set_up()
        from keras_transformer.data.records import shard_name, write_shard

        is_dev = split == "dev"
        report = CleaningReport()
        tokens = np.zeros((2, 2), np.int64)
        texts: list = []
        unknown = [each.unknown_ids() for each in self._tokenizers]

        def batches():
            for lines, *sides in self._encoded(split, shard):
                source, target = (side.lengths for side in sides)
                kept = keep_by_length(
                    source, target, self._config, report, not is_dev
                )
                sides = [side.only(kept) for side in sides]
                tokens[...] += [
                    [len(side.values), int(np.isin(side.values, ids).sum())]
                    for side, ids in zip(sides, unknown, strict=True)
                ]
                if is_dev:
                    texts.extend(itertools.compress(lines, kept))
                yield sides

        path = self._folder / shard_name(split, shard, shards)
        lengths = write_shard(path, batches())
        np.save(self._work / f"{split}-{shard:06d}.npy", lengths)
        if is_dev:
            content = b"".join(line + b"\n" for line in texts)
            (self._work / f"dev-{shard:06d}.tsv").write_bytes(content)
        description = describe_file(path) | {"pairs": len(lengths)}
        return EncodedShard(description, dict(report.dropped), tokens)

    def _encoded(self, split, shard):
        """Yields chunks of a shard: lines, source `Ids`, target `Ids`."""
        pieces = read_pieces(self._work / split, shard)
        order = reading_order(pieces)
        lines = merged_lines(pieces, order)
        bounds = [*range(0, len(lines), CHUNK), len(lines)]
        sides = [
            Ids.joined([self._ids(piece, side) for piece in pieces])
            .take(order)
            .parts(bounds)
            for side in SIDES
        ]
        for n, ids in enumerate(zip(*sides, strict=True)):
            yield lines[bounds[n] : bounds[n + 1]], *ids

    def _ids(self, piece, side):
        """The `Ids` of a piece's side."""
        tokenizer = self._tokenizers[SIDES.index(side)]
        if side in piece.numbers:
            from keras_transformer.data.partition_tokens import load_ids

            path = self._tokens_path(piece.partition, side)
            values, lengths = piece.numbers[side]
            return Ids(load_ids(path, tokenizer)[values], lengths)
        texts = _side(piece.lines, side)
        return Ids.joined(
            [
                Ids.of(tokenizer.tokenize(texts[start : start + CHUNK]))
                for start in range(0, len(texts), CHUNK)
            ]
        )

    @functools.cached_property
    def _cleaner(self):
        return Cleaner(self._config)

    @functools.cached_property
    def _splits(self):
        """For each side with a vocabulary, what splits its text."""
        self._set_up()
        from keras_transformer.data.corpus_tokenizers import counting_tokenizer
        from keras_transformer.data.partition_tokens import split_function

        config = self._config
        return {
            side: split_function(counting_tokenizer(config, side))
            for side in SIDES
            if getattr(config, f"{side}_kind") not in SUBWORD_KINDS
        }

    @functools.cached_property
    def _tokenizers(self):
        self._set_up()
        from keras_transformer.data.prepared import (
            SOURCE_TOKENIZER,
            TARGET_TOKENIZER,
        )
        from keras_transformer.text.tokenizer import load_tokenizer

        names = (SOURCE_TOKENIZER, TARGET_TOKENIZER)
        return [load_tokenizer(self._folder / name) for name in names]


def use_one_thread(load: Callable[[], None] | None) -> None:
    """Has TensorFlow leave the other cores to the other workers.

    Args:
        load: called first.
    """
    if load is not None:
        load()
    set_threads(1)


def _side(lines, side):
    """One side of pairs, as bytes."""
    index = SIDES.index(side)
    return [line.split(b"\t")[index] for line in lines]


def _counts(tokens, numbers):
    """How often each token occurs: (tokens, int64 counts)."""
    counts = np.bincount(numbers, minlength=len(tokens))
    return [token.decode() for token in tokens], counts


def key_columns(
    pairs: Sequence[Pair], corpus: int, config: DataConfig
) -> dict[str, np.ndarray]:
    """The columns of the table `pairs`, each int64 `(N,)`.

    Args:
        pairs: N of them, cleaned.
        corpus: that they are of, an index.
        config: says the seed.
    """
    keys = pair_keys(pairs, config.seed)
    table = {f"{name}_key": values for name, values in keys._asdict().items()}
    table["corpus"] = np.full(len(pairs), corpus)
    return table
