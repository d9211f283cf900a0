"""Masks for attention and loss, as pure functions of token ids.

Functions of ids `(batch, length)` raise a `ValueError` for another shape. An
attention mask is boolean and broadcasts to `(B, T, S)`; True means that the
query at T may attend to the key at S. Axes: B batch, T target (queries), S
source (keys).
"""

from __future__ import annotations

import numpy as np
from keras import ops

from keras_transformer.constants import END_ID, PAD_ID, START_ID
from keras_transformer.tensors import Tensor


def padding_mask(ids: Tensor) -> Tensor:
    """Mask of the keys that are real tokens.

    Args:
        ids: int tensor `(B, S)`, padded with `PAD_ID`.

    Returns:
        bool `(B, 1, S)`.
    """
    require_ids(ids)
    return ops.expand_dims(ops.not_equal(ids, PAD_ID), axis=1)


def seen_source(ids: Tensor, start: bool = True, end: bool = True) -> Tensor:
    """Replaces START or END by padding, for models that don't read them.

    END stays in a source without other tokens: attention to padding alone
    would depend on the amount of padding.

    Args:
        ids: int tensor `(B, S)`.
        start: bool, whether to keep START.
        end: bool, whether to keep END.

    Returns:
        int `(B, S)`, with `PAD_ID` in the place of removed tokens.
    """
    require_ids(ids)
    without_start = ops.where(ops.equal(ids, START_ID), PAD_ID, ids)
    if not end:
        is_end = ops.equal(ids, END_ID)
        is_text = ops.logical_and(
            ops.not_equal(without_start, PAD_ID), ops.logical_not(is_end)
        )
        has_text = ops.any(is_text, axis=1, keepdims=True)  # (B, 1)
        hidden = ops.logical_and(is_end, has_text)
        ids = ops.where(hidden, PAD_ID, ids)
        without_start = ops.where(hidden, PAD_ID, without_start)
    return ids if start else without_start


def causal_mask(ids: Tensor) -> Tensor:
    """Mask of the keys that aren't in a query's future.

    Args:
        ids: int tensor `(B, T)`; only its shape matters.

    Returns:
        bool `(B, T, T)`.

    Reference: Vaswani et al. 2017, section 3.2.3.
    """
    require_ids(ids)
    # A running count gives the positions even where T is unknown when a
    # functional model is being built.
    positions = ops.cumsum(ops.ones_like(ids, dtype="int32"), axis=1)
    return ops.greater_equal(
        ops.expand_dims(positions, axis=2), ops.expand_dims(positions, axis=1)
    )


def decoder_mask(ids: Tensor) -> Tensor:
    """Padding and future hidden at once, for decoder self-attention.

    Args:
        ids: int tensor `(B, T)`, padded with `PAD_ID`.

    Returns:
        bool `(B, T, T)`.
    """
    return ops.logical_and(padding_mask(ids), causal_mask(ids))


def require_ids(ids: Tensor) -> None:
    """Refuses anything but a batch of ids, such as a length.

    Raises:
        ValueError: `ids` doesn't have two axes.
    """
    shape = ids.shape if hasattr(ids, "shape") else np.shape(ids)
    if len(shape) != 2:
        raise ValueError(
            "ids have the shape (batch, length). Received: "
            f"{tuple(shape) or ids}"
        )


def require_token(padding_id: int) -> None:
    """Refuses a padding label for which there are no logits, such as -100.

    Raises:
        ValueError: `padding_id` is negative.
    """
    if padding_id < 0:
        raise ValueError(
            "padding_id must be a token of the vocabulary, 0 or more. "
            f"Received: {padding_id}"
        )


def token_weights(
    labels: Tensor,
    padding_id: int = PAD_ID,
    sample_weight: Tensor | None = None,
) -> Tensor:
    """Weights of tokens: 1 if real, 0 if padding, times `sample_weight`.

    Args:
        labels: int tensor `(B, T)`, or `(B,)` of a classifier.
        padding_id: int.
        sample_weight: float, `(B,)` or broadcasts to the shape of `labels`,
            or None.

    Returns:
        float32, in the shape of `labels`.
    """
    weights = ops.cast(ops.not_equal(labels, padding_id), "float32")
    if sample_weight is not None:
        sample_weight = ops.cast(sample_weight, "float32")
        # A weight for each sentence.
        if len(sample_weight.shape) == 1 and len(labels.shape) > 1:
            sample_weight = ops.expand_dims(sample_weight, axis=1)
        weights = weights * sample_weight
    return weights
