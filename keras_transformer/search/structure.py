"""Structure: every symbol of a source once in its translation, well nested.

A hypothesis may open a pair of its source that it hasn't opened, close the
innermost that is open, and emit a single symbol that it hasn't emitted. It may
not end before all are out; when no more steps are left than those take, it may
do nothing else. So every hypothesis has all symbols, and pairs nest, whatever
the model says: also one that is cut by its limit. Symbols that have no partner
in their sentence, as the pair's other half is in another one, are emitted where
no pair is open, in the order of the source: the sentences of a text together
are as well formed as it is.

All of it follows from the ids of the hypotheses. Where no source has symbols,
`tf.cond` skips all of it.

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
_NOWHERE = 1e9  # beyond every place


def from_one(ids: tf.Tensor, first: int | None) -> tuple[tf.Tensor, tf.Tensor]:
    """Sources whose symbols have numbers from 1, and how much they were higher.

    A model learns of such numbers; a text's later sentences have others.

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
    """Ids whose symbols have numbers that are higher by `shift`.

    Symbols stay whose number would be none.

    Args:
        ids: int32 `(B, T)` or `(B, K, T)`.
        first: as of `from_one`.
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
    """What a translation may do with the symbols of its source.

    Attributes:
        required: bool `(B, 1, N)`, those of the source.
        unordered: bool `(B, 1, N)`, of these those that may come at any time:
            what opens a pair, and what is single.
        closing: float32 `(B, 1, N)`, 1 at what closes a pair, 0 elsewhere.
        unmatched: float32 `(B, 1, N)`, the place in the source of what has no
            partner in it; `_NOWHERE` elsewhere.
    """

    required: tf.Tensor
    unordered: tf.Tensor
    closing: tf.Tensor
    unmatched: tf.Tensor

    @classmethod
    def of(cls, source_ids: tf.Tensor, first: int) -> SourceSymbols:
        """Those in sources.

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
        """How many each source has, int32 `(B,)`."""
        return tf.math.count_nonzero(self.required, axis=[1, 2], dtype=tf.int32)


def _places(ids, first):
    """Where symbols are in ids `(B, K, T)`, from 1: float32 `(B, K, N)`.

    0: nowhere. What is there several times, as no translation has it, has the
    sum of its places.
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
    """What may not be emitted, as the structure of the sources has it.

    Args:
        forbidden: float32 `(V,)` or `(B, 1, V)`, minus infinity at what is
            forbidden without, all symbols among it, 0 elsewhere.
        source: of each sentence.
        ids: int32 `(B, K, T)`, the output so far, PAD after.
        first: the id of the first symbol in V.
        max_lengths: int32 `(B,)`, the output tokens allowed, END included.
        step: int32 scalar, the position that comes next.

    Returns:
        float32, as `forbidden`, or `(B, K, V)` if a source has symbols.
    """

    def structured():
        # Nothing is done outside: it would be for sources without symbols, too.
        places = _places(ids[:, :, :step], first)
        allowed, left = _allowed(source, places)
        # END is the last token of a hypothesis that ends.
        room = tf.cast(max_lengths - step - 1, tf.float32)[:, tf.newaxis]
        is_left = left > 0  # (B, K)
        words = tf.where(is_left & (left >= room), _FORBIDDEN, 0.0)
        words = words[..., tf.newaxis]  # (B, K, 1)
        ends = tf.where(is_left, _FORBIDDEN, 0.0)[..., tf.newaxis]
        # Slices before sums, as they aren't of (B, K, V) yet.
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
    """Which symbols may come next `(B, K, N)`, how many must `(B, K)`."""
    missing = source.required & (emitted == 0)  # (B, K, N)
    count = tf.cast(missing, tf.float32)
    # At what would close an open pair, the place where it was opened.
    depth = tf.roll(emitted, NUMBERS, axis=2) * source.closing * count
    deepest = tf.reduce_max(depth, axis=2, keepdims=True)  # (B, K, 1)
    innermost = (depth == deepest) & (depth > 0)
    is_outside = deepest == 0
    place = tf.where(missing & is_outside, source.unmatched, _NOWHERE)
    is_next = place == tf.reduce_min(place, axis=2, keepdims=True)
    may_come = missing & source.unordered | innermost
    may_come |= is_next & (place < _NOWHERE)
    return may_come, tf.reduce_sum(count, axis=2)
