"""R-Drop: two passes of the same batch should predict the same.

Axes: B batch, T target positions, V vocabulary.
"""

from keras import ops

from keras_transformer.constants import PAD_ID


def twice(tensor):
    """The rows of a tensor `(B, ...)`, and the same once more `(2B, ...)`."""
    return ops.concatenate([tensor, tensor], axis=0)


def symmetric_divergence(labels, logits, sample_weight=None):
    """How far the predictions of two passes are apart, per real token.

    The mean of both Kullback-Leibler divergences,
    `(KL(P || Q) + KL(Q || P)) / 2 = sum((P - Q) (log P - log Q)) / 2`.

    Args:
        labels: int `(B, T)`; padding doesn't count.
        logits: float `(2B, T, V)`, the first pass above the second.
        sample_weight: optional float, `(B,)`, or broadcasts to `(B, T)`.

    Returns:
        float32 scalar, in nats per token.

    Reference: Liang et al. 2021, "R-Drop", equation 2.
    """
    first, second = ops.split(ops.cast(logits, "float32"), 2, axis=0)
    # Logits are log-probabilities but for a constant in each position, which
    # sum(P - Q) = 0 takes away.
    apart = ops.softmax(first, axis=-1) - ops.softmax(second, axis=-1)
    divergence = ops.sum(apart * (first - second), axis=-1) / 2  # (B, T)
    weights = ops.cast(ops.not_equal(labels, PAD_ID), "float32")
    if sample_weight is not None:
        sample_weight = ops.cast(sample_weight, "float32")
        if len(sample_weight.shape) == 1:  # a weight for each sentence
            sample_weight = ops.expand_dims(sample_weight, axis=1)
        weights = weights * sample_weight
    total = ops.sum(divergence * weights)
    return ops.divide_no_nan(total, ops.sum(weights))
