"""Token losses with a gradient of few passes, and `argmax` for metrics.

TensorFlow's own operation for the negative log-probability takes nine times
as long as a softmax of the same logits, which oneDNN vectorizes, and with
10,000 tokens a third of a training step. So everything here is computed from
the softmax.

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
    """The smoothed loss with a gradient of three passes."""
    others = tf.cast(tf.range(logits.shape[-1]) != padding_id, tf.float32)
    return _loss(labels, logits, from_label, to_all * others)


def token_nll(labels: tf.Tensor, logits: tf.Tensor) -> tf.Tensor:
    """The loss without smoothing, computed once for loss and metrics.

    TensorFlow merges equal operations of a graph that have the same inputs.
    """
    return _loss(labels, logits)


def argmax(logits: tf.Tensor) -> tf.Tensor:
    """The index of the best token, without the two copies that Keras makes.

    Keras' own `argmax` makes them to distinguish 0 from -0.
    """
    best = tf.argmax(_flat(logits), axis=-1, output_type=tf.int32)
    return tf.reshape(best, tf.shape(logits)[:-1])


def _loss(labels, logits, from_label=0.0, to_others=None):
    """Both losses; `to_others`, float32 `(V,)`, has each token's share.

    The softmax is captured by the function with the custom gradient, not
    computed in it. So it has no other gradient, and is merged with the softmax
    of other losses of the same logits.
    """
    shape = tf.shape(labels)
    labels = tf.reshape(tf.cast(labels, tf.int32), [-1])  # (B * T,)
    best = tf.reshape(argmax(logits), [-1])  # (B * T,)
    flat = _flat(logits)
    probabilities = tf.nn.softmax(flat)
    # A label's probability may be 0 in float32, the best token's can't.
    log_best = tf.math.log(_pick(probabilities, best))
    log_denominator = _pick(flat, best) - log_best

    @tf.custom_gradient
    def loss(flat):
        nll = log_denominator - (1 - from_label) * _pick(flat, labels)
        if to_others is not None:
            nll -= tf.linalg.matvec(flat, to_others)

        def gradient(upstream):
            spread = probabilities
            if to_others is not None:
                spread -= to_others
            return tf.tensor_scatter_nd_add(
                spread * upstream[:, tf.newaxis],
                _indices(labels),
                (from_label - 1) * upstream,
            )

        return nll, gradient

    return tf.reshape(loss(flat), shape)  # (B, T)


def _flat(logits):
    """float32 `(N, V)` from logits `(..., V)`, merged between its callers."""
    flat = tf.reshape(logits, [-1, logits.shape[-1]])  # (N, V)
    return tf.cast(flat, tf.float32)


def _pick(rows, columns):
    """From each row `(N, V)` the number of its column, `(N,)`."""
    return tf.gather_nd(rows, _indices(columns))  # (N,)


def _indices(columns):
    """Row and column of each row's column, int32 `(N, 2)`."""
    return tf.stack([tf.range(tf.size(columns)), columns], axis=1)
