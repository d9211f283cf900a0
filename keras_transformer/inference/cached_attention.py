"""Cached attention for the queries of one step, in the two fastest layouts.

`SplitHeadAttention`, for several beams, is attention as in the paper: a small
product for each sentence and head. For one beam these products would have a
single row. `JoinedHeadAttention` instead computes all heads of a sentence in
one product, with a query whose row for head `n` is zero except in that head's
columns. This is N times the arithmetic in a sixth of the time, since keys and
values keep the layout of their projection: rows of D to write and to read.

Axes: Y layers, B sentences, K beams, R = B * K rows, N heads, H head width,
D = N * H model width, T steps of the cache's capacity, S source, L keys.
"""

import numpy as np
import tensorflow as tf

from keras_transformer.constants import PAD_ID
from keras_transformer.inference.cache import MASKED, Cache, empty_past


class SplitHeadAttention:
    """Keys and values split by heads, for several beams.

    Args:
        beam_size: K.
        num_heads: N.
        head_width: H.
    """

    def __init__(self, beam_size: int, num_heads: int, head_width: int) -> None:
        self._beam_size = beam_size
        self._num_heads = num_heads
        self._head_width = head_width
        self.group_size = num_heads

    def start(
        self, kv: tf.Tensor, source_ids: tf.Tensor, max_steps: int | tf.Tensor
    ) -> Cache:
        """The cache before the first step.

        Args:
            kv: `(B, S, 2, Y, D)`, keys and values of the source.
            source_ids: int32 `(B, S)`.
            max_steps: int or int scalar tensor, T.
        """
        batch_size, _, _, layers, _ = shape_of(kv)
        source_keys, source_values = self.split_kv(kv)
        slots = max_steps * self._beam_size
        width = self._beam_size * self._head_width
        rows = batch_size * self.group_size
        shape = [2 * layers, rows, max_steps, width]
        return Cache(
            past=empty_past(shape, kv.dtype),
            mask=tf.fill([batch_size, 1, self._beam_size, slots], MASKED),
            source_keys=source_keys,
            source_values=source_values,
            source_mask=source_mask(source_ids),
        )

    def split_kv(self, kv: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Keys `(Y, B, N, H, S)` and values `(Y, B, N, S, H)`.

        Transposed once for all steps, to the layouts that the products read.
        """
        _, length, _, layers, _ = shape_of(kv)
        shape = [-1, length, 2, layers, self._num_heads, self._head_width]
        kv = tf.reshape(kv, shape)  # (B, S, 2, Y, N, H)
        return (
            tf.transpose(kv[:, :, 0], [2, 0, 3, 4, 1]),  # (Y, B, N, H, S)
            tf.transpose(kv[:, :, 1], [2, 0, 3, 1, 4]),  # (Y, B, N, S, H)
        )

    def split(self, projected: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """The query, and the keys and values to write to the cache.

        Args:
            projected: `(R, 3 D)`.

        Returns:
            `(B, N, K, H)` and `(B, 2 N, K, H)`.
        """
        heads = split_heads(projected, self._beam_size, 3 * self._num_heads)
        # (B, N, K, H) and (B, 2 N, K, H)
        return tf.split(heads, [self._num_heads, 2 * self._num_heads], axis=1)

    def attend_to_past(
        self,
        query: tf.Tensor,
        keys: tf.Tensor,
        values: tf.Tensor,
        mask: tf.Tensor,
    ) -> tf.Tensor:
        """Attends to the past.

        Args:
            query: `(B, N, K, H)`.
            keys: the layer's of `Cache.past`, `(B * N, T, K * H)`.
            values: of the same shape.
            mask: `Cache.mask`.

        Returns:
            context `(R, D)`.
        """
        slots = tf.shape(keys)[1] * self._beam_size  # T * K
        shape = [-1, self._num_heads, slots, self._head_width]
        keys = tf.reshape(keys, shape)  # (B, N, T * K, H)
        values = tf.reshape(values, shape)  # (B, N, T * K, H)
        context, _ = attend(query, keys, values, mask, transposed=False)
        return join_heads(context)

    def attend_to_source(
        self,
        projected: tf.Tensor,
        keys: tf.Tensor,
        values: tf.Tensor,
        mask: tf.Tensor,
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Attends to the source.

        Args:
            projected: `(R, D)`, the query.
            keys: the layer's of `Cache.source_keys`, `(B, N, H, S)`.
            values: the layer's of `Cache.source_values`, `(B, N, S, H)`.
            mask: `Cache.source_mask`.

        Returns:
            context `(R, D)` and weights `(B, N, K, S)`.
        """
        query = split_heads(projected, self._beam_size, self._num_heads)
        context, weights = attend(query, keys, values, mask, transposed=True)
        return join_heads(context), weights


class JoinedHeadAttention:
    """Keys and values in rows of all heads, for one beam.

    Args:
        num_heads: N.
        head_width: H.
    """

    group_size = 1

    def __init__(self, num_heads: int, head_width: int) -> None:
        self._num_heads = num_heads
        self._head_width = head_width
        self._width = num_heads * head_width
        own = np.eye(num_heads, dtype=np.int32)
        self._own = np.repeat(own, head_width, axis=1)  # (N, D)

    def start(
        self, kv: tf.Tensor, source_ids: tf.Tensor, max_steps: int | tf.Tensor
    ) -> Cache:
        """See `SplitHeadAttention.start`."""
        batch_size, _, _, layers, _ = shape_of(kv)
        kv = tf.transpose(kv, [2, 3, 0, 1, 4])  # (2, Y, B, S, D)
        shape = [2 * layers, batch_size, max_steps, self._width]
        return Cache(
            past=empty_past(shape, kv.dtype),
            mask=tf.fill([1, 1, max_steps], MASKED),
            source_keys=kv[0],
            source_values=kv[1],
            source_mask=source_mask(source_ids)[:, 0],  # (B, 1, S)
        )

    def split(self, projected: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """The query `(B, D)`, and keys and values for the cache `(B, 2 D)`."""
        # (B, D) and (B, 2 D)
        return tf.split(projected, [self._width, 2 * self._width], axis=1)

    def attend_to_past(
        self,
        query: tf.Tensor,
        keys: tf.Tensor,
        values: tf.Tensor,
        mask: tf.Tensor,
    ) -> tf.Tensor:
        """See `SplitHeadAttention`; here the query is `(B, D)`."""
        return self._attend(query, keys, values, mask)[0]

    def attend_to_source(
        self,
        projected: tf.Tensor,
        keys: tf.Tensor,
        values: tf.Tensor,
        mask: tf.Tensor,
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """See `SplitHeadAttention`."""
        context, weights = self._attend(projected, keys, values, mask)
        weights = weights[:, :, tf.newaxis]  # (B, N, 1, S)
        return context, weights

    def _attend(self, query, keys, values, mask):
        """Context `(B, D)` and weights `(B, N, L)`.

        From `(B, D)`, `(B, L, D)`, `(B, L, D)` and `(B or 1, 1, L)`.
        """
        queries = self._own_columns(query)  # (B, N, D)
        # (B, N, D) and (B, N, L)
        mixed, weights = attend(queries, keys, values, mask, transposed=False)
        # Row n has all columns of the values, of which those of head n are
        # kept: of the N * N blocks of H columns every (N + 1)-th.
        blocks = [-1, self._num_heads**2, self._head_width]
        own = np.arange(self._num_heads) * (self._num_heads + 1)
        context = tf.reshape(mixed, blocks)  # (B, N * N, H)
        context = tf.gather(context, own, axis=1)  # (B, N, H)
        context = tf.reshape(context, [-1, self._width])  # (B, D)
        return context, weights

    def _own_columns(self, query):
        """`(B, D)` to `(B, N, D)`: row `n` is zero outside head n's columns."""
        rows = tf.expand_dims(query, 1)  # (B, 1, D)
        if query.dtype.size > 2:
            return rows * tf.constant(self._own, query.dtype)
        # Masks bits, all ones or all zeros, since a product of bfloat16 takes
        # twice the time.
        mask = tf.constant(-self._own, tf.int16)  # (N, D)
        rows = tf.bitcast(rows, tf.int16)
        return tf.bitcast(tf.bitwise.bitwise_and(rows, mask), query.dtype)


def attend(
    query: tf.Tensor,
    keys: tf.Tensor,
    values: tf.Tensor,
    mask: tf.Tensor,
    transposed: bool,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Attention of scaled queries; the softmax is float32.

    Args:
        query: `(..., K, H)`.
        keys: `(..., L, H)`, or `(..., H, L)` if `transposed`.
        values: `(..., L, H)`.
        mask: float32, added to the scores, broadcasts to `(..., K, L)`.
        transposed: whether the keys are transposed.

    Returns:
        context `(..., K, H)` and weights float32 `(..., K, L)`.
    """
    scores = tf.matmul(query, keys, transpose_b=not transposed)
    weights = tf.nn.softmax(tf.cast(scores, tf.float32) + mask)
    return tf.matmul(tf.cast(weights, values.dtype), values), weights


def split_heads(
    rows: tf.Tensor, length: int | tf.Tensor, heads: int
) -> tf.Tensor:
    """`(B * length, heads * H)` to `(B, heads, length, H)`."""
    width = rows.shape[1] // heads
    x = tf.reshape(rows, [-1, length, heads, width])  # (B, length, heads, H)
    return tf.transpose(x, [0, 2, 1, 3])  # (B, heads, length, H)


def join_heads(context: tf.Tensor) -> tf.Tensor:
    """`(B, N, length, H)` to `(B * length, N * H)`."""
    width = context.shape[1] * context.shape[3]
    x = tf.transpose(context, [0, 2, 1, 3])  # (B, length, N, H)
    return tf.reshape(x, [-1, width])  # (B * length, N * H)


def source_mask(source_ids: tf.Tensor) -> tf.Tensor:
    """float32 `(B, 1, 1, S)`, MASKED at padding."""
    mask = tf.where(source_ids == PAD_ID, MASKED, 0.0)
    return mask[:, tf.newaxis, tf.newaxis]  # (B, 1, 1, S)


def additive_causal_mask(length: int | tf.Tensor) -> tf.Tensor:
    """float32 `(length, length)`, MASKED where a key is in the future."""
    positions = tf.range(length)
    return tf.where(positions > positions[:, tf.newaxis], MASKED, 0.0)


def shape_of(tensor: tf.Tensor) -> list:
    """The shape of a tensor as a list, ints where they are known."""
    dynamic = tf.shape(tensor)
    return [
        dynamic[axis] if size is None else size
        for axis, size in enumerate(tensor.shape)
    ]
