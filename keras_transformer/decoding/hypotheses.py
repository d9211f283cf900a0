"""What a search returns, and how long and how good a hypothesis may be.

Axis letters in this folder: `B` sentences, `K` beams, `C` candidates,
`T` output tokens, `V` target vocabulary.
"""

from typing import NamedTuple

import tensorflow as tf

from keras_transformer.config import DecodingConfig


class SearchResult(NamedTuple):
    """Translations as ids, the best first.

    Finished hypotheses come before unfinished ones, each group by falling
    score. Where a sentence has fewer hypotheses than were asked for, the rows
    left over have length 0 and score minus infinity.

    Attributes:
        ids: int32 `(B, K, T)`, without START, END included where it was
            generated, PAD after.
        lengths: int32 `(B, K)`, tokens in `ids`, END included.
        scores: float32 `(B, K)`, `log_probabilities` divided by
            `length_penalty`.
        log_probabilities: float32 `(B, K)`, of the whole hypothesis.
        finished: bool `(B, K)`, whether it ends with END. False: it reached
            its limit first.
    """

    ids: tf.Tensor
    lengths: tf.Tensor
    scores: tf.Tensor
    log_probabilities: tf.Tensor
    finished: tf.Tensor


def length_penalty(lengths, alpha: float):
    """What the log-probability of a hypothesis is divided by.

    Args:
        lengths: int32, any shape: output tokens, END included.
        alpha: 0 leaves every score as it is; larger favours longer outputs.

    Returns:
        float32 of the same shape: `((5 + length) / 6) ** alpha`.

    References:
        Wu et al. 2016, https://arxiv.org/abs/1609.08144, equation 14.
    """
    # In float64, because a vectorised float32 power differs in its last bit
    # with the place in the tensor, hence with the sentence's neighbours.
    base = (5.0 + tf.cast(lengths, tf.float64)) / 6.0
    return tf.cast(tf.pow(base, tf.cast(alpha, tf.float64)), tf.float32)


def output_limits(source_lengths, config: DecodingConfig, model_max_length):
    """How many tokens each sentence may generate, END included.

    A function of the sentence's own length only, so that its translation
    doesn't depend on its neighbours. An empty source gets 0.

    Args:
        source_lengths: int32 `(B,)`, source tokens without START and END.
        config: gives the ratio and the offset.
        model_max_length: int, the positions that the model has.

    Returns:
        int32 `(B,)`.
    """
    scaled = config.max_length_ratio * tf.cast(source_lengths, tf.float64)
    allowed = tf.cast(tf.floor(scaled), tf.int32) + config.max_length_offset
    allowed = tf.clip_by_value(allowed, 1, model_max_length - 1)
    return tf.where(source_lengths > 0, allowed, 0)
