"""What a beam search carries from step to step, and what it begins with."""

from typing import Any, NamedTuple

import tensorflow as tf

from keras_transformer.constants import PAD_ID, START_ID
from keras_transformer.search.beam_hypotheses import (
    EMPTY,
    Candidates,
    Hypotheses,
)
from keras_transformer.search.constraints import Sentences


class BeamState(NamedTuple):
    """What one step hands to the next.

    Attributes:
        step: int32 scalar, the position that the next tokens are written to.
        tokens: int32 `(B, K)`, the last tokens of the live hypotheses.
        live: `Hypotheses` that may grow.
        finished: `Hypotheses` that end with END.
        done: bool `(B,)`, sentences whose hypotheses no longer change.
        coverage: float32 `(B, K, S)`, attention that each source token
            received from the live hypotheses; `()` if nobody asks.
        sentences: `Sentences`, what is asked of each.
        cache: the model's.
    """

    step: Any
    tokens: Any
    live: Hypotheses
    finished: Hypotheses
    done: Any
    coverage: Any
    sentences: Sentences
    cache: Any


class BeamStep(NamedTuple):
    """One step of the search, with what it did.

    Attributes:
        candidates: the `2 K` best continuations that it looked at.
        ends: the first K candidates as `Hypotheses`, EMPTY where they
            don't end.
        chosen: the candidates that are live afterwards, by row.
        state: `BeamState` for the next step.
    """

    candidates: Candidates
    ends: Hypotheses
    chosen: Candidates
    state: BeamState


def initial_state(sentences, beam_size, max_steps, cache) -> BeamState:
    """One empty live hypothesis a sentence; the other rows EMPTY.

    Equal live hypotheses would fill the beam with `K` copies of the best.
    """
    batch_size = tf.shape(sentences.limits)[0]
    rows = [batch_size, beam_size]
    nothing = tf.fill(rows, EMPTY)
    empty = Hypotheses(
        ids=tf.fill([batch_size, beam_size, max_steps], PAD_ID),
        lengths=tf.zeros(rows, tf.int32),
        log_probabilities=nothing,
        values=nothing,
        scores=nothing,
    )
    first = tf.where(tf.range(beam_size) == 0, 0.0, EMPTY)
    first = tf.broadcast_to(first, rows)
    return BeamState(
        step=tf.constant(0),
        tokens=tf.fill(rows, START_ID),
        live=empty._replace(
            log_probabilities=first, values=first, scores=first
        ),
        finished=empty,
        done=sentences.limits <= 0,
        coverage=(),
        sentences=sentences,
        cache=cache,
    )


def uncovered(source_ids, beam_size):
    """A first `coverage`: none at tokens, at padding all that is needed."""
    nothing = tf.where(source_ids == PAD_ID, 1.0, 0.0)
    return tf.repeat(nothing[:, tf.newaxis], beam_size, axis=1)
