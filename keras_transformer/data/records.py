"""Records: pairs of ids on disk, TFRecord shards of `tf.train.Example`.

Each record has the plain ids of one pair, `source_ids` and `target_ids`,
without start and end. Each split also has a lengths file, int32 `(N, 2)` in the
order of the records, from which the number of batches is computed without
reading a shard.
"""

from __future__ import annotations

import errno
import math
import os
import pathlib
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from keras_transformer.system.checksums import describe_file
from keras_transformer.system.files import disk_error

SHARD_PAIRS = 100_000
_FEATURES = {
    name: tf.io.RaggedFeature(tf.int64, row_splits_dtype=tf.int64)
    for name in ("source_ids", "target_ids")
}


class Ids(NamedTuple):
    """The ids of some sentences, concatenated.

    Attributes:
        values: int32 `(M,)`.
        lengths: int `(N,)`, ids of each sentence.
    """

    values: np.ndarray
    lengths: np.ndarray

    @classmethod
    def of(cls, ragged: tf.RaggedTensor) -> Ids:
        """Converts a RaggedTensor int32 `(N, None)`."""
        values, lengths = ragged.flat_values, ragged.row_lengths()
        return cls(values.numpy(), lengths.numpy())

    @classmethod
    def joined(cls, parts: Sequence[Ids]) -> Ids:
        """Concatenates the sentences of several `Ids`."""
        values = [np.empty(0, np.int32), *(part.values for part in parts)]
        lengths = [np.empty(0, np.int64), *(part.lengths for part in parts)]
        return cls(np.concatenate(values), np.concatenate(lengths))

    def take(self, indices: np.ndarray) -> Ids:
        """Selects sentences by their indices, int `(K,)`, in that order."""
        starts = np.cumsum(self.lengths) - self.lengths
        lengths = self.lengths[indices]
        # The offset by which each sentence moves.
        shifts = starts[indices] - (np.cumsum(lengths) - lengths)
        sources = np.arange(lengths.sum()) + np.repeat(shifts, lengths)
        return Ids(self.values[sources], lengths)

    def only(self, kept: np.ndarray) -> Ids:
        """Selects the sentences where `kept`, bool `(N,)`, is True."""
        if kept.all():
            return self
        values = self.values[np.repeat(kept, self.lengths)]
        return Ids(values, self.lengths[kept])

    def parts(self, bounds: list[int]) -> Iterator[Ids]:
        """Yields the sentences between each two bounds, ascending indices."""
        offsets = np.append(0, np.cumsum(self.lengths))[bounds].tolist()
        for i in range(len(bounds) - 1):
            yield Ids(
                self.values[offsets[i] : offsets[i + 1]],
                self.lengths[bounds[i] : bounds[i + 1]],
            )


def shard_name(split: str, shard: int, shards: int) -> str:
    """The name of a shard's file."""
    return f"{split}-{shard:05d}-of-{shards:05d}.tfrecord"


def count_shards(pairs: float) -> int:
    """The number of shards for a number of pairs."""
    return math.ceil(pairs / SHARD_PAIRS)


def write_shard(
    path: pathlib.Path, batches: Iterable[tuple[Ids, Ids]]
) -> np.ndarray:
    """Writes a shard.

    Args:
        path: of the file.
        batches: plain source and target ids.

    Returns:
        The lengths of the pairs' sides, int32 `(N, 2)`.

    Raises:
        OSError: it can't be written.
    """
    tables = [np.empty((0, 2), np.int32)]
    try:
        with tf.io.TFRecordWriter(os.fsencode(path)) as writer:
            for sides in batches:
                for record in serialize(*sides):
                    writer.write(record)
                lengths = [side.lengths for side in sides]
                tables.append(np.stack(lengths, axis=1).astype(np.int32))
    except tf.errors.OpError as error:
        # TensorFlow's errors can't be pickled for another process.
        full = error.error_code == tf.errors.RESOURCE_EXHAUSTED
        number = errno.ENOSPC if full else errno.EIO
        raise OSError(number, disk_error(error), str(path)) from None
    return np.concatenate(tables)


def join_lengths(
    folder: pathlib.Path, split: str, lengths: Sequence[pathlib.Path]
) -> dict:
    """Joins the lengths of a split's shards to its lengths file.

    Args:
        folder: of the shards, and of the new file.
        split: "train" or "dev".
        lengths: `.npy` files of what `write_shard` returns, shard by shard.

    Returns:
        The file as the manifest lists it.
    """
    tables = [np.load(path, mmap_mode="r") for path in lengths]
    target = folder / f"{split}.lengths.npy"
    header = {
        "descr": np.lib.format.dtype_to_descr(np.dtype(np.int32)),
        "fortran_order": False,
        "shape": (sum(map(len, tables)), 2),
    }
    with target.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for table in tables:
            file.write(table.tobytes())
    return describe_file(target)


def serialize(sources: Ids, targets: Ids) -> Iterator[bytes]:
    """Yields pairs of plain ids as records, serialized `tf.train.Example`s."""
    example = tf.train.Example()  # Reused, because new ones take longer.
    sides = [example.features.feature[name].int64_list for name in _FEATURES]
    bounds = list(range(len(sources.lengths) + 1))
    pairs = zip(sources.parts(bounds), targets.parts(bounds), strict=True)
    for pair in pairs:
        for side, ids in zip(sides, pair, strict=True):
            side.value[:] = ids.values.tolist()
        yield example.SerializeToString(deterministic=True)


def parse(records: tf.Tensor) -> tuple[tf.RaggedTensor, tf.RaggedTensor]:
    """The pairs in some records.

    Args:
        records: string `(N,)`.

    Returns:
        Plain source and target ids, each ragged int32 `(N, None)`.
    """
    parsed = tf.io.parse_example(records, _FEATURES)
    return (
        tf.cast(parsed["source_ids"], tf.int32),
        tf.cast(parsed["target_ids"], tf.int32),
    )
