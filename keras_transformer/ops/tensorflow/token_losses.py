"""Token losses with a gradient of few passes, and `argmax` for metrics.

Axes: B batch, T positions, V vocabulary.
"""

import tensorflow as tf


def smoothed_nll(
    labels: tf.Tensor,
    logits: tf.Tensor,
    from_label: float,
    to_all: float,
    padding_id: int,
) -> tf.Tensor:
    """The smoothed loss with a gradient of three passes.

    TensorFlow's operation for the negative log-probability gives its gradient
    along; what differentiation would build for the rest is as large again,
    three times.
    """
    shape = tf.shape(labels)
    labels, flat = _flat(labels, logits)
    nll, difference = _nll(labels, flat)
    indices = tf.stack([tf.range(tf.size(labels)), labels], axis=1)
    others = tf.cast(tf.range(flat.shape[-1]) != padding_id, tf.float32)

    @tf.custom_gradient
    def loss(flat):
        true = tf.gather_nd(flat, indices)
        pulled = from_label * true - to_all * tf.linalg.matvec(flat, others)

        def gradient(upstream):
            smoothed = (difference - to_all * others) * upstream[:, tf.newaxis]
            return tf.tensor_scatter_nd_add(
                smoothed, indices, from_label * upstream
            )

        return nll + pulled, gradient

    return tf.reshape(loss(flat), shape)


def token_nll(labels: tf.Tensor, logits: tf.Tensor) -> tf.Tensor:
    """The loss without smoothing, computed once where loss and metrics ask.

    TensorFlow merges operations of a graph that are equal, inputs included.
    """
    return tf.reshape(_nll(*_flat(labels, logits))[0], tf.shape(labels))


def argmax(logits: tf.Tensor) -> tf.Tensor:
    """Keras' own tells 0 from -0, for which it makes two copies of all."""
    return tf.argmax(logits, axis=-1, output_type=tf.int32)


def _flat(labels, logits):
    """int32 `(B * T,)` and float32 `(B * T, V)`."""
    return (
        tf.reshape(tf.cast(labels, tf.int32), [-1]),
        tf.reshape(tf.cast(logits, tf.float32), [-1, logits.shape[-1]]),
    )


def _nll(labels, flat):
    """The negative log-probabilities and their gradient by the logits."""
    return tf.raw_ops.SparseSoftmaxCrossEntropyWithLogits(
        features=flat, labels=labels
    )
