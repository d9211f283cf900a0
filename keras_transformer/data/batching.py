"""Batching: prepared pairs in batches of similar length, shuffled, prefetched.

The shards of a split form groups, each read from its beginning; a group yields
one or more shuffle pools of pairs; `batch_plan` cuts a pool into batches, and
`model_inputs` converts a batch to the model's inputs.
"""

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import tensorflow as tf

from keras_transformer.constants import LINKS
from keras_transformer.data.augmentation import BatchChange
from keras_transformer.data.batch_plan import (
    BatchSize,
    count_batches,
    plan_pool,
)
from keras_transformer.data.model_inputs import (
    FRAME_LENGTHS,
    model_inputs,
    pad_to_few_shapes,
)
from keras_transformer.data.prepared import PreparedData
from keras_transformer.data.records import parse
from keras_transformer.errors import InputError

_EVALUATION_POOL = 100_000
# Maps source and target ids as the model reads them to links `(B, T, S)`, bool.
Align = Callable[[np.ndarray, np.ndarray], np.ndarray]
# Makes `tf.data` trace a function without AutoGraph, whose conversion takes
# longer than everything else.
_as_written = tf.autograph.experimental.do_not_convert


class TrainingBatches:
    """The training split in batches, epoch after epoch.

    The pairs are read in pools of up to `shuffle_buffer` pairs, each a random
    sample of the corpus: one shard, several or a part of one. Every epoch
    takes the pools in another order, cuts each into batches of similar length
    at other boundaries, with other pairs of equal length together, and shuffles
    its batches. All of this depends only on (`seed`, `epoch`), in any process.

    Attributes:
        dataset: `tf.data.Dataset` for `model.fit`. A new iterator yields the
            epoch numbered by `epoch` from its batch `first_batch` on; both
            are read when the iterator yields its first batch. Its cardinality
            is the number of batches from `first_batch` on; Keras reads it
            once per `fit` call and uses it as the steps of every epoch.
        batches_per_epoch: the same in every epoch.

    Args:
        prepared: the data.
        batch_tokens: positions of a batch on either side, padding included.
        batch_sentences: if set, pairs per batch, used instead of tokens.
        shuffle_buffer: pairs sorted and shuffled together, in memory.
        seed: decides every order.
        length_buckets: see `BatchSize.buckets`; batches are padded with pairs
            without tokens.
        padded_lengths: see `BatchSize`.
        changes: applied to each batch, one after the other, see
            `batch_changes`. Batches are planned by the stored ids, and may
            exceed `batch_tokens` afterwards.
        replicas: devices that share a batch; the number of pairs of each batch
            is padded to a multiple of it.
        share: (index, count): this process reads part `index` of `count` equal
            parts of each batch's rows.
        align: finds the links of a batch, its feature `links`; None: batches
            don't have this feature.

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
        length_buckets: tuple[int, ...] = (),
        padded_lengths: tuple[int, ...] = (),
        changes: Sequence[BatchChange] = (),
        replicas: int = 1,
        share: tuple[int, int] = (0, 1),
        align: Align | None = None,
    ) -> None:
        self._align = align
        self._size = BatchSize(
            batch_tokens,
            batch_sentences,
            length_buckets,
            padded_lengths,
            replicas,
        )
        self._share = share
        self._seed = seed
        self._changes = changes
        self._pools = ShufflePools(prepared, "train", shuffle_buffer)
        self._counts = self._pools.count_batches(self._size, shuffled=True)
        self.batches_per_epoch = sum(sum(counts) for counts in self._counts)
        # On the CPU, where tf.data runs and reads them.
        with tf.device("CPU:0"):
            self._epoch = tf.Variable(0, trainable=False, dtype=tf.int64)
            self._first_batch = tf.Variable(0, trainable=False, dtype=tf.int64)
        self.dataset = self._build()

    @property
    def epoch(self) -> int:
        """The epoch that is read next, from 0."""
        return int(self._epoch)

    @epoch.setter
    def epoch(self, value: int) -> None:
        self._epoch.assign(value)

    @property
    def first_batch(self) -> int:
        """The index of the epoch's batch at which reading begins."""
        return int(self._first_batch)

    @first_batch.setter
    def first_batch(self, value: int) -> None:
        self._first_batch.assign(value)

    def padding_share(self) -> float:
        """The fraction of the epoch's positions that are padding.

        Computed from the lengths of the stored ids, without `changes`.
        """
        tokens = positions = 0
        for group, pool, lengths in self._pools.lengths():
            tokens += int(lengths.sum())
            for batch in self._plan(lengths, self.epoch, group, pool, 0):
                longest = lengths[batch].max(axis=0)  # (2,)
                rows, *shape = self._size.padded_shape(len(batch), *longest)
                positions += int(rows * sum(shape))
        return 1 - tokens / positions

    def _build(self):
        dataset = tf.data.Dataset.from_tensors(0).flat_map(self._epoch_pools)
        dataset = batches_of_pools(
            dataset,
            self._plan,
            self._size,
            self._changed,
            self._share,
            self._align,
        )
        # `assert_cardinality` would fix the number when the dataset is created.
        dataset.cardinality = lambda: tf.constant(
            self.batches_per_epoch - self.first_batch, tf.int64
        )
        return dataset

    @_as_written
    def _epoch_pools(self, _):
        """The pools of the epoch, each with the arguments of `_plan`."""
        epoch = tf.identity(self._epoch)
        groups, skips = tf.numpy_function(
            self._plan_epoch, [epoch, self._first_batch], [tf.int64, tf.int64]
        )
        groups.set_shape([None])  # (groups left,)
        skips.set_shape([None])  # (groups left,)

        def group_pools(group, skip):
            return self._pools.read(group).map(
                lambda pool, records: (records, (epoch, group, pool, skip))
            )

        groups = tf.data.Dataset.from_tensor_slices((groups, skips))
        return groups.flat_map(group_pools)

    def _plan_epoch(self, epoch, first_batch):
        """The groups to read, and the number of batches to skip in each."""
        random = np.random.default_rng([self._seed, epoch])
        groups = random.permutation(len(self._counts))
        counts = np.array([sum(self._counts[group]) for group in groups])
        ends = np.cumsum(counts)
        skips = np.clip(first_batch - (ends - counts), 0, None)
        left = ends > first_batch
        return groups[left].astype(np.int64), skips[left].astype(np.int64)

    def _changed(self, sources, targets, epoch, group, pool, skip, left):
        """Applies all changes to the plain ids of a batch."""
        for change in self._changes:
            key = epoch, group, pool, left
            sources, targets = change(sources, targets, *key)
        return sources, targets

    def _plan(self, lengths, epoch, group, pool, skip):
        """The batches of a pool; the first `skip` of its group are skipped."""
        random = np.random.default_rng([self._seed, epoch, group, pool])
        batches = plan_pool(lengths, self._size, random)
        return batches[max(0, skip - sum(self._counts[group][:pool])) :]


def evaluation_batches(
    prepared: PreparedData,
    split: str = "dev",
    *,
    batch_tokens: int = 4096,
    batch_sentences: int | None = None,
    length_buckets: tuple[int, ...] = (),
    padded_lengths: tuple[int, ...] = (),
    replicas: int = 1,
    share: tuple[int, int] = (0, 1),
) -> tf.data.Dataset:
    """All pairs of a split, once, in batches sorted by length.

    Args:
        prepared: the data.
        split: `"dev"` or `"train"`.
        batch_tokens: positions of a batch on either side, padding included.
        batch_sentences: if set, pairs per batch, used instead of tokens.
        length_buckets, padded_lengths, replicas, share: see `TrainingBatches`.

    Returns:
        A dataset of known cardinality. Its elements are those of
        `TrainingBatches.dataset`.
    """
    size = BatchSize(
        batch_tokens, batch_sentences, length_buckets, padded_lengths, replicas
    )
    pools = ShufflePools(prepared, split, _EVALUATION_POOL)
    counts = pools.count_batches(size, shuffled=False)

    @_as_written
    def group_pools(group):
        return pools.read(group).map(lambda _, records: (records, ()))

    dataset = tf.data.Dataset.range(len(counts)).flat_map(group_pools)
    dataset = batches_of_pools(
        dataset, lambda lengths: plan_pool(lengths, size), size, share=share
    )
    return dataset.apply(
        tf.data.experimental.assert_cardinality(sum(map(sum, counts)))
    )


@contextlib.contextmanager
def report_damaged_shards(prepared: PreparedData) -> Iterator[None]:
    """Turns TensorFlow's error of a damaged shard into an `InputError`.

    Wrap any code that reads batches in it, including `model.fit`.

    Raises:
        InputError: a shard is damaged or was removed while it was read; the
            message names it.
    """
    try:
        yield
    except (tf.errors.DataLossError, tf.errors.NotFoundError) as error:
        prepared.verify()
        raise InputError(
            f"{prepared.path}: damaged while it was read ({error.message})"
        ) from error


class ShufflePools:
    """A split of prepared data in pools of pairs, each shuffled by itself.

    The shards form groups, each read from its beginning: several shards that
    fit into one pool, so that pools are filled even if shards are small, or one
    large shard, which is divided into several pools.

    Args:
        prepared: the data.
        split: `"train"` or `"dev"`.
        pool_size: pairs per pool, at most.

    Raises:
        InputError: there is no such split, or its lengths file is damaged.
    """

    def __init__(
        self, prepared: PreparedData, split: str, pool_size: int
    ) -> None:
        groups: list = []
        sizes: list = []
        shards = zip(
            prepared.files(split), prepared.shard_sizes(split), strict=True
        )
        for path, size in shards:
            if groups and sizes[-1] + size <= pool_size:
                groups[-1].append(os.fsencode(path))
                sizes[-1] += size
            else:
                groups.append([os.fsencode(path)])
                sizes.append(size)
        self._files = tf.ragged.constant(groups, tf.string, ragged_rank=1)
        self._sizes = sizes
        self._pool_size = pool_size
        self._lengths = prepared.lengths(split)

    def read(self, group: tf.Tensor) -> tf.data.Dataset:
        """The pools of a group: (index int64, records string `(P,)`)."""
        records = tf.data.TFRecordDataset(self._files[group])
        return records.batch(self._pool_size).enumerate()

    def lengths(self) -> Iterator[tuple[int, int, np.ndarray]]:
        """Yields (group, pool, lengths int32 `(P, 2)`, including framing)."""
        start = 0
        for group, size in enumerate(self._sizes):
            end = start + size
            for pool, first in enumerate(range(start, end, self._pool_size)):
                last = min(first + self._pool_size, end)
                yield group, pool, self._lengths[first:last] + FRAME_LENGTHS
            start = end

    def count_batches(self, size: BatchSize, shuffled: bool) -> list[list[int]]:
        """The number of batches of every pool: a list for each group."""
        counts: list[list[int]] = [[] for _ in self._sizes]
        for group, _, lengths in self.lengths():
            counts[group].append(count_batches(lengths, size, shuffled))
        return counts


def batches_of_pools(
    pools: tf.data.Dataset,
    plan: Callable[..., list[np.ndarray]],
    size: BatchSize,
    resample: Callable[..., tuple] | None = None,
    share: tuple[int, int] = (0, 1),
    align: Align | None = None,
) -> tf.data.Dataset:
    """Cuts pools into padded batches, and prefetches the next pool.

    Args:
        pools: dataset of (records string `(P,)`, arguments: int64 scalars).
        plan: maps (lengths int32 `(P, 2)`, *arguments) to arrays of indices.
        size: the batch size that `plan` uses.
        resample: maps the plain ids of a batch, (sources, targets,
            *arguments, batches_left), to other ones, in graph code.
            `batches_left` counts the batches of the pool from this one on and
            seeds the sampling, as it doesn't depend on where an epoch is
            resumed. None: the ids aren't changed.
        share, align: see `TrainingBatches`.
    """

    def flat_plan(*arguments):
        batches = plan(*arguments)
        sizes = np.array([len(batch) for batch in batches], np.int64)
        return np.concatenate([np.empty(0, np.int64), *batches]), sizes

    @_as_written
    def planned(records, arguments):
        sources, targets = parse(records)  # (P, None)
        lengths = tf.stack(
            [sources.row_lengths(), targets.row_lengths()], axis=1
        )  # (P, 2)
        lengths = tf.cast(lengths, tf.int32) + FRAME_LENGTHS
        indices, sizes = tf.numpy_function(
            flat_plan, [lengths, *arguments], [tf.int64, tf.int64]
        )
        indices.set_shape([None])  # (P,), or fewer if batches are skipped
        sizes.set_shape([None])  # (number of batches,)
        return sources, targets, indices, sizes, arguments

    # Batches are ranges of indices, because TensorFlow logs a page of text
    # about types that it can't infer for a dataset of ragged rows.
    @_as_written
    def gathered(sources, targets, indices, sizes, arguments):
        def batch(start, end, batches_left):
            row = indices[start:end]  # (B,)
            # (B, None) each
            sides = tf.gather(sources, row), tf.gather(targets, row)
            if resample is not None:
                sides = resample(*sides, *arguments, batches_left)
            features, labels = pad_to_few_shapes(*model_inputs(*sides), size)
            features, labels = tf.nest.map_structure(
                lambda ids: _own_rows(ids, *share), (features, labels)
            )
            if align is not None:
                ids = features["source_ids"], features["target_ids"]
                # (B, T, S)
                links = tf.numpy_function(align, ids, tf.bool, stateful=False)
                features[LINKS] = tf.ensure_shape(links, [None, None, None])
            return features, labels

        ends = tf.cumsum(sizes)
        batches_left = tf.range(tf.size(sizes, tf.int64), 0, -1)
        slices = ends - sizes, ends, batches_left
        return tf.data.Dataset.from_tensor_slices(slices).map(
            batch, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True
        )

    pools = pools.map(planned).prefetch(1)
    # The autotuner's thread sleeps for up to a minute and may miss the wake-up
    # at the epoch's end, as it checks for cancellation too early. Training
    # waited for it, mostly if the process has a single core.
    options = tf.data.Options()
    options.autotune.enabled = False
    return pools.flat_map(gathered).prefetch(16).with_options(options)


def _own_rows(ids, index, count):
    """The part `(B / count, T)` of rows `(B, T)` that a process reads."""
    if count == 1:
        return ids
    rows = tf.shape(ids)[0] // count
    return ids[index * rows : (index + 1) * rows]
