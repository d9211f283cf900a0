"""Start and end tokens around plain ids."""

import tensorflow as tf

from keras_transformer.constants import END_ID, START_ID


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
