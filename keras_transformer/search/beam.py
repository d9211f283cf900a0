"""Beam search: the `K` most probable prefixes of each sentence.

Live hypotheses (still growing) and finished ones are kept apart, and a
finished one never changes. Each step looks at the `2 K` best continuations of
a sentence: at most `K` of them can end, so `K` are always left to go on.

In two choices, searches differ:

- A continuation may end a hypothesis only if it is among the `K` best, as in
  fairseq and CTranslate2. So an improbable early END can't win by being short,
  and a beam of 1 with early stopping finds the tokens of greedy search, whose
  scores have no penalty but that of length.
- A hypothesis at its limit without END ranks below every finished one,
  whatever its score: half a sentence isn't a better translation. It is
  returned, marked unfinished, if finished ones don't fill the rows.

Axes: B sentences, K beams, C = 2 K candidates, T output tokens, S source
tokens, V vocabulary.
"""

from typing import Any, NamedTuple

import tensorflow as tf

from keras_transformer.constants import PAD_ID, START_ID
from keras_transformer.search.beam_hypotheses import (
    EMPTY,
    Candidates,
    Hypotheses,
    empty_hypotheses,
    expand,
    extend,
    finish,
    freeze,
    gather_beams,
    merge,
    select,
)
from keras_transformer.search.constraints import (
    SearchConstraints,
    SentenceConstraints,
)
from keras_transformer.search.loop import (
    SearchResult,
    StepModel,
    any_shape,
    no_capacity,
    output_capacity,
    run_loop,
)
from keras_transformer.search.scoring import LengthPenalty


class BeamState(NamedTuple):
    """State that one step passes to the next.

    Attributes:
        step: int32 scalar, the position that the next tokens are written to.
        tokens: int32 `(B, K)`, the last tokens of the live hypotheses.
        live: `Hypotheses` that may grow.
        finished: `Hypotheses` that end with END.
        done: bool `(B,)`, sentences whose hypotheses no longer change.
        sentences: constraints of each sentence.
        cache: the model's cache.
    """

    step: tf.Tensor
    tokens: tf.Tensor
    live: Hypotheses
    finished: Hypotheses
    done: tf.Tensor
    sentences: SentenceConstraints
    cache: Any


class BeamStep(NamedTuple):
    """One step of the search, with its intermediate results.

    Attributes:
        candidates: the `2 K` best continuations.
        ended: the first K candidates as `Hypotheses`, EMPTY where they don't
            end.
        chosen: the candidates that are live after the step, by row.
        state: `BeamState` for the next step.
    """

    candidates: Candidates
    ended: Hypotheses
    chosen: Candidates
    state: BeamState


def beam_search(
    model: StepModel,
    source_ids: tf.Tensor,
    sentences: SentenceConstraints,
    constraints: SearchConstraints,
    beam_size: int,
    num_hypotheses: int | None = None,
    early_stopping: bool = False,
    kept: int | None = None,
) -> SearchResult:
    """Translates by keeping the most probable prefixes.

    A sentence is done at its limit, or when no live hypothesis can still reach
    the best `num_hypotheses`.

    Args:
        model: a `StepModel`, see `search.loop`.
        source_ids: int32 `(B, S)`.
        sentences: constraints of each sentence.
        constraints: what may be generated, and how it is scored.
        beam_size: `K`, at least 1.
        num_hypotheses: rows to return, at most `beam_size`; None: all. With
            fewer the first rows are the same, found in fewer steps.
        early_stopping: whether a sentence is also done once `beam_size`
            hypotheses have ended, although a live one might still win.
        kept: rows to return in place of `num_hypotheses`, at least
            `beam_size`. The additional rows are further hypotheses that ended;
            no steps are added to find them.

    Returns:
        A `SearchResult` of `num_hypotheses` or `kept` rows a sentence.
    """
    num_hypotheses = num_hypotheses or beam_size
    max_steps = output_capacity(sentences.max_lengths)
    source_ids = any_shape(source_ids)
    cache = model.start(source_ids, beam_size, no_capacity(source_ids))
    state = initial_state(sentences, beam_size, max_steps, cache, kept)
    options = constraints, num_hypotheses, early_stopping
    final = run_loop(
        model,
        state,
        lambda state: advance(model, state, *options).state,
        lambda state: ~state.done,
    )
    return best(final.live, final.finished, num_hypotheses, kept)


def initial_state(
    sentences: SentenceConstraints,
    beam_size: int,
    max_steps: int | tf.Tensor,
    cache: object,
    kept: int | None = None,
) -> BeamState:
    """One empty live hypothesis a sentence; the other rows EMPTY.

    Equal live hypotheses would fill the beam with `K` copies of the best.
    Finished hypotheses get `kept` rows, K if it is None.
    """
    batch_size = tf.shape(sentences.max_lengths)[0]
    rows = [batch_size, beam_size]
    first = tf.where(tf.range(beam_size) == 0, 0.0, EMPTY)  # (K,)
    first = tf.broadcast_to(first, rows)  # (B, K)
    return BeamState(
        step=tf.constant(0),
        tokens=tf.fill(rows, START_ID),
        live=empty_hypotheses(batch_size, beam_size, max_steps)._replace(
            log_probs=first, penalised_log_probs=first, scores=first
        ),
        finished=empty_hypotheses(batch_size, kept or beam_size, max_steps),
        done=sentences.max_lengths <= 0,
        sentences=sentences,
        cache=cache,
    )


def advance(
    model: StepModel,
    state: BeamState,
    constraints: SearchConstraints,
    num_hypotheses: int,
    early_stopping: bool,
) -> BeamStep:
    """One step for all sentences; see `beam_search` for the arguments."""
    beam_size = state.tokens.shape[1]
    output = model.step(state.tokens, state.cache, state.step)
    candidates = expand(
        output.logits, state.live, constraints, state.sentences, state.step
    )
    ended = finish(state.live, candidates, state.step, constraints)
    finished = merge(state.finished, ended)
    chosen = select(candidates, beam_size)
    live = extend(state.live, chosen, state.step, constraints)
    at_limit = state.step + 1 >= state.sentences.max_lengths  # (B,)
    is_final = cannot_improve(
        live,
        finished,
        state.sentences.max_lengths,
        constraints.penalty,
        num_hypotheses,
        early_stopping,
    )
    following = state._replace(
        step=state.step + 1,
        tokens=chosen.tokens,
        live=freeze(state.done, state.live, live),
        finished=freeze(state.done, state.finished, finished),
        done=state.done | at_limit | is_final,
        cache=model.reorder(output.cache, chosen.parents),
    )
    return BeamStep(candidates, ended, chosen, following)


def cannot_improve(
    live: Hypotheses,
    finished: Hypotheses,
    max_lengths: tf.Tensor,
    penalty: LengthPenalty,
    num_hypotheses: int,
    early_stopping: bool,
) -> tf.Tensor:
    """bool `(B,)`, True if the hypotheses to return can't change any more.

    The best live hypothesis, even if it ended at once with probability 1 and
    had the most favourable length, would score no more than the last finished
    one that is to be returned. With early stopping also True if the beam is
    full of finished hypotheses.
    """
    # (B,)
    attainable = live.penalised_log_probs[:, 0] / penalty.of(max_lengths)
    is_final = attainable <= finished.scores[:, num_hypotheses - 1]  # (B,)
    if early_stopping:
        beam_size = live.scores.shape[1]
        is_final |= finished.scores[:, beam_size - 1] > EMPTY
    return is_final


def best(
    live: Hypotheses,
    finished: Hypotheses,
    num_hypotheses: int,
    kept: int | None = None,
) -> SearchResult:
    """The rows to return: finished ones first, then live ones.

    Live ones only fill up the first `num_hypotheses` rows.
    """
    both = tf.nest.map_structure(
        lambda *parts: tf.concat(parts, axis=1), finished, live
    )  # (B, 2 K, ...)
    # 2: finished, 1: live, 0: empty. Each part is sorted already, and top_k
    # keeps the order of equals.
    exists = tf.cast(both.scores > EMPTY, tf.int32)  # (B, 2 K)
    half = tf.shape(finished.scores)[1]
    is_finished = tf.range(tf.shape(both.scores)[1]) < half  # (2 K,)
    _, indices = tf.math.top_k(
        exists * (1 + tf.cast(is_finished, tf.int32)), kept or num_hypotheses
    )  # (B, R), R being `kept` or `num_hypotheses`
    rows = gather_beams(both, indices)  # (B, R, ...)
    may_be_live = tf.range(tf.shape(indices)[1]) < num_hypotheses  # (R,)
    exists = (rows.scores > EMPTY) & (may_be_live | (indices < half))  # (B, R)
    return SearchResult(
        ids=tf.where(exists[..., tf.newaxis], rows.ids, PAD_ID),
        lengths=tf.where(exists, rows.lengths, 0),
        scores=tf.where(exists, rows.scores, EMPTY),
        log_probabilities=tf.where(exists, rows.log_probs, EMPTY),
        finished=exists & (indices < half),
    )
