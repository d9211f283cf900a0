"""Micro-batches: splitting a batch, and its logits in parts.

Axes: B batch, T target positions, V vocabulary.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import keras
from keras import ops

from keras_transformer.tensors import Tensor


class MicroBatches:
    """The logits of a batch, a tensor for each micro-batch.

    Loss and metrics get this in place of one tensor, so that in a graph
    neither the joined logits nor a gradient of their size has to exist.

    Args:
        logits: list of float `(Bi, T, V)`, in the order of the batch.

    Attributes:
        logits: as given.
        joined: float `(B, T, V)`, for losses and metrics that need one tensor.
    """

    def __init__(self, logits: Sequence[Tensor]) -> None:
        self.logits = logits
        self.joined = ops.concatenate(logits, axis=0)


def split_batch(inputs: Any, count: int) -> Iterator[Any]:
    """Splits a structure of tensors `(B, ...)` into `count` of `(Bi, ...)`."""
    size = ops.shape(keras.tree.flatten(inputs)[0])[0]
    ends = [size * i // count for i in range(count + 1)]
    for begin, end in zip(ends[:-1], ends[1:], strict=True):
        part = operator.itemgetter(slice(begin, end))
        yield keras.tree.map_structure(part, inputs)


def each_micro_batch(
    function: Callable[[Tensor, Tensor], Tensor],
    labels: Tensor,
    logits: Tensor | MicroBatches,
) -> Tensor:
    """Calls a function on each micro-batch and joins the results.

    Args:
        function: takes labels `(Bi, T)` and logits `(Bi, T, V)`, returns
            `(Bi, T)`.
        labels: `(B, T)`.
        logits: float `(B, T, V)`, or `MicroBatches`.

    Returns:
        `(B, T)`.
    """
    if not isinstance(logits, MicroBatches):
        return function(labels, logits)
    results, begin = [], 0
    for part in logits.logits:
        end = begin + ops.shape(part)[0]
        results.append(function(labels[begin:end], part))
        begin = end
    return ops.concatenate(results, axis=0)  # (B, T)
