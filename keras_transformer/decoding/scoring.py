"""The log-probability that a model gives to a translation."""

import tensorflow as tf

from keras_transformer.constants import PAD_ID, START_ID
from keras_transformer.decoding.loop import same_shapes, write_tokens
from keras_transformer.decoding.probabilities import (
    log_normalizer,
    log_probability,
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


def step_log_probabilities(start, step, source_ids, ids):
    """The same step by step, through the functions that drive a search.

    Args:
        start: `(source_ids, beam_size, max_steps) -> cache`.
        step: `(ids, cache, index) -> (logits, cache)`.
        source_ids: int32 `(B, S)`.
        ids: int32 `(B, K, T)`, translations without START, with END, PAD
            after: as in a `SearchResult`.

    Returns:
        float32 `(B, K, T)`, 0 at PAD.
    """
    max_steps = tf.shape(ids)[2]
    cache = start(source_ids, ids.shape[1], max_steps)
    inputs = tf.concat(
        [tf.fill(tf.shape(ids[:, :, :1]), START_ID), ids[:, :, :-1]], axis=2
    )

    def advance(index, values, beams):
        logits, stepped = step(
            inputs[:, :, index], cache._replace(beams=beams), index
        )
        gains = token_log_probabilities(logits, ids[:, :, index])
        return (
            index + 1,
            write_tokens(values, gains, index),
            same_shapes(stepped.beams, beams),
        )

    _, values, _ = tf.while_loop(
        lambda index, values, beams: index < max_steps,
        advance,
        (tf.constant(0), tf.zeros_like(ids, tf.float32), cache.beams),
        parallel_iterations=1,
    )
    return values
