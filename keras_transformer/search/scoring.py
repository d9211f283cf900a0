"""The log-probability that a model gives to a translation."""

from typing import Any, NamedTuple

import tensorflow as tf

from keras_transformer.constants import PAD_ID, START_ID
from keras_transformer.search.probabilities import (
    log_normalizer,
    log_probability,
)


class Scores(NamedTuple):
    """What a model says of given translations.

    Attributes:
        token_log_probabilities: float32 `(B, T)`, 0 at PAD.
        log_probabilities: float32 `(B,)`, their sums.
        lengths: int32 `(B,)`, tokens, END included.
        attention: float32 `(B, T, S)`, shares of the source that each token
            attended to; None unless the model was asked to align.
    """

    token_log_probabilities: Any
    log_probabilities: Any
    lengths: Any
    attention: Any


def score_translations(model, source_ids, ids) -> Scores:
    """Scores translations in one pass, every token given those before it.

    Args:
        model: an `IncrementalTransformer`.
        source_ids: int32 `(B, S)`.
        ids: int32 `(B, T)`, translations without START, with END, PAD after:
            as in a `SearchResult`.
    """
    inputs = tf.pad(ids[:, :-1], [[0, 0], [1, 0]], constant_values=START_ID)
    logits, attention = model.predict(source_ids, inputs)
    values = token_log_probabilities(logits, ids)
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
    chosen = tf.gather(logits, labels, batch_dims=len(labels.shape))
    values = log_probability(chosen, log_normalizer(logits))
    return tf.where(labels == PAD_ID, 0.0, values)
