"""From the logits of one step to log-probabilities of its tokens."""

import tensorflow as tf

from keras_transformer.constants import PAD_ID, START_ID

NEVER_GENERATED = (PAD_ID, START_ID)


def log_normalizer(logits):
    """Log of the sum of the exponentials: `(..., V)` to float32 `(...)`.

    `logit - log_normalizer` is the log-softmax, without a second tensor the
    size of the vocabulary.
    """
    return tf.reduce_logsumexp(tf.cast(logits, tf.float32), axis=-1)


def without_banned(logits):
    """float32 logits with minus infinity where no search may go.

    The unknown token stays allowed: the model was trained to say it. What is
    banned keeps its share of the probability, so that scores are those of
    the model as trained.
    """
    positions = tf.range(tf.shape(logits)[-1])
    banned = tf.zeros_like(positions, tf.bool)
    for token in NEVER_GENERATED:
        banned |= positions == token
    return tf.where(banned, -float("inf"), tf.cast(logits, tf.float32))


def log_probability(logits, normalizer):
    """`logits - normalizer`, kept at 0 or below against rounding.

    Sums of these can then only fall, on which the searches' stopping rule
    relies.
    """
    return tf.minimum(logits - normalizer, 0.0)
