"""Scores of translations, and the log-probabilities that they are made of.

From the logits of a step come log-probabilities of tokens; their sum is the
log-probability of a hypothesis, with the repetition penalty the penalised
log-probability; divided by the length penalty, less the coverage penalty, it
is the score by which hypotheses are ranked.

Axes: B sentences, T output tokens, S source tokens, V vocabulary.
"""

import dataclasses
from typing import Any, NamedTuple

import tensorflow as tf

from keras_transformer.constants import PAD_ID, START_ID

# Why as many translations as texts are scored; both counts follow.
ONE_EACH = (
    "score takes one translation for each text. Received texts and "
    "translations:"
)


def log_normalizer(logits):
    """Log of the sum of the exponentials: `(..., V)` to float32 `(...)`.

    `logit - log_normalizer` is the log-softmax, without a second tensor the
    size of the vocabulary.
    """
    return tf.reduce_logsumexp(tf.cast(logits, tf.float32), axis=-1)


def log_probability(logits, log_z):
    """`logits - log_z`, kept at 0 or below against rounding.

    Sums of these can then only fall, on which the searches' stopping rule
    relies.
    """
    return tf.minimum(logits - log_z, 0.0)


@dataclasses.dataclass(frozen=True)
class ScorePenalties:
    """What makes a score of the log-probability of a hypothesis.

    Attributes:
        kind: of the length penalty, "gnmt" or "average", see
            `length_penalty`.
        alpha: its exponent; 0 leaves log-probabilities as they are, larger
            favours longer outputs.
        coverage: weight of `coverage_penalty`; 0: none.
    """

    kind: str = "gnmt"
    alpha: float = 0.0
    coverage: float = 0.0


def hypothesis_scores(
    log_probabilities, lengths, penalties: ScorePenalties, coverage=None
):
    """The scores of hypotheses.

    Args:
        log_probabilities: float32, any shape, penalised or not.
        lengths: int32 of the same shape: output tokens, END included.
        penalties: of length and coverage.
        coverage: float32 of that shape and an axis more, S: attention that
            each source token received; None: no coverage penalty.

    Returns:
        float32 of that shape.
    """
    scores = log_probabilities / length_penalty(
        lengths, penalties.alpha, penalties.kind
    )
    if coverage is not None:
        scores -= penalties.coverage * coverage_penalty(coverage)
    return scores


def length_penalty(lengths, alpha: float, kind: str = "gnmt"):
    """What the log-probability of a hypothesis is divided by.

    Args:
        lengths: int32, any shape: output tokens, END included.
        alpha: 0 leaves every score as it is; larger favours longer outputs.
        kind: "gnmt": `((5 + length) / 6) ** alpha` (Wu et al. 2016, equation
            14); "average": `length ** alpha`, with alpha 1 the mean of the
            tokens' log-probabilities.

    Returns:
        float32 of the same shape.

    References:
        Wu et al. 2016, https://arxiv.org/abs/1609.08144.
    """
    # In float64, because a vectorised float32 power differs in its last bit
    # with the index in the tensor, hence with the sentence's neighbours.
    lengths = tf.cast(lengths, tf.float64)
    if kind == "average":
        base = tf.maximum(lengths, 1.0)
    else:
        base = (5.0 + lengths) / 6.0
    return tf.cast(tf.pow(base, tf.cast(alpha, tf.float64)), tf.float32)


def coverage_penalty(coverage):
    """How much of the source was left out: 0 if nothing.

    Args:
        coverage: float32 `(..., S)`, the attention that each source token
            received in all, 1 or more at padding.

    Returns:
        float32 `(...)`: minus the sum of `log(min(coverage, 1))`.

    References:
        Wu et al. 2016, equation 14.
    """
    # A token that was never attended to would cost infinitely much.
    clipped = tf.clip_by_value(coverage, 1e-6, 1.0)
    return -tf.reduce_sum(tf.math.log(clipped), axis=-1)


class Scores(NamedTuple):
    """What a model says of given translations.

    Attributes:
        token_log_probabilities: float32 `(B, T)`, 0 at PAD.
        log_probabilities: float32 `(B,)`, their sums.
        lengths: int32 `(B,)`, tokens, END included.
        attention: float32 `(B, T, S)`, each token's attention weights of the
            source; None unless the model was asked to align.
    """

    token_log_probabilities: Any
    log_probabilities: Any
    lengths: Any
    attention: Any


def one_each(text, translation):
    """Both as they are, refused in the graph if one is longer.

    Args:
        text: string `(B,)`.
        translation: string `(B,)`. One alone would be broadcast.
    """
    counts = tf.shape(text)[0], tf.shape(translation)[0]
    asserted = tf.debugging.Assert(tf.equal(*counts), [ONE_EACH, *counts])
    with tf.control_dependencies([asserted]):
        return tf.identity(text), tf.identity(translation)


def score_translations(model, source_ids, ids) -> Scores:
    """Scores translations in one pass, every token given those before it.

    Args:
        model: an `IncrementalTransformer`.
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


def token_log_probabilities(logits, labels):
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
