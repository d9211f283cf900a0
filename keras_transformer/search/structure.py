"""Structure: every symbol of a source once in its translation, well nested.

A hypothesis may open a pair of its source that it hasn't opened yet, close the
innermost open pair, and emit a single symbol that it hasn't emitted yet. It may
not end before all symbols are emitted. Once the missing symbols take all the
steps that are left, it may emit nothing else. So every hypothesis, even one
that is cut at its limit, has all symbols in nested pairs, whatever the model
predicts. Symbols whose partner is in another sentence are emitted where no pair
is open, in the order of the source: the sentences of a text together are then
as well formed as the text.

All constraints are computed from the ids of the hypotheses. If no source has
symbols, `tf.cond` skips them.

Reference for search constrained by structure, there with the text of tags:
Hashimoto et al. 2019, "A High-Quality Multilingual Dataset for Structured
Documentation Translation", section 4.2.

Axes: B sentences, K beams, R rows, T tokens, V vocabulary, N symbols: first the
M that open a pair, then the M that close one, then M single ones.
"""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from keras_transformer.constants import END_ID
from keras_transformer.symbols import MARKUP_SYMBOLS, NUMBERS

_COUNT = len(MARKUP_SYMBOLS)
_FORBIDDEN = -float("inf")
_NOWHERE = 1e9  # greater than every place


def from_one(ids: tf.Tensor, first: int | None) -> tuple[tf.Tensor, tf.Tensor]:
    """Renumbers the symbols of sources from 1; also returns the shifts.

    Models are trained on such numbers; a text's later sentences have higher
    ones.

    Args:
        ids: int32 `(B, S)`.
        first: the id of the first symbol; None: there are none.

    Returns:
        int32 `(B, S)` and `(B,)`.
    """
    if first is None:
        return ids, tf.zeros(tf.shape(ids)[:1], tf.int32)
    number = tf.where(
        _are_symbols(ids, first), (ids - first) % NUMBERS, NUMBERS
    )
    # 0 where there is no symbol, or no token.
    shift = tf.minimum(tf.reduce_min(number, axis=1), NUMBERS) % NUMBERS  # (B,)
    return renumbered(ids, first, -shift), shift


def renumbered(
    ids: tf.Tensor, first: int | None, shift: tf.Tensor
) -> tf.Tensor:
    """Ids with `shift` added to the numbers of their symbols.

    Symbols whose number would be out of range stay as they are.

    Args:
        ids: int32 `(B, T)` or `(B, K, T)`.
        first: see `from_one`.
        shift: int32 `(B,)`.
    """
    if first is None:
        return ids
    shift = tf.reshape(shift, [-1] + [1] * (ids.shape.rank - 1))
    number = (ids - first) % NUMBERS + shift
    moves = _are_symbols(ids, first) & (number >= 0) & (number < NUMBERS)
    return tf.where(moves, ids + shift, ids)


def _are_symbols(ids, first):
    return (ids >= first) & (ids < first + _COUNT)


class SourceSymbols(NamedTuple):
    """The symbols of each source, by their role in its translation.

    Attributes:
        required: bool `(B, 1, N)`, True at symbols of the source.
        unordered: bool `(B, 1, N)`, True at those that may come at any time:
            symbols that open a pair, and single ones.
        closing: float32 `(B, 1, N)`, 1 at symbols that close a pair, else 0.
        unmatched: float32 `(B, 1, N)`, the place in the source of symbols
            without a partner in it; `_NOWHERE` elsewhere.
    """

    required: tf.Tensor
    unordered: tf.Tensor
    closing: tf.Tensor
    unmatched: tf.Tensor

    @classmethod
    def of(cls, source_ids: tf.Tensor, first: int) -> SourceSymbols:
        """Finds the symbols of sources.

        Args:
            source_ids: int32 `(B, S)`.
            first: the source's id of the first symbol.
        """
        places = _places(source_ids[:, tf.newaxis], first)  # (B, 1, N)
        opening, closing, single = tf.split(places, 3, axis=2)  # (B, 1, M)
        paired = (opening > 0) & (closing > opening)  # (B, 1, M)
        nothing = tf.zeros_like(paired)
        is_unmatched = tf.concat([~paired, ~paired, nothing], axis=2) & (
            places > 0
        )
        return cls(
            required=places > 0,
            unordered=tf.concat([paired, nothing, single > 0], axis=2),
            closing=tf.cast(
                tf.concat([nothing, paired, nothing], axis=2), tf.float32
            ),
            unmatched=tf.where(is_unmatched, places, _NOWHERE),
        )

    def counts(self) -> tf.Tensor:
        """The number of symbols of each source, int32 `(B,)`."""
        return tf.math.count_nonzero(self.required, axis=[1, 2], dtype=tf.int32)


def _places(ids, first):
    """Places of symbols in ids `(B, K, T)`, from 1: float32 `(B, K, N)`.

    0 for a symbol that isn't there. One that occurs several times, as in no
    translation, has the sum of its places.
    """
    is_symbol = tf.one_hot(ids - first, _COUNT)  # (B, K, T, N)
    places = tf.range(1.0, tf.cast(tf.shape(ids)[2] + 1, tf.float32))  # (T,)
    return tf.reduce_sum(is_symbol * places[:, tf.newaxis], axis=2)


def with_structure(
    forbidden: tf.Tensor,
    source: SourceSymbols,
    ids: tf.Tensor,
    first: int | tf.Tensor,
    max_lengths: tf.Tensor,
    step: tf.Tensor,
) -> tf.Tensor:
    """Forbids what would violate the structure of the sources.

    Args:
        forbidden: float32 `(V,)` or `(B, 1, V)`, minus infinity at tokens that
            other constraints forbid, all symbols included; 0 elsewhere.
        source: symbols of each sentence.
        ids: int32 `(B, K, T)`, the output so far, PAD after.
        first: the id of the first symbol in V.
        max_lengths: int32 `(B,)`, the output tokens allowed, END included.
        step: int32 scalar, the position that comes next.

    Returns:
        float32, as `forbidden`, or `(B, K, V)` if a source has symbols.
    """

    def structured():
        # In here, as it would otherwise run for sources without symbols, too.
        places = _places(ids[:, :, :step], first)
        allowed, left = _allowed(source, places)
        # No room for END: a hypothesis that the limit cuts isn't finished.
        room = tf.cast(max_lengths - step, tf.float32)[:, tf.newaxis]
        is_left = left > 0  # (B, K)
        words = tf.where(is_left & (left >= room), _FORBIDDEN, 0.0)
        words = words[..., tf.newaxis]  # (B, K, 1)
        ends = tf.where(is_left, _FORBIDDEN, 0.0)[..., tf.newaxis]
        # Sliced before the sums, whose results have an axis K more.
        return tf.concat(
            [
                forbidden[..., :END_ID] + words,
                forbidden[..., END_ID : END_ID + 1] + words + ends,
                forbidden[..., END_ID + 1 : first] + words,
                tf.where(allowed, 0.0, _FORBIDDEN),
                forbidden[..., first + _COUNT :] + words,
            ],
            axis=2,
        )  # (B, K, V)

    has_symbols = tf.reduce_any(source.required)
    return tf.cond(has_symbols, structured, lambda: forbidden)


def _allowed(source, emitted):
    """Symbols that may come next, `(B, K, N)`, and the number still missing.

    The number is float32 `(B, K)`.
    """
    missing = source.required & (emitted == 0)  # (B, K, N)
    count = tf.cast(missing, tf.float32)
    # At symbols that close an open pair, the place where it was opened.
    depth = tf.roll(emitted, NUMBERS, axis=2) * source.closing * count
    deepest = tf.reduce_max(depth, axis=2, keepdims=True)  # (B, K, 1)
    innermost = (depth == deepest) & (depth > 0)
    is_outside = deepest == 0
    place = tf.where(missing & is_outside, source.unmatched, _NOWHERE)
    is_next = place == tf.reduce_min(place, axis=2, keepdims=True)
    may_come = missing & source.unordered | innermost
    may_come |= is_next & (place < _NOWHERE)
    return may_come, tf.reduce_sum(count, axis=2)
