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


def top_tokens(logits, width: int):
    """`tf.math.top_k`, several times faster for a whole vocabulary.

    The `width` best tokens stand in the `width` blocks of tokens with the
    highest peaks, and to find peaks is one pass. Where the vocabulary can't
    be cut into equal blocks, it is `top_k` itself.

    Args:
        logits: `(B, K, V)`.
        width: tokens wanted, at most V.

    Returns:
        values `(B, K, width)`, the highest first, and ids int32 of the same
        shape; among equals the lowest id first.
    """
    size = logits.shape[-1]
    block = _block_size(size, width) if isinstance(width, int) else None
    if block is None:
        return tf.math.top_k(logits, width)
    rows = tf.shape(logits)[0]
    beams = logits.shape[1]
    blocks = tf.reshape(logits, [rows, beams, size // block, block])
    _, chosen = tf.math.top_k(tf.reduce_max(blocks, axis=-1), width)
    chosen = tf.sort(chosen)  # by id, for equals to stay in its order
    candidates = tf.gather(blocks, chosen, batch_dims=2)
    values, places = tf.math.top_k(
        tf.reshape(candidates, [rows, beams, width * block]), width
    )
    tokens = tf.gather(chosen, places // block, batch_dims=2) * block
    return values, tokens + places % block


def _block_size(size, width):
    """A divisor of the vocabulary near 32 that leaves enough blocks."""
    divisors = [
        block
        for block in range(16, 65)
        if size and size % block == 0 and size // block >= 2 * width
    ]
    return min(divisors, key=lambda block: abs(block - 32), default=None)
