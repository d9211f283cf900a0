"""Greedy search: the most probable token at every step."""

from typing import Any, NamedTuple

import tensorflow as tf

from keras_transformer.constants import END_ID, PAD_ID, START_ID
from keras_transformer.decoding.hypotheses import (
    SearchResult,
    length_penalty,
)
from keras_transformer.decoding.loop import (
    room,
    same_shapes,
    write_tokens,
)
from keras_transformer.decoding.probabilities import (
    log_normalizer,
    log_probability,
    without_banned,
)


class GreedyState(NamedTuple):
    """What one step hands to the next.

    Attributes:
        step: int32 scalar, the position that the next token is written to.
        tokens: int32 `(B,)`, the last tokens.
        ids: int32 `(B, T)`, the output so far, PAD after.
        lengths: int32 `(B,)`, tokens written.
        log_probabilities: float32 `(B,)`, of the output so far.
        finished: bool `(B,)`, whether END was written.
        beams: the model's cache, every tensor `(B, 1, ...)`.
    """

    step: tf.Tensor
    tokens: tf.Tensor
    ids: tf.Tensor
    lengths: tf.Tensor
    log_probabilities: tf.Tensor
    finished: tf.Tensor
    beams: Any


def greedy_search(
    start, step, source_ids, limits, alpha: float = 0.0
) -> SearchResult:
    """Translates by taking the most probable token at every step.

    Args:
        start: `(source_ids, beam_size, max_steps) -> cache`, a named tuple
            with `beams` (every tensor `(B, K, ...)`) and `source` (every
            tensor `(B, ...)`).
        step: `(ids int32 (B, K), cache, index) -> (logits (B, K, V), cache)`
            where `ids` are the tokens at position `index`.
        source_ids: int32 `(B, S)`, as `start` takes them.
        limits: int32 `(B,)`, the output tokens allowed, END included.
        alpha: exponent of `length_penalty` in the scores.

    Returns:
        A `SearchResult` with one hypothesis a sentence.
    """
    max_steps = room(limits)
    cache = start(source_ids, 1, max_steps)

    def advance(state):
        logits, stepped = step(
            state.tokens[:, tf.newaxis],
            cache._replace(beams=state.beams),
            state.step,
        )
        tokens, gains = choose(logits[:, 0])
        following = append(state, tokens, gains, is_active(state, limits))
        beams = same_shapes(stepped.beams, state.beams)
        return (following._replace(beams=beams),)

    (final,) = tf.while_loop(
        lambda state: tf.reduce_any(is_active(state, limits)),
        advance,
        (initial_state(limits, max_steps, cache.beams),),
        parallel_iterations=1,
        maximum_iterations=max_steps,
    )
    return to_result(final, alpha)


def initial_state(limits, max_steps, beams) -> GreedyState:
    """Nothing written, START to be read."""
    nothing = tf.zeros_like(limits)
    return GreedyState(
        step=tf.constant(0),
        tokens=tf.fill(tf.shape(limits), START_ID),
        ids=tf.fill([tf.shape(limits)[0], max_steps], PAD_ID),
        lengths=nothing,
        log_probabilities=tf.cast(nothing, tf.float32),
        finished=tf.cast(nothing, tf.bool),
        beams=beams,
    )


def is_active(state: GreedyState, limits):
    """bool `(B,)`: neither ended nor at its limit."""
    return ~state.finished & (state.lengths < limits)


def choose(logits):
    """The best token of each row and its log-probability.

    Args:
        logits: `(B, V)`.

    Returns:
        int32 `(B,)`, the lowest id among equals, and float32 `(B,)`.
    """
    allowed = without_banned(logits)
    tokens = tf.argmax(allowed, axis=-1, output_type=tf.int32)
    best = tf.reduce_max(allowed, axis=-1)
    return tokens, log_probability(best, log_normalizer(logits))


def append(state: GreedyState, tokens, gains, active) -> GreedyState:
    """The state after one step; rows that aren't active stay frozen."""
    tokens = tf.where(active, tokens, PAD_ID)
    gains = tf.where(active, gains, 0.0)
    return state._replace(
        step=state.step + 1,
        tokens=tokens,
        ids=write_tokens(state.ids, tokens, state.step),
        lengths=state.lengths + tf.cast(active, tf.int32),
        log_probabilities=state.log_probabilities
        + tf.where(active, gains, 0.0),
        finished=state.finished | (active & (tokens == END_ID)),
    )


def to_result(state: GreedyState, alpha: float) -> SearchResult:
    """The state as a result with `K` = 1."""
    scores = state.log_probabilities / length_penalty(state.lengths, alpha)
    return SearchResult(
        ids=state.ids[:, tf.newaxis],
        lengths=state.lengths[:, tf.newaxis],
        scores=scores[:, tf.newaxis],
        log_probabilities=state.log_probabilities[:, tf.newaxis],
        finished=state.finished[:, tf.newaxis],
    )
