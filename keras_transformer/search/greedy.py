"""One token after another: the most probable one, or one drawn at random."""

from typing import Any, NamedTuple

import tensorflow as tf

from keras_transformer.constants import END_ID, PAD_ID, START_ID
from keras_transformer.search.constraints import Constraints, Sentences
from keras_transformer.search.hypotheses import SearchResult, score
from keras_transformer.search.loop import (
    first_room,
    room,
    run_loop,
    write_tokens,
)
from keras_transformer.search.probabilities import (
    log_normalizer,
    log_probability,
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
        sentences: `Sentences`, what is asked of each.
        cache: the model's.
    """

    step: Any
    tokens: Any
    ids: Any
    lengths: Any
    log_probabilities: Any
    finished: Any
    sentences: Sentences
    cache: Any


def greedy_search(
    model,
    source_ids,
    sentences: Sentences,
    constraints: Constraints,
    choose=None,
    compiled_steps: int | None = None,
) -> SearchResult:
    """Translates by taking one token at every step.

    Args:
        model: a `StepModel`, see `decoding.search`.
        source_ids: int32 `(B, S)`.
        sentences: what is asked of each sentence.
        constraints: what may be generated, and how it is scored.
        choose: `(logits (B, V), sentences, step) -> int32 (B,)`; None: the
            most probable, the lowest id among equals.
        compiled_steps: for XLA, the steps to make room for; None: not
            for XLA.

    Returns:
        A `SearchResult` with one hypothesis a sentence.
    """
    choose = choose or most_probable
    max_steps = compiled_steps or room(sentences.limits)

    def advance(state):
        step = model.step(state.tokens[:, tf.newaxis], state.cache, state.step)
        logits = step.logits[:, 0]
        normalizer = log_normalizer(logits)
        allowed = constraints.apply(
            step.logits,
            normalizer[:, tf.newaxis],
            state.ids[:, tf.newaxis],
            state.sentences,
            state.step,
        )[:, 0]
        tokens = choose(allowed, state.sentences, state.step)
        chosen = tf.gather(logits, tokens, batch_dims=1)
        gains = log_probability(chosen, normalizer)
        return append(state, tokens, gains)._replace(cache=step.cache)

    cache = model.start(source_ids, 1, compiled_steps or first_room(max_steps))
    final = run_loop(
        model,
        initial_state(sentences, max_steps, cache),
        advance,
        is_active,
        compiled_steps is not None,
    )
    return to_result(final, constraints)


def initial_state(sentences, max_steps, cache) -> GreedyState:
    """Nothing written, START to be read."""
    nothing = tf.zeros_like(sentences.limits)
    return GreedyState(
        step=tf.constant(0),
        tokens=tf.fill(tf.shape(nothing), START_ID),
        ids=tf.fill([tf.shape(nothing)[0], max_steps], PAD_ID),
        lengths=nothing,
        log_probabilities=tf.cast(nothing, tf.float32),
        finished=tf.cast(nothing, tf.bool),
        sentences=sentences,
        cache=cache,
    )


def is_active(state: GreedyState):
    """bool `(B,)`: neither ended nor at its limit."""
    return ~state.finished & (state.lengths < state.sentences.limits)


def most_probable(logits, sentences, step):
    """The best token of each row, the lowest id among equals."""
    return tf.argmax(logits, axis=-1, output_type=tf.int32)


def append(state: GreedyState, tokens, gains) -> GreedyState:
    """The state after one step; rows that aren't active stay frozen."""
    active = is_active(state)
    tokens = tf.where(active, tokens, PAD_ID)
    return state._replace(
        step=state.step + 1,
        tokens=tokens,
        ids=write_tokens(state.ids, tokens, state.step),
        lengths=state.lengths + tf.cast(active, tf.int32),
        log_probabilities=state.log_probabilities
        + tf.where(active, gains, 0.0),
        finished=state.finished | (active & (tokens == END_ID)),
    )


def to_result(state: GreedyState, constraints) -> SearchResult:
    """The state as a result with `K` = 1."""
    scores = score(
        state.log_probabilities, state.lengths, constraints.normalization
    )
    return SearchResult(
        ids=state.ids[:, tf.newaxis],
        lengths=state.lengths[:, tf.newaxis],
        scores=scores[:, tf.newaxis],
        log_probabilities=state.log_probabilities[:, tf.newaxis],
        finished=state.finished[:, tf.newaxis],
    )
