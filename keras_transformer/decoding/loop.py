"""What the loops of this folder share."""

import tensorflow as tf


def room(limits):
    """The number of output positions that the longest sentence needs.

    At least 1, so that a model never meets an empty cache.
    """
    return tf.maximum(tf.reduce_max(limits), 1)


def write_tokens(ids, tokens, step):
    """`ids` `(..., T)` with `tokens` `(...)` at position `step`."""
    here = tf.range(tf.shape(ids)[-1]) == step
    return tf.where(here, tokens[..., tf.newaxis], ids)


def same_shapes(new, old):
    """`new` with what is statically known of the shapes of `old`.

    A loop refuses a tensor whose static shape it saw change, and a cache
    keeps its shape although not every op can tell.
    """

    def merge_shape(after, before):
        after.set_shape(before.shape)
        return after

    return tf.nest.map_structure(merge_shape, new, old)
