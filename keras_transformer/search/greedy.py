"""Greedy search and sampling: one hypothesis, one token after another.

Axes: B sentences, T output tokens, S source tokens, V vocabulary.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow as tf

from keras_transformer.constants import END_ID, PAD_ID, START_ID
from keras_transformer.search.constraints import (
    SearchConstraints,
    SentenceConstraints,
    vocabulary_size,
)
from keras_transformer.search.loop import (
    SearchResult,
    StepModel,
    any_shape,
    no_capacity,
    output_capacity,
    run_loop,
    write_tokens,
)
from keras_transformer.search.scoring import log_normalizer, log_probability


class GreedyState(NamedTuple):
    """State that one step passes to the next.

    Attributes:
        step: int32 scalar, the position that the next token is written to.
        tokens: int32 `(B,)`, the last tokens.
        ids: int32 `(B, T)`, the output so far, PAD after.
        lengths: int32 `(B,)`, tokens written.
        log_probs: float32 `(B,)`, of the output so far.
        finished: bool `(B,)`, whether END was written.
        sentences: `SentenceConstraints`.
        cache: the model's cache.
    """

    step: tf.Tensor
    tokens: tf.Tensor
    ids: tf.Tensor
    lengths: tf.Tensor
    log_probs: tf.Tensor
    finished: tf.Tensor
    sentences: SentenceConstraints
    cache: Any


def greedy_search(
    model: StepModel,
    source_ids: tf.Tensor,
    sentences: SentenceConstraints,
    constraints: SearchConstraints,
    choose: Callable[[tf.Tensor, SentenceConstraints, tf.Tensor], tf.Tensor]
    | None = None,
) -> SearchResult:
    """Translates by taking one token at every step.

    Args:
        model: a `StepModel`, see `search.loop`.
        source_ids: int32 `(B, S)`.
        sentences: constraints of each sentence.
        constraints: what may be generated, and how it is scored.
        choose: `(logits (B, V), sentences, step) -> int32 (B,)`; None: the
            most probable, the lowest id among equals.

    Returns:
        A `SearchResult` with one hypothesis a sentence.
    """
    choose = choose or most_probable
    max_steps = output_capacity(sentences.max_lengths)

    def advance(state):
        ids = state.tokens[:, tf.newaxis]  # (B, 1)
        output = model.step(ids, state.cache, state.step)
        logits = output.logits[:, 0]  # (B, V)
        log_z = log_normalizer(logits)  # (B,)
        allowed = constraints.apply(
            output.logits,
            log_z[:, tf.newaxis],
            state.ids[:, tf.newaxis],
            state.sentences,
            state.step,
        )[:, 0]  # (B, V)
        tokens = choose(allowed, state.sentences, state.step)
        chosen = tf.gather(logits, tokens, batch_dims=1)  # (B,)
        token_log_probs = log_probability(chosen, log_z)  # (B,)
        state = append(state, tokens, token_log_probs)
        return state._replace(cache=output.cache)

    source_ids = any_shape(source_ids)
    cache = model.start(source_ids, 1, no_capacity(source_ids))
    final = run_loop(
        model, initial_state(sentences, max_steps, cache), advance, is_active
    )
    return to_result(final, constraints)


def initial_state(
    sentences: SentenceConstraints, max_steps: int | tf.Tensor, cache: object
) -> GreedyState:
    """The state before the first step: no output, START to be read."""
    nothing = tf.zeros_like(sentences.max_lengths)
    return GreedyState(
        step=tf.constant(0),
        tokens=tf.fill(tf.shape(nothing), START_ID),
        ids=tf.fill([tf.shape(nothing)[0], max_steps], PAD_ID),
        lengths=nothing,
        log_probs=tf.cast(nothing, tf.float32),
        finished=tf.cast(nothing, tf.bool),
        sentences=sentences,
        cache=cache,
    )


def is_active(state: GreedyState) -> tf.Tensor:
    """bool `(B,)`, True if a row has neither ended nor reached its limit."""
    return ~state.finished & (state.lengths < state.sentences.max_lengths)


def most_probable(
    logits: tf.Tensor, sentences: SentenceConstraints, step: tf.Tensor
) -> tf.Tensor:
    """The best token of each row, the lowest id among equals."""
    return tf.argmax(logits, axis=-1, output_type=tf.int32)


def append(
    state: GreedyState, tokens: tf.Tensor, token_log_probs: tf.Tensor
) -> GreedyState:
    """The state after one step; rows that aren't active stay frozen."""
    active = is_active(state)
    tokens = tf.where(active, tokens, PAD_ID)
    return state._replace(
        step=state.step + 1,
        tokens=tokens,
        ids=write_tokens(state.ids, tokens, state.step),
        lengths=state.lengths + tf.cast(active, tf.int32),
        log_probs=state.log_probs + tf.where(active, token_log_probs, 0.0),
        finished=state.finished | (active & (tokens == END_ID)),
    )


def to_result(
    state: GreedyState, constraints: SearchConstraints
) -> SearchResult:
    """The final state as a `SearchResult`, one hypothesis a sentence."""
    scores = state.log_probs / constraints.penalty.of(state.lengths)
    return SearchResult(
        ids=state.ids[:, tf.newaxis],  # (B, 1, T), the others (B, 1)
        lengths=state.lengths[:, tf.newaxis],
        scores=scores[:, tf.newaxis],
        log_probabilities=state.log_probs[:, tf.newaxis],
        finished=state.finished[:, tf.newaxis],
    )


@dataclasses.dataclass(frozen=True)
class Sampler:
    """Draws the next token of each sentence.

    Random numbers depend only on the seed, the sentence's source and the step,
    so a sentence's translation doesn't depend on its neighbours in the batch.

    Args:
        temperature: divides the logits; below 1 probable tokens become more
            probable.
        top_k: number of most probable tokens to draw from; 0: all.
        top_p: draws from the fewest most probable tokens whose probabilities
            add up to it (Holtzman et al. 2020, section 3.1); 1: all.
        seed: seed of the random numbers.
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 1

    def keys(self, source_ids: tf.Tensor) -> tf.Tensor:
        """Seeds of each sentence's random numbers: uint8 `(B, 16)`.

        Args:
            source_ids: int32 `(B, S)`, padded with 0 at the end.
        """
        # A sum of terms for each token at its position; 0 for padding, which
        # must not count, as it depends on the sentence's neighbours.
        ids = tf.cast(source_ids, tf.int64)
        positions = tf.range(1, tf.shape(ids)[1] + 1, dtype=tf.int64)  # (S,)
        terms = tf.where(ids == 0, tf.zeros_like(ids), _mix(ids, positions))
        own = tf.reduce_sum(terms, axis=1)  # (B,)
        seeds = tf.fill(tf.shape(own), tf.constant(self.seed, tf.int64))
        words = tf.stack([own, seeds], axis=1)  # (B, 2)
        return tf.reshape(tf.bitcast(words, tf.uint8), [-1, 16])  # (B, 16)

    def __call__(
        self, logits: tf.Tensor, sentences: SentenceConstraints, step: tf.Tensor
    ) -> tf.Tensor:
        """Draws: `(B, V)` to int32 `(B,)`."""
        width = vocabulary_size(logits)
        if self.top_k:
            least = min if isinstance(width, int) else tf.minimum
            width = least(self.top_k, width)
        # (B, width)
        values, tokens = tf.math.top_k(logits / self.temperature, width)
        probabilities = tf.nn.softmax(values)  # (B, width)
        # (B, width)
        exclusive_cumsum = tf.cumsum(probabilities, axis=-1, exclusive=True)
        # The first token is kept for any top_p.
        is_kept = exclusive_cumsum < self.top_p
        probabilities = tf.where(is_kept, probabilities, 0.0)  # (B, width)
        cumsum = tf.cumsum(probabilities, axis=-1)  # (B, width)
        u = uniform(sentences.sampling_keys, step)[:, tf.newaxis]  # (B, 1)
        skipped = cumsum <= u * cumsum[:, -1:]  # (B, width)
        # By rounding, a number may be drawn from beyond the last kept token.
        # (B,)
        kept = tf.reduce_sum(tf.cast(probabilities > 0, tf.int32), axis=-1)
        index = tf.minimum(
            tf.reduce_sum(tf.cast(skipped, tf.int32), axis=-1), kept - 1
        )  # (B,)
        return tf.gather(tokens, index, batch_dims=1)  # (B,)


def uniform(keys: tf.Tensor, step: tf.Tensor) -> tf.Tensor:
    """A number in [0, 1) for each row and step, float32 `(B,)`.

    Args:
        keys: uint8 `(B, 16)`.
        step: int32 scalar.
    """
    counter = tf.bitcast(tf.cast(step, tf.int64), tf.uint8)  # (8,)
    counter = tf.broadcast_to(counter, [tf.shape(keys)[0], 8])  # (B, 8)
    hashed = tf.raw_ops.Fingerprint(
        data=tf.concat([keys, counter], axis=1),  # (B, 24)
        method="farmhash64",
    )  # (B, 8)
    bits = tf.bitwise.right_shift(
        tf.bitcast(hashed, tf.uint64), tf.constant(40, tf.uint64)
    )  # (B,)
    return tf.cast(bits, tf.float32) * 2.0**-24


def _mix(ids, positions):
    """int64 `(B, S)` that differs for every pair of token and position."""
    keys = ids * (1 << 32) + positions
    data = tf.reshape(tf.bitcast(keys, tf.uint8), [-1, 8])  # (B * S, 8)
    # (B * S, 8)
    hashed = tf.raw_ops.Fingerprint(data=data, method="farmhash64")
    hashed = tf.bitcast(hashed, tf.int64)  # (B * S,)
    return tf.reshape(hashed, tf.shape(ids))  # (B, S)
