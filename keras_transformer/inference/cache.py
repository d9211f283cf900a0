"""Cache of the keys and values of past steps, written in place, never moved.

A beam search reorders its beams in every step, and gathering their caches would
cost more than attending to them. Here step `t` of beam `k` is written to slot
`t * K + k` of its sentence and stays there; only a mask is reordered, which has
the slots in the past of each beam. The slots of a sentence are keys for its K
queries, like the source in cross-attention, and are read once.

Axes: Y layers, B sentences, K beams, N heads, H head width, D = N * H model
width, T steps of the cache's capacity, S source. The cache's rows: G rows
per sentence (1 or N), each of width W (D or K * H).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf

# Added to the score of a key that must not be attended to. Finite, so that
# a row whose keys are all masked doesn't become NaN.
MASKED = -1e9


class Cache(NamedTuple):
    """State that the Transformer carries from step to step.

    Few tensors, because a loop spends time on each at every step. With one
    beam, the heads of keys and values are joined to rows of the model's width
    D; with more they are split (see `cached_attention`).

    Attributes:
        past: `(2 Y, B, T, D)` or `(2 Y, B * N, T, K * H)`, keys and values of
            the self-attention of one layer after another. Their dtype is that
            of the weights, as for the source's.
        mask: float32 `(1, 1, T)` or `(B, 1, K, T * K)`, 0 where a slot
            belongs to the past of a beam, MASKED elsewhere.
        source_keys: `(Y, B, S, D)` or `(Y, B, N, H, S)`.
        source_values: `(Y, B, S, D)` or `(Y, B, N, S, H)`.
        source_mask: float32 `(B, 1, S)` or `(B, 1, 1, S)`, 0 or MASKED.
    """

    past: tf.Tensor
    mask: tf.Tensor
    source_keys: tf.Tensor
    source_values: tf.Tensor
    source_mask: tf.Tensor


class CacheWriter:
    """Writes one step of each layer, by indices that are computed once.

    Args:
        past: `Cache.past` before the step, `(2 Y, B * G, T, W)`.
        position: int32 scalar, the step's.
        group_size: G.
        layers: Y.

    Attributes:
        past: `Cache.past` after the last write.
    """

    def __init__(
        self, past: tf.Tensor, position: tf.Tensor, group_size: int, layers: int
    ) -> None:
        self.past = past
        self._width = past.shape[3]
        self._shape = tf.shape(past)
        self._flat = tf.reshape(past, [-1, self._width])
        rows, steps = self._shape[1], self._shape[2]
        # Input order: (sentence, key or value, row); cache order: (key or
        # value, sentence, row).
        own = tf.reshape(tf.range(rows), [-1, 1, group_size])  # (B, 1, G)
        order = np.reshape(np.arange(2 * layers), [layers, 1, 2, 1])
        parts = tf.constant(order, tf.int32)
        indices = (parts * rows + own) * steps + position  # (Y, B, 2, G)
        indices = tf.reshape(indices, [layers, -1])  # (Y, B * 2 * G)
        self._indices = tf.unstack(indices, layers)

    def write(self, layer: int, new: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Writes the keys and values of a layer, in place.

        A scatter or a `where` would copy the whole cache in every step.

        Args:
            layer: int.
            new: 2 * G rows of width W per sentence, keys, then values; any
                shape.

        Returns:
            all keys and values of the layer, `(B * G, T, W)` each.
        """
        self._flat = tf.raw_ops.InplaceUpdate(
            x=self._flat,  # (2 Y * B * G * T, W)
            i=self._indices[layer],
            v=tf.reshape(new, [-1, self._width]),  # (B * 2 * G, W)
        )
        self.past = tf.reshape(self._flat, self._shape)  # (2 Y, B * G, T, W)
        # No copies: parts along the first axis share its storage.
        parts = tf.unstack(self.past, 2 * len(self._indices))
        return parts[2 * layer], parts[2 * layer + 1]


def empty_past(
    shape: Sequence[int | tf.Tensor], dtype: str | tf.DType
) -> tf.Tensor:
    """Zeros that a `CacheWriter` may write to.

    A new tensor for each call: the graph's optimizer would merge equal
    constants, and what is written in place to one would appear in the other.

    Args:
        shape: `(2 Y, B * G, T, W)`, the first and the last of them ints.
        dtype: of the keys and values.
    """
    past = tf.raw_ops.Empty(shape=shape, dtype=dtype, init=True)
    return tf.ensure_shape(past, [shape[0], None, None, shape[3]])


def unmask_step(mask: tf.Tensor, position: tf.Tensor) -> tf.Tensor:
    """`mask` with each slot of one step unmasked for its own beam.

    Args:
        mask: `(..., K, T * K)`.
        position: int32 scalar, the step's.
    """
    beam_size = mask.shape[-2]
    slots = tf.range(tf.shape(mask)[-1])  # (T * K,)
    own = position
    if beam_size > 1:
        beams = tf.range(beam_size)[:, tf.newaxis]  # (K, 1)
        own = position * beam_size + beams  # (K, 1)
    return tf.where(slots == own, 0.0, mask)


def reorder(cache: Cache, parents: tf.Tensor) -> Cache:
    """Makes the past of beam `k` that of beam `parents[:, k]`.

    Args:
        parents: int32 `(B, K)`.
    """
    if is_joined(cache):
        return cache
    mask = tf.gather(cache.mask[:, 0], parents, batch_dims=1)  # (B, K, T * K)
    return cache._replace(mask=mask[:, tf.newaxis])


def take(cache: Cache, indices: tf.Tensor, num_heads: int) -> Cache:
    """The cache of some of the sentences.

    Args:
        indices: int32 `(B',)`, of the sentences.
        num_heads: N.
    """
    joined = is_joined(cache)
    group = 1 if joined else num_heads
    rows = indices[:, tf.newaxis] * group + tf.range(group)  # (B', G)
    rows = tf.reshape(rows, [-1])  # (B' * G,)
    return Cache(
        past=tf.gather(cache.past, rows, axis=1),  # (2 Y, B' * G, T, W)
        # The other shapes are as in `cache`, with B' for B.
        mask=cache.mask if joined else tf.gather(cache.mask, indices),
        source_keys=tf.gather(cache.source_keys, indices, axis=1),
        source_values=tf.gather(cache.source_values, indices, axis=1),
        source_mask=tf.gather(cache.source_mask, indices),
    )


def grow(cache: Cache, steps: int | tf.Tensor) -> Cache:
    """The cache with the capacity for `steps` steps more.

    Args:
        steps: int or int scalar tensor.
    """
    slots = steps * cache.mask.shape[-2]
    none = [0, 0]
    return cache._replace(
        # (2 Y, B * G, T + steps, W)
        past=tf.pad(cache.past, [none, none, [0, steps], none]),
        mask=tf.pad(
            cache.mask,
            [none] * (cache.mask.shape.rank - 1) + [[0, slots]],
            constant_values=MASKED,
        ),  # (..., K, (T + steps) * K)
    )


def is_joined(cache: Cache) -> bool:
    """True if the heads are joined, as for one beam; else they are split."""
    return cache.mask.shape.rank == 3
