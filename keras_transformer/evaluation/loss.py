"""How well a model predicts references: cross-entropy per target token."""

import tensorflow as tf

from keras_transformer.constants import PAD_ID
from keras_transformer.errors import InputError


def cross_entropy(model, dataset) -> tuple[float, int]:
    """The mean over all target tokens, END counted, PAD not, unsmoothed.

    Sums and counts are added in float64, so the result depends neither on
    the batches nor on their padding.

    Args:
        model: `({"source_ids", "target_ids"}, training=False) -> logits
            (B, T, V)`.
        dataset: yields `({"source_ids": int32 (B, S), "target_ids": int32
            (B, T)}, labels int32 (B, T))`.

    Returns:
        Nats a target token, and the number of target tokens.

    Raises:
        InputError: the dataset holds no target token.
    """
    ids = tf.TensorSpec([None, None], tf.int32)

    @tf.function(input_signature=[{"source_ids": ids, "target_ids": ids}, ids])
    def of_batch(features, labels):
        return batch_cross_entropy(model(features, training=False), labels)

    total, count = 0.0, 0
    for features, labels in dataset:
        batch_total, batch_count = of_batch(features, labels)
        total += float(batch_total)
        count += int(batch_count)
    if not count:
        raise InputError("nothing to evaluate. Received: 0 target tokens")
    return total / count, count


def batch_cross_entropy(logits, labels):
    """The sum over a batch, and how many tokens it is of.

    Args:
        logits: `(B, T, V)`.
        labels: int32 `(B, T)`, END included, PAD after.

    Returns:
        float64 scalar, in nats, and int64 scalar.
    """
    real = labels != PAD_ID
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels, tf.cast(logits, tf.float32)
    )
    losses = tf.where(real, tf.cast(losses, tf.float64), 0.0)
    return tf.reduce_sum(losses), tf.math.count_nonzero(real)
