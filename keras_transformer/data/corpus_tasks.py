"""Tasks of preparation: what is done to one part of a corpus at a time.

They run in this process or in worker processes; what they hand to each other
are files. TensorFlow is imported by those that tokenize, so that workers which
only clean text do without its memory.
"""

import collections
import functools
import itertools
import pathlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from keras_transformer.config.data import DataConfig
from keras_transformer.constants import UNK_ID
from keras_transformer.data.blocks import Block
from keras_transformer.data.cleaned_text import Cleaner
from keras_transformer.data.cleaning import (
    CleaningReport,
    RatioMeter,
    UsualRatios,
    keep_by_length,
)
from keras_transformer.data.corpus import Pair
from keras_transformer.data.keys import fingerprints, pair_keys
from keras_transformer.data.mixing import copies, repetitions, tagged
from keras_transformer.data.partitions import (
    add_to_partitions,
    read_pieces,
    take_partition,
    write_pieces,
)
from keras_transformer.data.selection import columns
from keras_transformer.files import describe_file

SIDES = ("source", "target")
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
        threads: for TensorFlow; None leaves them as they are.
    """

    def __init__(
        self,
        folder: pathlib.Path,
        config: DataConfig,
        partitions: int,
        threads: int | None = None,
    ):
        self._folder = folder
        self._work = folder / "work"
        self._config = config
        self._partitions = partitions
        self._threads = threads

    def __call__(self, task: tuple):
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
        for split, (wanted, corpora, weights) in kept.items():
            indices = np.searchsorted(keys, wanted)
            if weights is not None:
                times = repetitions(wanted, np.take(weights, corpora))
                of, wanted = copies(wanted, times)
                order = np.argsort(wanted, kind="stable")
                wanted, indices = wanted[order], indices[of[order]]
            texts = [lines[i] for i in indices.tolist()]
            write_pieces(
                self._work / split, partition, texts, wanted, shards[split]
            )
            if split == "train":
                counts = [self._count(side, texts) for side in counted]
                result = SortedPartition(counts)
                if weights is not None:
                    trained = np.bincount(corpora[of], minlength=len(weights))
                    left_out = int((times == 0).sum())
                    result = SortedPartition(counts, trained, left_out)
        return result

    def _count(self, side, lines):
        from keras_transformer.text.tokenizer_training import count_tokens

        column = SIDES.index(side)
        texts = (line.decode().split("\t")[column] for line in lines)
        counts = count_tokens(texts, self._splits[side])
        return list(counts), np.array(list(counts.values()), np.int64)

    def measure(self, shard: int) -> collections.Counter:
        """Counts the lengths of training pairs that pass other checks."""
        meter = RatioMeter()
        for _, _, lengths in self._tokenized("train", shard):
            kept = keep_by_length(*lengths, self._config, CleaningReport())
            meter.add(*(side[kept] for side in lengths))
        return meter.pairs

    def encode(
        self,
        split: str,
        shard: int,
        shards: int,
        usual: UsualRatios | None,
    ) -> EncodedShard:
        """Writes the records of a shard, their lengths, and dev's text.

        Only training pairs are checked for their length ratio.
        """
        import tensorflow as tf

        from keras_transformer.data.records import shard_name, write_shard

        is_dev = split == "dev"
        report = CleaningReport()
        tokens = np.zeros((2, 2), np.int64)
        texts = []

        def batches():
            for pairs, ids, lengths in self._tokenized(split, shard):
                kept = keep_by_length(
                    *lengths, self._config, report, not is_dev, usual
                )
                sides = [tf.ragged.boolean_mask(side, kept) for side in ids]
                tokens[...] += [_token_counts(side) for side in sides]
                if is_dev:
                    texts.extend(itertools.compress(pairs, kept))
                yield sides

        path = self._folder / shard_name(split, shard, shards)
        lengths = write_shard(path, batches())
        np.save(self._work / f"{split}-{shard:06d}.npy", lengths)
        if is_dev:
            content = "".join(f"{pair[0]}\t{pair[1]}\n" for pair in texts)
            (self._work / f"dev-{shard:06d}.tsv").write_bytes(content.encode())
        description = describe_file(path) | {"pairs": len(lengths)}
        return EncodedShard(description, dict(report.dropped), tokens)

    def _tokenized(self, split, shard):
        """Yields chunks of pairs, the ids of both sides, and how many."""
        import tensorflow as tf

        for chunk in read_pieces(self._work / split, shard):
            ids = [
                tokenizer.tokenize(tf.constant(lines))
                for tokenizer, lines in zip(
                    self._tokenizers, zip(*chunk, strict=True), strict=True
                )
            ]
            yield chunk, ids, [side.row_lengths().numpy() for side in ids]

    @functools.cached_property
    def _cleaner(self):
        return Cleaner(self._config)

    @functools.cached_property
    def _splits(self):
        """For each side with a vocabulary, what splits its text."""
        self._set_threads()
        from keras_transformer.data.corpus_tokenizers import counting_tokenizer

        config = self._config
        return {
            side: counting_tokenizer(config, side).split
            for side in SIDES
            if getattr(config, f"{side}_kind") != "sentencepiece"
        }

    @functools.cached_property
    def _tokenizers(self):
        self._set_threads()
        from keras_transformer.data.prepared import (
            SOURCE_TOKENIZER,
            TARGET_TOKENIZER,
        )
        from keras_transformer.text.tokenizer import load_tokenizer

        names = (SOURCE_TOKENIZER, TARGET_TOKENIZER)
        return [load_tokenizer(self._folder / name) for name in names]

    def _set_threads(self):
        if self._threads is None:
            return
        import tensorflow as tf

        try:
            tf.config.threading.set_inter_op_parallelism_threads(1)
            tf.config.threading.set_intra_op_parallelism_threads(self._threads)
        except RuntimeError:
            pass  # Threads can't be changed once TensorFlow has begun.


def key_columns(
    pairs: Sequence[Pair], corpus: int, config: DataConfig
) -> dict[str, np.ndarray]:
    """The columns of the table `pairs`, each int64 `(N,)`.

    Args:
        pairs: N of them, cleaned.
        corpus: that they are of, an index.
        config: says which columns, and the seed.
    """
    keys = pair_keys(pairs, config.seed)
    table = {f"{name}_key": values for name, values in keys._asdict().items()}
    table["corpus"] = np.full(len(pairs), corpus)
    for index, side in enumerate(SIDES):
        name = f"{side}_text"
        if name in columns(config):
            texts = (pair[index] for pair in pairs)
            table[name] = fingerprints(texts, "text", config.seed)
    return table


def _token_counts(side):
    values = side.flat_values.numpy()
    return len(values), int((values == UNK_ID).sum())
