"""Attention's scores with a gradient of two products and nothing else."""

import tensorflow as tf


def masked_scores(queries, keys, bias=None):
    """How well queries fit keys, plus what masks them.

    TensorFlow's own gradient transposes keys once more, and looks for axes
    that were broadcast, of which there are none.

    Args:
        queries: float `(..., T, H)`.
        keys: float `(..., S, H)`, the first axes as those of `queries`.
        bias: float32, broadcasts to `(..., T, S)`, or None. No gradient.

    Returns:
        float32 `(..., T, S)`.
    """

    @tf.custom_gradient
    def apply(q, k):
        def gradient(upstream):
            upstream = tf.cast(upstream, q.dtype)
            to_keys = tf.matmul(upstream, q, transpose_a=True)
            return tf.matmul(upstream, k), to_keys

        scores = tf.cast(tf.matmul(q, k, transpose_b=True), tf.float32)
        return scores if bias is None else scores + bias, gradient

    return apply(queries, keys)
