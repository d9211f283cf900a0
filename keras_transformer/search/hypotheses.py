"""What a search returns, and how long and how good a hypothesis may be.

Axis letters in this folder: `B` sentences, `K` beams, `C` candidates,
`T` output tokens, `S` source tokens, `V` target vocabulary.
"""

import dataclasses
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
        scores: float32 `(B, K)`, what the hypotheses were ranked by: see
            `score`.
        log_probabilities: float32 `(B, K)`, of the whole hypothesis, as the
            model gives it.
        finished: bool `(B, K)`, whether it ends with END. False: it reached
            its limit first.
    """

    ids: tf.Tensor
    lengths: tf.Tensor
    scores: tf.Tensor
    log_probabilities: tf.Tensor
    finished: tf.Tensor


@dataclasses.dataclass(frozen=True)
class Normalization:
    """From the log-probability of a hypothesis to its score.

    Attributes:
        kind: "gnmt" or "average", see `length_penalty`.
        alpha: exponent; 0 leaves log-probabilities as they are, larger
            favours longer outputs.
        coverage: weight of `coverage_penalty`; 0: none.
    """

    kind: str = "gnmt"
    alpha: float = 0.0
    coverage: float = 0.0


def score(values, lengths, normalization: Normalization, coverage=None):
    """The scores of hypotheses.

    Args:
        values: float32, any shape: log-probabilities.
        lengths: int32 of the same shape: output tokens, END included.
        normalization: how.
        coverage: float32 of that shape and an axis more, S: attention that
            each source token received; None: no coverage penalty.

    Returns:
        float32 of that shape.
    """
    scores = values / length_penalty(
        lengths, normalization.alpha, normalization.kind
    )
    if coverage is not None:
        scores -= normalization.coverage * coverage_penalty(coverage)
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
    # with the place in the tensor, hence with the sentence's neighbours.
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
    # A token that no one looked at would cost infinitely much.
    shares = tf.clip_by_value(coverage, 1e-6, 1.0)
    return -tf.reduce_sum(tf.math.log(shares), axis=-1)


def output_limits(source_lengths, config: DecodingConfig, model_max_length):
    """How many tokens each sentence may generate, END included.

    A function of the sentence's own length only, so that its translation
    doesn't depend on its neighbours. An empty source gets 0.

    Args:
        source_lengths: int32 `(B,)`, source tokens without START and END.
        config: gives ratio, offset and maximum.
        model_max_length: int, the positions that the model has.

    Returns:
        int32 `(B,)`.
    """
    most = model_max_length - 1
    if config.max_length is not None:
        most = min(most, config.max_length)
    scaled = config.max_length_ratio * tf.cast(source_lengths, tf.float64)
    # Before an integer would overflow.
    scaled = tf.minimum(scaled, tf.cast(most, tf.float64))
    allowed = tf.cast(tf.floor(scaled), tf.int32)
    allowed += min(config.max_length_offset, most)
    allowed = tf.clip_by_value(allowed, 1, most)
    return tf.where(source_lengths > 0, allowed, 0)


def output_minimums(source_lengths, config: DecodingConfig):
    """How many tokens come before END may; `()` where none need to.

    Args:
        source_lengths: int32 `(B,)`, source tokens without START and END.
        config: gives minimum and ratio; the larger of both holds.

    Returns:
        int32 `(B,)`, or `()`.
    """
    if not config.min_length and not config.min_length_ratio:
        return ()
    scaled = config.min_length_ratio * tf.cast(source_lengths, tf.float64)
    return tf.maximum(tf.cast(tf.floor(scaled), tf.int32), config.min_length)
