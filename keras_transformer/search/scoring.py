"""Scores of translations, and the log-probabilities that they are made of.

The logits of a step give log-probabilities of tokens. Their sum is the
log-probability of a hypothesis; with the repetition penalty it is the penalised
log-probability; divided by the length penalty, it is the score by which
hypotheses are ranked.

Axes: B sentences, T output tokens, S source tokens, V vocabulary.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import NamedTuple, Protocol

import tensorflow as tf

from keras_transformer.constants import PAD_ID, START_ID, UNK_ID

# The message of `one_each`, which both counts follow.
ONE_EACH = (
    "score takes one translation for each text. Received texts and "
    "translations:"
)


def log_normalizer(logits: tf.Tensor) -> tf.Tensor:
    """Log of the sum of the exponentials: `(..., V)` to float32 `(...)`.

    `logit - log_normalizer` is the log-softmax.
    """
    logits = tf.cast(logits, tf.float32)
    # The largest probability is 1 / sum(exp(logits - max(logits))). oneDNN's
    # softmax is faster than that sum in TensorFlow.
    largest = tf.reduce_max(tf.nn.softmax(logits), axis=-1)
    return tf.reduce_max(logits, axis=-1) - tf.math.log(largest)


def log_probability(logits: tf.Tensor, log_z: tf.Tensor) -> tf.Tensor:
    """`logits - log_z`, but at most 0, which rounding might exceed.

    The stopping rule of searches relies on sums of these never rising.
    """
    return tf.minimum(logits - log_z, 0.0)


@dataclasses.dataclass(frozen=True)
class LengthPenalty:
    """Length penalty: a log-probability divided by it is a score.

    Attributes:
        kind: "gnmt": `((5 + length) / 6) ** alpha` (Wu et al. 2016, equation
            14); "average": `length ** alpha`, with alpha 1 the mean of the
            tokens' log-probabilities.
        alpha: 0 leaves log-probabilities as they are; larger favours longer
            outputs.

    References:
        Wu et al. 2016, https://arxiv.org/abs/1609.08144.
    """

    kind: str = "gnmt"
    alpha: float = 0.0

    def of(self, lengths: tf.Tensor) -> tf.Tensor:
        """The divisors of the log-probabilities of hypotheses.

        Args:
            lengths: int32, any shape: output tokens, END included.

        Returns:
            float32 of the same shape.
        """
        # In float64, because a vectorised float32 power differs in its last
        # bit with the index in the tensor, hence with the sentence's
        # neighbours.
        lengths = tf.cast(lengths, tf.float64)
        if self.kind == "average":
            base = tf.maximum(lengths, 1.0)
        else:
            base = (5.0 + lengths) / 6.0
        power = tf.pow(base, tf.cast(self.alpha, tf.float64))
        return tf.cast(power, tf.float32)


class Scores(NamedTuple):
    """A model's scores of given translations.

    Attributes:
        token_log_probabilities: float32 `(B, T)`, 0 at PAD.
        log_probabilities: float32 `(B,)`, their sums.
        lengths: int32 `(B,)`, tokens, END included.
        attention: float32 `(B, T, S)`, each token's attention weights of the
            source; None unless the model was asked to align.
    """

    token_log_probabilities: tf.Tensor
    log_probabilities: tf.Tensor
    lengths: tf.Tensor
    attention: tf.Tensor | None


def one_each(
    text: tf.Tensor, translation: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns both, or fails in the graph if one is longer.

    Args:
        text: string `(B,)`.
        translation: string `(B,)`. A single one would be broadcast.
    """
    counts = tf.shape(text)[0], tf.shape(translation)[0]
    asserted = tf.debugging.Assert(tf.equal(*counts), [ONE_EACH, *counts])
    with tf.control_dependencies([asserted]):
        return tf.identity(text), tf.identity(translation)


class Predicts(Protocol):
    """A model, or an ensemble of models, that scores translations."""

    def predict(
        self, source_ids: tf.Tensor, target_ids: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor | None]:
        """See `IncrementalTransformer.predict`."""


def score_translations(
    model: Predicts, source_ids: tf.Tensor, ids: tf.Tensor
) -> Scores:
    """Scores translations in one pass, every token given those before it.

    Args:
        model: such as an `IncrementalTransformer`.
        source_ids: int32 `(B, S)`.
        ids: int32 `(B, T)`, translations without START, with END, PAD after:
            as in a `SearchResult`.
    """
    # (B, T)
    inputs = tf.pad(ids[:, :-1], [[0, 0], [1, 0]], constant_values=START_ID)
    logits, attention = model.predict(source_ids, inputs)
    values = token_log_probabilities(logits, ids)  # (B, T)
    return Scores(
        token_log_probabilities=values,
        log_probabilities=tf.reduce_sum(values, axis=1),
        lengths=tf.math.count_nonzero(ids != PAD_ID, axis=1, dtype=tf.int32),
        attention=attention,
    )


def token_log_probabilities(logits: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """The log-probability of each label, from the logits of a full pass.

    Args:
        logits: `(..., V)`.
        labels: int32 `(...)`, PAD after the end.

    Returns:
        float32 `(...)`, 0 at PAD.
    """
    logits = tf.cast(logits, tf.float32)
    chosen = tf.gather(logits, labels, batch_dims=len(labels.shape))  # (...)
    values = log_probability(chosen, log_normalizer(logits))
    return tf.where(labels == PAD_ID, 0.0, values)


def replacements(
    score: Callable[[tf.Tensor, tf.Tensor], Scores],
    source_ids: tf.Tensor,
    surface: tf.Tensor,
    ids: tf.Tensor,
) -> tf.Tensor:
    """A source token for every unknown token, in one pass of the model.

    Without unknown tokens there is no pass.

    Args:
        score: `(source_ids (R, S), ids (R, T)) -> Scores` of a model that
            was asked to align.
        source_ids: int32 `(B, S)`.
        surface: string `(B, S)`, "" for tokens that aren't text.
        ids: int32 `(B, K, T)`.

    Returns:
        string `(R, T)`, "" for known tokens.
    """
    shape = tf.shape(ids)
    flat = tf.reshape(ids, [shape[0] * shape[1], shape[2]])  # (R, T)
    unknown = flat == UNK_ID

    def words():
        sources = tf.repeat(source_ids, shape[1], axis=0)  # (R, S)
        scores = score(sources, flat)
        if scores.attention is None:
            raise ValueError(
                "unknown words are replaced by what the model attends to. "
                "Accepted: a model built with align=True"
            )
        rows = tf.repeat(surface, shape[1], axis=0)  # (R, S)
        return tf.where(unknown, most_attended(scores.attention, rows), "")

    return tf.cond(
        tf.reduce_any(unknown), words, lambda: tf.fill(tf.shape(flat), "")
    )


def most_attended(attention: tf.Tensor, surface: tf.Tensor) -> tf.Tensor:
    """The source token that each output token attends to most.

    Args:
        attention: float32 `(R, T, S)`.
        surface: string `(R, S)`; "" is chosen only in rows without text.

    Returns:
        string `(R, T)`, "" in rows without text.
    """
    textual = (surface != "")[:, tf.newaxis]  # (R, 1, S)
    indices = tf.argmax(tf.where(textual, attention, -1.0), axis=2)  # (R, T)
    return tf.gather(surface, indices, batch_dims=1)
