"""Hypotheses and candidates of a beam, and one step: expand, finish, select.

`K` rows a sentence, the best first; a row without a hypothesis is `EMPTY`.
Rows are ranked by penalised log-probability while they grow, by score once
they have ended.

Axes: B sentences, K beams, C = 2 K candidates, T output tokens,
V vocabulary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

import tensorflow as tf

from keras_transformer.constants import END_ID, PAD_ID
from keras_transformer.search.loop import write_tokens
from keras_transformer.search.scoring import log_normalizer, log_probability

Nested = TypeVar("Nested")


if TYPE_CHECKING:
    from keras_transformer.search.constraints import (
        SearchConstraints,
        SentenceConstraints,
    )


# The log-probability of a row that holds no hypothesis.
EMPTY = -float("inf")
# Tokens of a block, roughly: `top_tokens` first ranks the highest of each.
_BLOCK = 32


class Hypotheses(NamedTuple):
    """`K` rows a sentence, the best first; EMPTY rows last.

    Attributes:
        ids: int32 `(B, K, T)`, PAD after the end.
        lengths: int32 `(B, K)`.
        log_probs: float32 `(B, K)`.
        penalised_log_probs: float32 `(B, K)`, the same with the repetition
            penalty.
        scores: float32 `(B, K)`, `penalised_log_probs` divided by the length
            penalty.
    """

    ids: tf.Tensor
    lengths: tf.Tensor
    log_probs: tf.Tensor
    penalised_log_probs: tf.Tensor
    scores: tf.Tensor


class Candidates(NamedTuple):
    """Continuations of live hypotheses, the best first.

    Attributes:
        penalised_log_probs: float32 `(B, C)`, of the hypothesis with its
            continuation.
        log_probs: float32 `(B, C)`, the same without the repetition
            penalty.
        parents: int32 `(B, C)`, the row of the live hypothesis.
        tokens: int32 `(B, C)`, the token that continues it.
    """

    penalised_log_probs: tf.Tensor
    log_probs: tf.Tensor
    parents: tf.Tensor
    tokens: tf.Tensor


def empty_hypotheses(
    batch_size: tf.Tensor, rows: int, max_steps: int | tf.Tensor
) -> Hypotheses:
    """`rows` hypotheses a sentence, all of them EMPTY."""
    none = tf.fill([batch_size, rows], EMPTY)  # (B, K)
    return Hypotheses(
        ids=tf.fill([batch_size, rows, max_steps], PAD_ID),
        lengths=tf.zeros([batch_size, rows], tf.int32),
        log_probs=none,
        penalised_log_probs=none,
        scores=none,
    )


def expand(
    logits: tf.Tensor,
    live: Hypotheses,
    constraints: SearchConstraints,
    sentences: SentenceConstraints,
    step: tf.Tensor,
) -> Candidates:
    """The `2 K` best continuations of each sentence's live hypotheses.

    Equal ones are taken in the order of their parents, then of their ids.

    Args:
        logits: float32 `(B, K, V)`.
        live: the `Hypotheses` to continue.
        constraints, sentences, step: see `SearchConstraints.apply`.

    Returns:
        `Candidates` with `C = 2 K`; their log-probability is EMPTY, minus
        infinity, where fewer are allowed.
    """
    batch_size, _, vocabulary_size = tf.unstack(tf.shape(logits))
    beam_size = live.ids.shape[1]
    log_z = log_normalizer(logits)  # (B, K)
    allowed = constraints.apply(logits, log_z, live.ids, sentences, step)
    # The best of all rows are among the best of each, and the log-softmax
    # doesn't change which those are.
    width = 2 * beam_size
    if logits.shape[-1] is None or logits.shape[-1] < width:
        width = tf.minimum(width, vocabulary_size)
    values, tokens = top_tokens(allowed, width)  # (B, K, width)
    values = log_probability(values, log_z[..., tf.newaxis])
    values += live.penalised_log_probs[..., tf.newaxis]
    flat = [batch_size, beam_size * width]
    values = tf.reshape(values, flat)  # (B, K * width)
    penalised, indices = tf.math.top_k(values, 2 * beam_size)  # (B, C)
    tokens = tf.reshape(tokens, flat)  # (B, K * width)
    parents = indices // width  # (B, C)
    tokens = tf.gather(tokens, indices, batch_dims=1)  # (B, C)
    log_probs = penalised  # (B, C)
    if constraints.repetition_penalty != 1:
        indices = parents * vocabulary_size + tokens  # (B, C)
        token_log_probs = logits - log_z[..., tf.newaxis]  # (B, K, V)
        # (B, K * V), then (B, C)
        token_log_probs = tf.reshape(token_log_probs, [batch_size, -1])
        token_log_probs = tf.gather(token_log_probs, indices, batch_dims=1)
        log_probs = token_log_probs + tf.gather(
            live.log_probs, parents, batch_dims=1
        )  # (B, C)
    return Candidates(penalised, log_probs, parents, tokens)


def top_tokens(
    logits: tf.Tensor, width: int | tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Like `tf.math.top_k`, several times faster for a whole vocabulary.

    The `width` best tokens are in the `width` blocks of tokens with the highest
    maxima, which take one pass to find. A vocabulary whose size is only known
    when the graph runs, such as a shortlist's, is padded to whole blocks; one
    that can't be split into equal blocks is left to `top_k`.

    Args:
        logits: `(B, K, V)`.
        width: tokens to return, at most V.

    Returns:
        values `(B, K, width)`, the highest first, and ids int32 of the same
        shape; among equals the lowest id first.
    """
    size = logits.shape[-1]
    block: int | None = _BLOCK
    if size is None:
        size = tf.shape(logits)[-1]
        padded = tf.maximum(size + -size % _BLOCK, width * _BLOCK)
        logits = tf.pad(
            logits, [[0, 0], [0, 0], [0, padded - size]], constant_values=EMPTY
        )
        size = padded
    else:
        block = None if tf.is_tensor(width) else _block_size(size, width)
    if block is None:
        return tf.math.top_k(logits, width)
    rows = tf.shape(logits)[0]
    beams = logits.shape[1]
    shape = [rows, beams, size // block, block]
    blocks = tf.reshape(logits, shape)  # (B, K, V / block, block)
    # (B, K, width)
    _, chosen = tf.math.top_k(tf.reduce_max(blocks, axis=-1), width)
    chosen = tf.sort(chosen)  # by id, as equals have to stay in that order
    # (B, K, width, block)
    candidates = tf.gather(blocks, chosen, batch_dims=2)
    shape = [rows, beams, width * block]
    candidates = tf.reshape(candidates, shape)  # (B, K, width * block)
    values, indices = tf.math.top_k(candidates, width)  # (B, K, width)
    # (B, K, width)
    first = tf.gather(chosen, indices // block, batch_dims=2) * block
    return values, first + indices % block


def _block_size(size, width):
    """A divisor of `size` near 32 that leaves enough blocks, or None."""
    divisors = [
        block
        for block in range(16, 65)
        if size % block == 0 and size // block >= 2 * width
    ]
    return min(divisors, key=lambda block: abs(block - _BLOCK), default=None)


def finish(
    live: Hypotheses,
    candidates: Candidates,
    step: tf.Tensor,
    constraints: SearchConstraints,
) -> Hypotheses:
    """The `K` best candidates as hypotheses, EMPTY where they don't end."""
    beam_size = live.ids.shape[1]
    first = Candidates(*(field[:, :beam_size] for field in candidates))
    is_end = first.tokens == END_ID  # (B, K)
    penalised = tf.where(is_end, first.penalised_log_probs, EMPTY)  # (B, K)
    first = first._replace(penalised_log_probs=penalised)
    return extend(live, first, step, constraints)


def merge(finished: Hypotheses, new: Hypotheses) -> Hypotheses:
    """The best of both, in the rows of `finished`; of equals the earlier."""
    count = finished.ids.shape[1]
    both = tf.nest.map_structure(
        lambda *parts: tf.concat(parts, axis=1), finished, new
    )  # (B, count + K, ...)
    _, indices = tf.math.top_k(both.scores, count)  # (B, count)
    return gather_beams(both, indices)  # (B, count, ...)


def select(candidates: Candidates, beam_size: int) -> Candidates:
    """The `K` best candidates that don't end."""
    is_end = candidates.tokens == END_ID  # (B, C)
    going_on = tf.where(is_end, EMPTY, candidates.penalised_log_probs)
    penalised, indices = tf.math.top_k(going_on, beam_size)  # (B, K)
    chosen = gather_beams(candidates, indices)
    return chosen._replace(penalised_log_probs=penalised)


def extend(
    live: Hypotheses,
    candidates: Candidates,
    step: tf.Tensor,
    constraints: SearchConstraints,
) -> Hypotheses:
    """The candidates as hypotheses of `step + 1` tokens."""
    ids = gather_beams(live.ids, candidates.parents)  # (B, K, T)
    lengths = tf.fill(tf.shape(candidates.tokens), step + 1)  # (B, K)
    return Hypotheses(
        ids=write_tokens(ids, candidates.tokens, step),
        lengths=lengths,
        log_probs=candidates.log_probs,
        penalised_log_probs=candidates.penalised_log_probs,
        scores=candidates.penalised_log_probs / constraints.penalty.of(lengths),
    )


def gather_beams(nested: Nested, indices: tf.Tensor) -> Nested:
    """Takes rows of every tensor `(B, K, ...)` in a nested structure.

    Args:
        nested: tensors that share the first two axes.
        indices: int32 `(B, R)`, the rows to take.

    Returns:
        The same structure of tensors `(B, R, ...)`.
    """
    return tf.nest.map_structure(
        lambda tensor: tf.gather(tensor, indices, batch_dims=1), nested
    )


def freeze(done: tf.Tensor, old: Hypotheses, new: Hypotheses) -> Hypotheses:
    """`old` for the sentences that are done, `new` for the others."""

    def keep(before, after):
        rank = len(after.shape)
        frozen = tf.reshape(done, [-1] + [1] * (rank - 1))  # (B, 1, ...)
        return tf.where(frozen, before, after)

    return tf.nest.map_structure(keep, old, new)
