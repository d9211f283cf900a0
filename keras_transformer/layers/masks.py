"""Attention masks as pure functions of token ids.

A mask is boolean and broadcasts to `(B, T, S)`; True means that the query at
T may attend to the key at S. Axes: B batch, T target (queries), S source
(keys).
"""

from keras import ops

from keras_transformer.constants import PAD_ID


def padding_mask(ids):
    """Which keys are real tokens.

    Args:
        ids: int tensor `(B, S)`, padded with `PAD_ID`.

    Returns:
        bool `(B, 1, S)`.
    """
    return ops.expand_dims(ops.not_equal(ids, PAD_ID), axis=1)


def causal_mask(ids):
    """Which keys don't lie in a query's future.

    Args:
        ids: int tensor `(B, T)`; only its shape matters.

    Returns:
        bool `(B, T, T)`.

    Reference: Vaswani et al. 2017, section 3.2.3.
    """
    # A running count gives the positions even where T is unknown when a
    # functional model is being built.
    positions = ops.cumsum(ops.ones_like(ids), axis=1)
    return ops.greater_equal(
        ops.expand_dims(positions, axis=2), ops.expand_dims(positions, axis=1)
    )


def decoder_mask(ids):
    """Padding and future hidden at once, for decoder self-attention.

    Args:
        ids: int tensor `(B, T)`, padded with `PAD_ID`.

    Returns:
        bool `(B, T, T)`.
    """
    return ops.logical_and(padding_mask(ids), causal_mask(ids))
