"""Attention masks as pure functions of token ids, and scores with them.

A mask is boolean and broadcasts to `(B, T, S)`; True means that the query at
T may attend to the key at S. Axes: B batch, T target (queries), S source
(keys).
"""

from keras import ops

from keras_transformer import backend
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


def masked_scores(query, keys, attention_mask=None, training=None):
    """How well queries fit keys, far below 0 where the mask takes them out.

    Args:
        query: float `(B, N, T, H)`, scaled.
        keys: float `(B, N, S, H)`.
        attention_mask: bool, broadcasts to `(B, T, S)`, True keeps.
        training: bool, whether a gradient will be wanted.

    Returns:
        float32 `(B, N, T, S)`.
    """
    bias = None
    if attention_mask is not None:
        # Finite, so that a row without any key stays a number. Added, as that
        # passes gradients on without another look at the mask.
        bias = ops.where(attention_mask, 0.0, -1e9)
        bias = ops.expand_dims(bias, axis=-3)
    # The fused gradient doesn't sum over a batch of 1 that serves all.
    fused = query.shape[:-2] == keys.shape[:-2] and backend.fused()
    if training and fused:
        return fused.masked_scores(query, keys, bias)
    scores = ops.matmul(query, ops.transpose(keys, (0, 1, 3, 2)))
    scores = ops.cast(scores, "float32")
    return scores if bias is None else scores + bias
