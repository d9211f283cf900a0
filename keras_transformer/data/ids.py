"""Ids of many sentences as two arrays, without TensorFlow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import tensorflow as tf


class Ids(NamedTuple):
    """The ids of some sentences, one after the other.

    Attributes:
        values: int32 `(M,)`.
        lengths: int `(N,)`, ids of each sentence.
    """

    values: np.ndarray
    lengths: np.ndarray

    @classmethod
    def of(cls, ragged: tf.RaggedTensor) -> Ids:
        """Those of a RaggedTensor int32 `(N, None)`."""
        values, lengths = ragged.flat_values, ragged.row_lengths()
        return cls(values.numpy(), lengths.numpy())

    @classmethod
    def joined(cls, parts: Sequence[Ids]) -> Ids:
        """The sentences of several, one after the other."""
        values = [np.empty(0, np.int32), *(part.values for part in parts)]
        lengths = [np.empty(0, np.int64), *(part.lengths for part in parts)]
        return cls(np.concatenate(values), np.concatenate(lengths))

    def take(self, indices: np.ndarray) -> Ids:
        """The sentences of these indices, int `(K,)`, in their order."""
        starts = np.cumsum(self.lengths) - self.lengths
        lengths = self.lengths[indices]
        # How far each sentence moves.
        shifts = starts[indices] - (np.cumsum(lengths) - lengths)
        sources = np.arange(lengths.sum()) + np.repeat(shifts, lengths)
        return Ids(self.values[sources], lengths)

    def only(self, kept: np.ndarray) -> Ids:
        """The sentences of which bool `(N,)` is True."""
        if kept.all():
            return self
        values = self.values[np.repeat(kept, self.lengths)]
        return Ids(values, self.lengths[kept])

    def parts(self, bounds: list[int]) -> Iterator[Ids]:
        """Yields the sentences between the bounds, indices that rise."""
        offsets = np.append(0, np.cumsum(self.lengths))[bounds].tolist()
        for i in range(len(bounds) - 1):
            yield Ids(
                self.values[offsets[i] : offsets[i + 1]],
                self.lengths[bounds[i] : bounds[i + 1]],
            )
