"""Structure: every symbol of a source once in its translation, well nested.

A hypothesis may open a pair of its source that it hasn't opened, close the
innermost that is open, and emit a single symbol that it hasn't emitted. It may
not end before all are out; when no more steps are left than those take, it may
do nothing else. So every hypothesis has all symbols, and pairs nest, whatever
the model says: also one that is cut by its limit. Symbols that have no partner
in their sentence, as the pair's other half is in another one, are emitted where
no pair is open, in the order of the source: the sentences of a text together
are as well formed as it is.

All of it follows from the ids of the hypotheses. A search without symbols in
its sources does nothing of it.

Reference for constrained search of structures, there by the words of tags:
Hashimoto et al. 2019, "A High-Quality Multilingual Dataset for Structured
Documentation Translation", section 4.2.

Axes: B sentences, K beams, R rows, T tokens, V vocabulary, N symbols: of M
pairs first all that open, then all that close, then M that are single.
"""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from keras_transformer.constants import END_ID
from keras_transformer.symbols import MARKUP_SYMBOLS, NUMBERS

_COUNT = len(MARKUP_SYMBOLS)
_FORBIDDEN = -float("inf")


class SourceSymbols(NamedTuple):
    """The symbols of sources.

    Attributes:
        places: int32 `(B, N)`, where each symbol is in its source, from 1; 0:
            it isn't there.
        paired: bool `(B, M)`, pairs of which both halves are.
    """

    places: tf.Tensor
    paired: tf.Tensor

    @classmethod
    def of(cls, source_ids: tf.Tensor, first: int) -> SourceSymbols:
        """Those in sources.

        Args:
            source_ids: int32 `(B, S)`.
            first: the source's id of the first symbol.
        """
        places = _places(source_ids, first)  # (B, N)
        opening, closing = places[:, :NUMBERS], places[:, NUMBERS:-NUMBERS]
        return cls(places, (opening > 0) & (closing > opening))

    def counts(self) -> tf.Tensor:
        """How many each source has, int32 `(B,)`."""
        return tf.math.count_nonzero(self.places, axis=1, dtype=tf.int32)


def _places(ids, first):
    """The last place of each symbol in ids `(R, T)`, from 1: `(R, N)`."""
    shape = tf.shape(ids)
    # One number more, for what is no symbol.
    numbers = ids - first
    is_symbol = (numbers >= 0) & (numbers < _COUNT)
    numbers = tf.where(is_symbol, numbers, _COUNT)
    numbers += tf.range(shape[0])[:, tf.newaxis] * (_COUNT + 1)  # (R, T)
    found = tf.math.unsorted_segment_max(
        tf.broadcast_to(tf.range(1, shape[1] + 1), shape),
        numbers,
        shape[0] * (_COUNT + 1),
    )
    found = tf.reshape(tf.maximum(found, 0), [-1, _COUNT + 1])  # (R, N + 1)
    return found[:, :_COUNT]


def with_structure(
    forbidden: tf.Tensor,
    source: SourceSymbols,
    ids: tf.Tensor,
    first: int | tf.Tensor,
    steps_left: tf.Tensor,
) -> tf.Tensor:
    """What may not be emitted, as the structure of the sources has it.

    Args:
        forbidden: float32 `(V,)` or `(B, 1, V)`, minus infinity at what is
            forbidden without, all symbols among it, 0 elsewhere.
        source: of each sentence.
        ids: int32 `(B, K, T)`, the output so far, PAD after.
        first: the id of the first symbol in V.
        steps_left: int32 `(B,)`, tokens that may still come, END included.

    Returns:
        float32, as `forbidden`, or `(B, K, V)` if a source has symbols.
    """

    def structured():
        allowed, left = _allowed(source, ids, first)
        # END is the last token of a hypothesis that ends.
        no_more = left >= steps_left[:, tf.newaxis] - 1  # (B, K)
        words = tf.where((left > 0) & no_more, _FORBIDDEN, 0.0)
        row = forbidden + words[..., tf.newaxis]  # (B, K, V)
        ends = tf.where(left > 0, _FORBIDDEN, row[..., END_ID])
        return tf.concat(
            [
                row[..., :END_ID],
                ends[..., tf.newaxis],
                row[..., END_ID + 1 : first],
                tf.where(allowed, 0.0, _FORBIDDEN),
                row[..., first + _COUNT :],
            ],
            axis=2,
        )  # (B, K, V)

    has_symbols = tf.reduce_any(source.places > 0)
    return tf.cond(has_symbols, structured, lambda: forbidden)


def _allowed(source, ids, first):
    """Which symbols may come next `(B, K, N)`, how many must `(B, K)`."""
    shape = tf.shape(ids)
    flat = tf.reshape(ids, [-1, shape[2]])  # (B * K, T)
    emitted = _places(flat, first)
    emitted = tf.reshape(emitted, [shape[0], shape[1], _COUNT])  # (B, K, N)
    places = source.places[:, tf.newaxis]  # (B, 1, N)
    paired = source.paired[:, tf.newaxis]  # (B, 1, M)
    missing = (places > 0) & (emitted == 0)  # (B, K, N)
    opening = emitted[..., :NUMBERS]
    is_open = paired & (opening > 0) & missing[..., NUMBERS:-NUMBERS]
    depth = tf.where(is_open, opening, 0)  # (B, K, M)
    deepest = tf.reduce_max(depth, axis=2, keepdims=True)  # (B, K, 1)
    nothing = tf.zeros_like(paired)
    may_come = tf.concat(
        [
            missing[..., :NUMBERS] & paired,
            is_open & (depth == deepest),
            missing[..., -NUMBERS:],
        ],
        axis=2,
    )
    halves = missing & ~tf.concat([paired, paired, ~nothing], axis=2)
    place = tf.where(halves, places, places.dtype.max)  # (B, K, N)
    is_next = place == tf.reduce_min(place, axis=2, keepdims=True)
    may_come |= halves & is_next & (deepest == 0)
    return may_come, tf.math.count_nonzero(missing, axis=2, dtype=tf.int32)
