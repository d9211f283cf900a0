"""From the logits of one step to log-probabilities of its tokens."""

import tensorflow as tf


def log_normalizer(logits):
    """Log of the sum of the exponentials: `(..., V)` to float32 `(...)`.

    `logit - log_normalizer` is the log-softmax, without a second tensor the
    size of the vocabulary.
    """
    return tf.reduce_logsumexp(tf.cast(logits, tf.float32), axis=-1)


def log_probability(logits, normalizer):
    """`logits - normalizer`, kept at 0 or below against rounding.

    Sums of these can then only fall, on which the searches' stopping rule
    relies.
    """
    return tf.minimum(logits - normalizer, 0.0)
