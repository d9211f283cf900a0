"""What a beam holds, and one step of it: continue, end, choose.

`K` rows a sentence, the best first; a row without a hypothesis is `EMPTY`.
"""

from typing import Any, NamedTuple

import tensorflow as tf

from keras_transformer.constants import END_ID
from keras_transformer.search.hypotheses import score
from keras_transformer.search.loop import write_tokens
from keras_transformer.search.probabilities import (
    log_normalizer,
    log_probability,
    top_tokens,
)

# The log-probability of a row that holds no hypothesis.
EMPTY = -float("inf")


class Hypotheses(NamedTuple):
    """`K` rows a sentence, the best first; EMPTY rows last.

    Attributes:
        ids: int32 `(B, K, T)`, PAD after the end.
        lengths: int32 `(B, K)`.
        log_probabilities: float32 `(B, K)`.
        values: float32 `(B, K)`, the same with penalties for repetition.
        scores: float32 `(B, K)`, values normalised by length and coverage.
    """

    ids: Any
    lengths: Any
    log_probabilities: Any
    values: Any
    scores: Any


class Candidates(NamedTuple):
    """Continuations of live hypotheses, the best first.

    Attributes:
        values: float32 `(B, C)`, of the hypothesis continued.
        log_probabilities: float32 `(B, C)`, likewise, without penalties.
        parents: int32 `(B, C)`, the row of the live hypothesis.
        tokens: int32 `(B, C)`, what it is continued with.
    """

    values: Any
    log_probabilities: Any
    parents: Any
    tokens: Any


def expand(logits, live, constraints, sentences, step) -> Candidates:
    """The `2 K` best continuations of each sentence's live hypotheses.

    Equal ones are taken in the order of their parents, then of their ids.

    Args:
        logits: float32 `(B, K, V)`.
        live: the `Hypotheses` to continue.
        constraints, sentences, step: see `Constraints.apply`.

    Returns:
        `Candidates` with `C = 2 K`; beyond the vocabulary they are EMPTY.
    """
    batch_size, beam_size, vocabulary_size = tf.unstack(tf.shape(logits))
    beam_size = live.ids.shape[1]
    normalizer = log_normalizer(logits)
    allowed = constraints.apply(logits, normalizer, live.ids, sentences, step)
    # The best of all are among the best of each row, and a row's best can be
    # found before its log-softmax is worked out.
    width = 2 * beam_size
    if logits.shape[-1] is None or logits.shape[-1] < width:
        width = tf.minimum(width, vocabulary_size)
    values, tokens = top_tokens(allowed, width)
    values = log_probability(values, normalizer[..., tf.newaxis])
    values += live.values[..., tf.newaxis]
    flat = [batch_size, beam_size * width]
    values, places = tf.math.top_k(tf.reshape(values, flat), 2 * beam_size)
    tokens = tf.reshape(tokens, flat)
    parents = places // width
    tokens = tf.gather(tokens, places, batch_dims=1)
    log_probabilities = values
    if constraints.repetition_penalty != 1:
        places = parents * vocabulary_size + tokens
        gains = tf.gather(
            tf.reshape(logits - normalizer[..., tf.newaxis], [batch_size, -1]),
            places,
            batch_dims=1,
        )
        log_probabilities = gains + tf.gather(
            live.log_probabilities, parents, batch_dims=1
        )
    return Candidates(values, log_probabilities, parents, tokens)


def ended(live, candidates, step, constraints, coverage) -> Hypotheses:
    """The `K` best candidates as hypotheses; EMPTY those that go on."""
    beam_size = live.ids.shape[1]
    first = Candidates(*(field[:, :beam_size] for field in candidates))
    ends = first.tokens == END_ID
    first = first._replace(values=tf.where(ends, first.values, EMPTY))
    return extend(live, first, step, constraints, coverage)


def merge(finished, new) -> Hypotheses:
    """The `K` best by score of both; among equals the earlier finished."""
    beam_size = finished.ids.shape[1]
    both = tf.nest.map_structure(
        lambda *parts: tf.concat(parts, axis=1), finished, new
    )
    _, places = tf.math.top_k(both.scores, beam_size)
    return reorder(both, places)


def select(candidates, beam_size) -> Candidates:
    """The `K` best candidates that don't end."""
    going_on = tf.where(candidates.tokens == END_ID, EMPTY, candidates.values)
    values, places = tf.math.top_k(going_on, beam_size)
    return reorder(candidates, places)._replace(values=values)


def extend(live, candidates, step, constraints, coverage) -> Hypotheses:
    """The candidates as hypotheses of `step + 1` tokens."""
    ids = reorder(live.ids, candidates.parents)
    lengths = tf.fill(tf.shape(candidates.tokens), step + 1)
    attended = reorder(coverage, candidates.parents)
    return Hypotheses(
        ids=write_tokens(ids, candidates.tokens, step),
        lengths=lengths,
        log_probabilities=candidates.log_probabilities,
        values=candidates.values,
        scores=score(
            candidates.values,
            lengths,
            constraints.normalization,
            None if isinstance(attended, tuple) else attended,
        ),
    )


def reorder(nested, places):
    """Takes rows of every tensor `(B, K, ...)` in a nested structure.

    Args:
        nested: tensors that share the first two axes.
        places: int32 `(B, R)`, the rows wanted.

    Returns:
        The same structure of tensors `(B, R, ...)`.
    """
    return tf.nest.map_structure(
        lambda tensor: tf.gather(tensor, places, batch_dims=1), nested
    )


def freeze(done, old, new) -> Hypotheses:
    """`old` for the sentences that are done, `new` for the others."""

    def keep(before, after):
        rank = len(after.shape)
        return tf.where(
            tf.reshape(done, [-1] + [1] * (rank - 1)), before, after
        )

    return tf.nest.map_structure(keep, old, new)
