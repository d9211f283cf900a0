"""Start and end tokens around plain ids, and what is between them."""

import tensorflow as tf

from keras_transformer.constants import END_ID, PAD_ID, START_ID


def frame(ids):
    """START before and END after each row.

    Args:
        ids: RaggedTensor int32 `[B, None]`.

    Returns:
        RaggedTensor int32 `[B, None]`, two longer in each row.
    """
    batch_size = ids.nrows()
    start = tf.fill([batch_size, 1], tf.constant(START_ID, ids.dtype))
    end = tf.fill([batch_size, 1], tf.constant(END_ID, ids.dtype))
    return tf.concat([start, ids, end], axis=1)


def framed(ids):
    """Which ids make text: those before the first END, no PAD, no START.

    Args:
        ids: int32 `[B, T]`.

    Returns:
        bool `[B, T]`.
    """
    ends = tf.cumsum(tf.cast(ids == END_ID, tf.int32), axis=1)
    return (ends == 0) & (ids != PAD_ID) & (ids != START_ID)
