"""Logits of a batch that was computed in parts.

Axes: B batch, T target positions, V vocabulary.
"""

from keras import ops

from keras_transformer import backend


def join(parts):
    """The logits of all parts, which know the parts that they are made of.

    Args:
        parts: list of float `(Bi, T, V)`.

    Returns:
        float `(B, T, V)`.
    """
    logits = ops.concatenate(parts, axis=0)
    if backend.fused():  # Not all backends' tensors take attributes.
        logits.transformer_parts = parts
    return logits


def each_part(function, labels, logits):
    """`function(labels, logits)`, of one part of the batch after another.

    Of logits that `join` has made the parts are used, so that in a graph
    neither the joined logits nor a gradient of their size has to exist.

    Args:
        function: takes labels `(Bi, T)` and logits `(Bi, T, V)`, gives
            `(Bi, T)`.
        labels: `(B, T)`.
        logits: float `(B, T, V)`.

    Returns:
        `(B, T)`.
    """
    parts = getattr(logits, "transformer_parts", None)
    if parts is None:
        return function(labels, logits)
    found, begin = [], 0
    for part in parts:
        end = begin + ops.shape(part)[0]
        found.append(function(labels[begin:end], part))
        begin = end
    return ops.concatenate(found, axis=0)
