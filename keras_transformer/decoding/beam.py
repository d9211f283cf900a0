"""Beam search: the `K` most probable prefixes of each sentence.

Live hypotheses (still growing) and finished ones are kept apart, and a
finished one never changes. Each step looks at the `2 K` best continuations of
a sentence: at most `K` of them can end, so `K` are always left to go on.

Two choices that searches differ in:

- A continuation may end a hypothesis only if it is among the `K` best, as in
  fairseq and CTranslate2. An improbable early END can't win by being short,
  and a beam of 1 is greedy search exactly.
- A hypothesis at its limit without END ranks below every finished one,
  whatever its score: half a sentence isn't a better translation. It is
  returned, marked unfinished, where finished ones don't fill the rows.
"""

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

# The log-probability of a row that holds no hypothesis.
EMPTY = -float("inf")


class Hypotheses(NamedTuple):
    """`K` rows a sentence, the best first; EMPTY rows last.

    Attributes:
        ids: int32 `(B, K, T)`, PAD after the end.
        lengths: int32 `(B, K)`.
        log_probabilities: float32 `(B, K)`.
        scores: float32 `(B, K)`, normalised by length.
    """

    ids: tf.Tensor
    lengths: tf.Tensor
    log_probabilities: tf.Tensor
    scores: tf.Tensor


class Candidates(NamedTuple):
    """Continuations of live hypotheses, the most probable first.

    Attributes:
        log_probabilities: float32 `(B, C)`, of the hypothesis continued.
        parents: int32 `(B, C)`, the row of the live hypothesis.
        tokens: int32 `(B, C)`, what it is continued with.
    """

    log_probabilities: tf.Tensor
    parents: tf.Tensor
    tokens: tf.Tensor


class BeamState(NamedTuple):
    """What one step hands to the next.

    Attributes:
        step: int32 scalar, the position that the next tokens are written to.
        tokens: int32 `(B, K)`, the last tokens of the live hypotheses.
        live: `Hypotheses` that may grow.
        finished: `Hypotheses` that end with END.
        done: bool `(B,)`, sentences whose hypotheses no longer change.
        beams: the model's cache, every tensor `(B, K, ...)`.
    """

    step: tf.Tensor
    tokens: tf.Tensor
    live: Hypotheses
    finished: Hypotheses
    done: tf.Tensor
    beams: Any


def beam_search(
    start,
    step,
    source_ids,
    limits,
    beam_size: int,
    alpha: float = 0.0,
    num_hypotheses: int | None = None,
) -> SearchResult:
    """Translates by keeping the most probable prefixes.

    A sentence is done when `beam_size` hypotheses have ended, when no live
    one can still come among the best `num_hypotheses`, or at its limit.

    Args:
        start: `(source_ids, beam_size, max_steps) -> cache`, a named tuple
            with `beams` (every tensor `(B, K, ...)`, reordered here) and
            `source` (every tensor `(B, ...)`, left alone).
        step: `(ids int32 (B, K), cache, index) -> (logits (B, K, V), cache)`
            where `ids` are the tokens at position `index`.
        source_ids: int32 `(B, S)`, as `start` takes them.
        limits: int32 `(B,)`, the output tokens allowed, END included.
        beam_size: `K`, at least 1.
        alpha: exponent of `length_penalty`.
        num_hypotheses: rows to return, at most `beam_size`; None: all. Fewer
            are the same first rows, found in fewer steps.

    Returns:
        A `SearchResult` of `num_hypotheses` rows a sentence.
    """
    num_hypotheses = num_hypotheses or beam_size
    max_steps = room(limits)
    cache = start(source_ids, beam_size, max_steps)

    def advance(state):
        logits, stepped = step(
            state.tokens, cache._replace(beams=state.beams), state.step
        )
        candidates = expand(logits, state.live.log_probabilities)
        finished = merge(
            state.finished, ended(state.live, candidates, state.step, alpha)
        )
        chosen = select(candidates, beam_size)
        live = extend(state.live, chosen, state.step, alpha)
        over = state.step + 1 >= limits
        return (
            BeamState(
                step=state.step + 1,
                tokens=chosen.tokens,
                live=freeze(state.done, state.live, live),
                finished=freeze(state.done, state.finished, finished),
                done=state.done
                | over
                | is_decided(live, finished, limits, alpha, num_hypotheses),
                beams=same_shapes(
                    reorder(stepped.beams, chosen.parents), state.beams
                ),
            ),
        )

    (final,) = tf.while_loop(
        lambda state: ~tf.reduce_all(state.done),
        advance,
        (initial_state(limits, beam_size, max_steps, cache.beams),),
        parallel_iterations=1,
        maximum_iterations=max_steps,
    )
    return best(final.live, final.finished, num_hypotheses)


def initial_state(limits, beam_size, max_steps, beams) -> BeamState:
    """One empty live hypothesis a sentence; the other rows EMPTY.

    Equal live hypotheses would fill the beam with `K` copies of the best.
    """
    batch_size = tf.shape(limits)[0]
    rows = [batch_size, beam_size]
    empty = Hypotheses(
        ids=tf.fill([batch_size, beam_size, max_steps], PAD_ID),
        lengths=tf.zeros(rows, tf.int32),
        log_probabilities=tf.fill(rows, EMPTY),
        scores=tf.fill(rows, EMPTY),
    )
    first = tf.where(tf.range(beam_size) == 0, 0.0, EMPTY)
    first = tf.broadcast_to(first, rows)
    return BeamState(
        step=tf.constant(0),
        tokens=tf.fill(rows, START_ID),
        live=empty._replace(log_probabilities=first, scores=first),
        finished=empty,
        done=limits <= 0,
        beams=beams,
    )


def expand(logits, log_probabilities) -> Candidates:
    """The `2 K` best continuations of each sentence's live hypotheses.

    Equal ones are taken in the order of their parents, then of their ids.

    Args:
        logits: `(B, K, V)`.
        log_probabilities: float32 `(B, K)`, of the live hypotheses.

    Returns:
        `Candidates` with `C = 2 K`; beyond the vocabulary they are EMPTY.
    """
    beam_size = log_probabilities.shape[1]
    batch_size, _, vocabulary_size = tf.unstack(tf.shape(logits))
    # The best of all are among the best of each row, and a row's best can be
    # found before its log-softmax is worked out.
    width = tf.minimum(2 * beam_size, vocabulary_size)
    values, tokens = tf.math.top_k(without_banned(logits), width)
    values = log_probability(values, log_normalizer(logits)[..., tf.newaxis])
    values += log_probabilities[..., tf.newaxis]

    flat = [batch_size, beam_size * width]
    values, places = tf.math.top_k(tf.reshape(values, flat), 2 * beam_size)
    return Candidates(
        log_probabilities=values,
        parents=places // width,
        tokens=tf.gather(tf.reshape(tokens, flat), places, batch_dims=1),
    )


def ended(live, candidates, step, alpha) -> Hypotheses:
    """The `K` best candidates as hypotheses; EMPTY those that go on."""
    beam_size = live.ids.shape[1]
    first = Candidates(*(field[:, :beam_size] for field in candidates))
    ends = first.tokens == END_ID
    return extend(
        live,
        first._replace(
            log_probabilities=tf.where(ends, first.log_probabilities, EMPTY)
        ),
        step,
        alpha,
    )


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
    going_on = tf.where(
        candidates.tokens == END_ID, EMPTY, candidates.log_probabilities
    )
    values, places = tf.math.top_k(going_on, beam_size)
    return reorder(candidates, places)._replace(log_probabilities=values)


def extend(live, candidates, step, alpha) -> Hypotheses:
    """The candidates as hypotheses of `step + 1` tokens."""
    ids = reorder(live.ids, candidates.parents)
    lengths = tf.fill(tf.shape(candidates.tokens), step + 1)
    values = candidates.log_probabilities
    return Hypotheses(
        ids=write_tokens(ids, candidates.tokens, step),
        lengths=lengths,
        log_probabilities=values,
        scores=values / length_penalty(lengths, alpha),
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


def is_decided(live, finished, limits, alpha, num_hypotheses):
    """bool `(B,)`: nothing that the caller asked for can change.

    Either the beam is full of finished hypotheses, or the best live one,
    if it ended at once with certainty and had the most favourable length,
    would still score no more than the last that is asked for.
    """
    full = tf.reduce_all(finished.scores > EMPTY, axis=1)
    attainable = live.log_probabilities[:, 0] / length_penalty(limits, alpha)
    return full | (attainable <= finished.scores[:, num_hypotheses - 1])


def best(live, finished, num_hypotheses) -> SearchResult:
    """The rows to return: finished ones first, then live ones."""
    both = tf.nest.map_structure(
        lambda *parts: tf.concat(parts, axis=1), finished, live
    )
    # 2: finished, 1: live, 0: empty. Each part is sorted already, and top_k
    # keeps the order of equals.
    exists = tf.cast(both.scores > EMPTY, tf.int32)
    half = tf.shape(finished.scores)[1]
    is_finished = tf.range(tf.shape(both.scores)[1]) < half
    _, places = tf.math.top_k(
        exists * (1 + tf.cast(is_finished, tf.int32)), num_hypotheses
    )
    rows = reorder(both, places)
    exists = rows.scores > EMPTY
    return SearchResult(
        ids=tf.where(exists[..., tf.newaxis], rows.ids, PAD_ID),
        lengths=tf.where(exists, rows.lengths, 0),
        scores=rows.scores,
        log_probabilities=rows.log_probabilities,
        finished=exists & (places < half),
    )
