"""The path of a split from its shards to padded batches, pool by pool."""

from collections.abc import Callable, Iterator

import numpy as np
import tensorflow as tf

from keras_transformer.constants import PAD_ID
from keras_transformer.data.batch_plan import BatchSize, count_batches
from keras_transformer.data.prepared import PreparedData
from keras_transformer.data.records import parse
from keras_transformer.text.framing import frame

# What framing adds: START and END to a source, one of them to a target.
_FRAME_LENGTHS = np.array([2, 1], np.int32)


class Pools:
    """A split of prepared data in pools of pairs.

    Its files form units, each read from its beginning: shards that fit in
    one pool together, so that pools are filled even if shards are small, or
    one large shard, which gives several pools.

    Args:
        prepared: the data.
        split: `"train"` or `"dev"`.
        pool_size: pairs a pool, at most.

    Raises:
        InputError: there is no such split, or its lengths file is damaged.
    """

    def __init__(self, prepared: PreparedData, split: str, pool_size: int):
        groups, sizes = [], []
        shards = zip(
            prepared.files(split), prepared.shard_sizes(split), strict=True
        )
        for path, size in shards:
            if groups and sizes[-1] + size <= pool_size:
                groups[-1].append(str(path))
                sizes[-1] += size
            else:
                groups.append([str(path)])
                sizes.append(size)
        self._files = tf.ragged.constant(groups, tf.string, ragged_rank=1)
        self._sizes = sizes
        self._pool_size = pool_size
        self._lengths = prepared.lengths(split)

    def read(self, unit: tf.Tensor) -> tf.data.Dataset:
        """The pools of a unit: (number int64, records string [P])."""
        records = tf.data.TFRecordDataset(self._files[unit])
        return records.batch(self._pool_size).enumerate()

    def lengths(self) -> Iterator[tuple[int, int, np.ndarray]]:
        """Yields (unit, pool, lengths int32 [P, 2] in a batch)."""
        start = 0
        for unit, size in enumerate(self._sizes):
            end = start + size
            for pool, first in enumerate(range(start, end, self._pool_size)):
                last = min(first + self._pool_size, end)
                yield unit, pool, self._lengths[first:last] + _FRAME_LENGTHS
            start = end

    def count_batches(self, size: BatchSize, shuffled: bool) -> list[list[int]]:
        """The number of batches of every pool: a list for each unit."""
        counts = [[] for _ in self._sizes]
        for unit, _, lengths in self.lengths():
            counts[unit].append(count_batches(lengths, size, shuffled))
        return counts


def batches_of_pools(
    pools: tf.data.Dataset,
    plan: Callable[..., list[np.ndarray]],
    size: BatchSize,
    change: Callable[..., tuple] | None = None,
) -> tf.data.Dataset:
    """Cuts pools into padded batches; the next pool is made ready meanwhile.

    Args:
        pools: dataset of (records string [P], arguments: int64 scalars).
        plan: maps (lengths int32 [P, 2], *arguments) to arrays of indices.
        size: what the plan was made for.
        change: maps the plain ids of a batch, (sources, targets, *arguments,
            left), to other ones, in graph code; `left` counts the batches
            of the pool from this one on, which is the same wherever an epoch
            goes on. None: they stay.
    """

    def flat_plan(*arguments):
        batches = plan(*arguments)
        sizes = np.array([len(batch) for batch in batches], np.int64)
        return np.concatenate([np.empty(0, np.int64), *batches]), sizes

    def planned(records, arguments):
        sources, targets = parse(records)
        lengths = tf.stack(
            [sources.row_lengths(), targets.row_lengths()], axis=1
        )
        lengths = tf.cast(lengths, tf.int32) + _FRAME_LENGTHS
        indices, sizes = tf.numpy_function(
            flat_plan, [lengths, *arguments], [tf.int64, tf.int64]
        )
        indices.set_shape([None])
        sizes.set_shape([None])
        rows = tf.RaggedTensor.from_row_lengths(indices, sizes, validate=False)
        return sources, targets, rows, arguments

    def gathered(sources, targets, rows, arguments):
        def example(row, left):
            sides = tf.gather(sources, row), tf.gather(targets, row)
            if change is not None:
                sides = change(*sides, *arguments, left)
            return _few_shapes(*model_example(*sides), size)

        left = tf.range(rows.nrows(), 0, -1)
        return tf.data.Dataset.from_tensor_slices((rows, left)).map(
            example, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True
        )

    pools = pools.map(planned).prefetch(1)
    return pools.flat_map(gathered).prefetch(tf.data.AUTOTUNE)


def model_example(sources, targets):
    """Frames, shifts and pads plain ids, each ragged int32 [B, None].

    This is the one place where the target is shifted.
    """
    targets = frame(targets)
    features = {
        "source_ids": frame(sources).to_tensor(PAD_ID),
        "target_ids": targets[:, :-1].to_tensor(PAD_ID),
    }
    return features, targets[:, 1:].to_tensor(PAD_ID)


def _few_shapes(features, labels, size):
    """Pads lengths to a multiple, and pairs to as many as a batch may have.

    What is added is PAD and counts for nothing.
    """
    if size.multiple == 1:
        return features, labels
    shapes = {name: tf.shape(ids) for name, ids in features.items()}
    pairs, source = tf.unstack(shapes["source_ids"])
    source = size.rounded(source)
    target = size.rounded(shapes["target_ids"][1])
    rows = tf.maximum(pairs, size.rows(tf.maximum(source, target)))

    def padded(ids, length):
        more = [rows - pairs, length - tf.shape(ids)[1]]
        return tf.pad(ids, [[0, more[0]], [0, more[1]]], constant_values=PAD_ID)

    return {
        "source_ids": padded(features["source_ids"], source),
        "target_ids": padded(features["target_ids"], target),
    }, padded(labels, target)
