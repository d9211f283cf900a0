"""Batches for the model: buckets by length, shuffled, prefetched.

A batch is `({"source_ids", "target_ids"}, labels)`, int32, padded with PAD on
the right: `source_ids` (B, S) is START, source, END; `target_ids` (B, T) is
START, target; `labels` (B, T) is target, END. This is the one place where
the target is shifted.
"""

import contextlib

import numpy as np
import tensorflow as tf

from keras_transformer.constants import PAD_ID
from keras_transformer.data.batch_plan import (
    BatchSize,
    count_batches,
    plan_pool,
)
from keras_transformer.data.prepared import PreparedData
from keras_transformer.data.records import parse
from keras_transformer.errors import InputError
from keras_transformer.text.framing import frame

# What framing adds: START and END to a source, one of them to a target.
_FRAME_LENGTHS = np.array([2, 1], np.int32)

_EVALUATION_POOL = 100_000


class TrainingBatches:
    """The training split in batches, epoch after epoch.

    The pairs are read in pools, each of them a random sample of the corpus:
    one shard or several, or a part of one, of up to `shuffle_buffer` pairs.
    Every epoch takes the pools in another order, cuts each into batches of
    similar length at other places, with other pairs of equal length together,
    and shuffles its batches. All of that follows from (`seed`, `epoch`)
    alone, in this process or another.

    Attributes:
        dataset: `tf.data.Dataset` for `model.fit`. A new iterator yields the
            epoch numbered by `epoch` from its batch `first_batch` on; both
            are read when the iterator gives its first batch. Its cardinality
            is `batches_per_epoch`, which Keras needs to run each epoch to its
            end; an epoch begun at `first_batch` ends earlier by as much.
        batches_per_epoch: the same in every epoch.

    Args:
        prepared: the data.
        batch_tokens: positions of a batch on either side, padding included.
        batch_sentences: if set, pairs a batch, used instead of tokens.
        shuffle_buffer: pairs sorted and shuffled together, in memory.
        seed: decides every order.

    Raises:
        InputError: the lengths file is damaged.
    """

    def __init__(
        self,
        prepared: PreparedData,
        *,
        batch_tokens: int,
        batch_sentences: int | None = None,
        shuffle_buffer: int = 100_000,
        seed: int = 1,
    ):
        self._size = BatchSize(batch_tokens, batch_sentences)
        self._seed = seed
        self._pool_size = shuffle_buffer
        self._units = _Units(prepared, "train", shuffle_buffer)
        self._unit_batches = self._units.count_batches(self._size, True)
        self.batches_per_epoch = int(self._unit_batches.sum())
        # tf.data runs on the processor, and so has to read them from there.
        with tf.device("CPU:0"):
            self._epoch = tf.Variable(0, trainable=False, dtype=tf.int64)
            self._first_batch = tf.Variable(0, trainable=False, dtype=tf.int64)
        self.dataset = self._build()

    @property
    def epoch(self) -> int:
        return int(self._epoch)

    @epoch.setter
    def epoch(self, value: int):
        self._epoch.assign(value)

    @property
    def first_batch(self) -> int:
        return int(self._first_batch)

    @first_batch.setter
    def first_batch(self, value: int):
        self._first_batch.assign(value)

    def _build(self):
        dataset = tf.data.Dataset.from_tensors(0).flat_map(self._epoch_batches)
        dataset = dataset.prefetch(tf.data.AUTOTUNE)
        # `assert_cardinality` would refuse an epoch that was resumed.
        dataset.cardinality = lambda: tf.constant(
            self.batches_per_epoch, tf.int64
        )
        return dataset

    def _epoch_batches(self, _):
        epoch = tf.identity(self._epoch)
        first_batch = tf.identity(self._first_batch)
        units, skips = tf.numpy_function(
            self._plan_epoch, [epoch, first_batch], [tf.int64, tf.int64]
        )
        units.set_shape([None])
        skips.set_shape([None])

        def unit_batches(unit, skip):
            pools = self._units.records(unit).batch(self._pool_size)
            batches = pools.enumerate().flat_map(
                lambda pool, records: self._pool_batches(
                    records, epoch, unit, pool
                )
            )
            return batches.skip(skip)

        return tf.data.Dataset.from_tensor_slices((units, skips)).flat_map(
            unit_batches
        )

    def _plan_epoch(self, epoch, first_batch):
        """The units to read, and how many batches of each to leave out."""
        random = np.random.default_rng([self._seed, epoch])
        units = random.permutation(len(self._unit_batches))
        counts = self._unit_batches[units]
        ends = np.cumsum(counts)
        skips = np.clip(first_batch - (ends - counts), 0, None)
        left = ends > first_batch
        return units[left].astype(np.int64), skips[left].astype(np.int64)

    def _pool_batches(self, records, epoch, unit, pool):
        def plan(lengths, *position):
            random = np.random.default_rng([self._seed, *position])
            return _flat_plan(plan_pool(lengths, self._size, random))

        return _batches_of_pool(records, plan, [epoch, unit, pool])


def evaluation_batches(
    prepared: PreparedData,
    split: str = "dev",
    *,
    batch_tokens: int = 4096,
    batch_sentences: int | None = None,
) -> tf.data.Dataset:
    """A split in batches, once, unshuffled: every pair, by length.

    Args:
        prepared: the data.
        split: `"dev"` or `"train"`.
        batch_tokens: positions of a batch on either side, padding included.
        batch_sentences: if set, pairs a batch, used instead of tokens.

    Returns:
        A dataset of known cardinality, as `TrainingBatches.dataset` but for
        the order.
    """
    size = BatchSize(batch_tokens, batch_sentences)
    units = _Units(prepared, split, _EVALUATION_POOL)

    def plan(lengths):
        return _flat_plan(plan_pool(lengths, size))

    def unit_batches(unit):
        pools = units.records(unit).batch(_EVALUATION_POOL)
        return pools.flat_map(
            lambda records: _batches_of_pool(records, plan, [])
        )

    count = int(units.count_batches(size, False).sum())
    dataset = tf.data.Dataset.range(len(units)).flat_map(unit_batches)
    dataset = dataset.apply(tf.data.experimental.assert_cardinality(count))
    return dataset.prefetch(tf.data.AUTOTUNE)


def padding_share(dataset: tf.data.Dataset) -> float:
    """PAD positions over all positions of `source_ids` and `target_ids`."""
    padding = positions = 0
    for features, _ in dataset.as_numpy_iterator():
        for name in ("source_ids", "target_ids"):
            padding += int((features[name] == PAD_ID).sum())
            positions += features[name].size
    return padding / positions if positions else 0.0


@contextlib.contextmanager
def damage_reported(prepared: PreparedData):
    """Turns what TensorFlow says of a damaged shard into an `InputError`.

    Wrap whatever reads batches in it, `model.fit` included.

    Raises:
        InputError: a shard that was being read is damaged or gone; the
            message names it.
    """
    try:
        yield
    except (tf.errors.DataLossError, tf.errors.NotFoundError) as error:
        prepared.verify()
        raise InputError(
            f"{prepared.path}: damaged while it was read ({error.message})"
        ) from error


class _Units:
    """The files of a split in units that are read together, in order.

    Shards that fit in one pool together are a unit, so that a pool is filled
    even if shards are small.
    """

    def __init__(self, prepared, split, pool_size):
        files = prepared.files(split)
        lengths = prepared.lengths(split)
        groups, sizes = [], []
        for path, size in zip(files, prepared.shard_sizes(split), strict=True):
            if groups and sizes[-1] + size <= pool_size:
                groups[-1].append(str(path))
                sizes[-1] += size
            else:
                groups.append([str(path)])
                sizes.append(size)
        self._files = tf.ragged.constant(groups, tf.string, ragged_rank=1)
        self._pool_size = pool_size
        ends = np.cumsum(sizes, dtype=np.int64)
        self._bounds = list(zip(ends - sizes, ends, strict=True))
        self._lengths = lengths

    def __len__(self):
        return len(self._bounds)

    def records(self, unit):
        """The records of one unit, in order: a dataset of strings."""
        return tf.data.TFRecordDataset(self._files[unit])

    def count_batches(self, size, shuffled):
        """int64 [units]: the batches of each unit."""
        counts = np.zeros(len(self._bounds), np.int64)
        for unit, (start, end) in enumerate(self._bounds):
            for first in range(start, end, self._pool_size):
                last = min(first + self._pool_size, end)
                pool = self._lengths[first:last] + _FRAME_LENGTHS
                counts[unit] += count_batches(pool, size, shuffled)
        return counts


def _batches_of_pool(records, plan, position):
    """Cuts one pool into padded batches.

    Args:
        records: string [P].
        plan: maps (lengths int32 [P, 2], *position) to `_flat_plan`'s result.
        position: int64 scalars.
    """
    sources, targets = parse(records)
    lengths = tf.stack([sources.row_lengths(), targets.row_lengths()], axis=1)
    indices, sizes = tf.numpy_function(
        plan, [lengths + _FRAME_LENGTHS, *position], [tf.int64, tf.int64]
    )
    indices.set_shape([None])
    sizes.set_shape([None])
    rows = tf.RaggedTensor.from_row_lengths(indices, sizes, validate=False)

    def gather(row):
        return _example(tf.gather(sources, row), tf.gather(targets, row))

    return tf.data.Dataset.from_tensor_slices(rows).map(
        gather, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True
    )


def _flat_plan(batches):
    sizes = [len(batch) for batch in batches]
    return np.concatenate(batches).astype(np.int64), np.array(sizes, np.int64)


def _example(sources, targets):
    """Frames, shifts and pads plain ids, each ragged int32 [B, None]."""
    targets = frame(targets)
    features = {
        "source_ids": frame(sources).to_tensor(PAD_ID),
        "target_ids": targets[:, :-1].to_tensor(PAD_ID),
    }
    return features, targets[:, 1:].to_tensor(PAD_ID)
