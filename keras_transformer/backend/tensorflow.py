"""Operations of a training step that TensorFlow has faster ways for.

Axes: B batch, T positions, V vocabulary.
"""

import tensorflow as tf


def dropout(inputs, threshold: int, seed):
    """Zeros in `threshold` of 65,536 places, the others scaled up.

    TensorFlow's own dropout draws a float of 32 bits for each number, this
    one 16 bits.

    Args:
        inputs: float of any shape.
        threshold: above 0 and below 65,536.
        seed: int `(2,)`.

    Returns:
        as `inputs`; the mean is that of `inputs`.
    """
    keep = _random_bits(tf.shape(inputs), seed) >= tf.constant(
        threshold, tf.uint16
    )
    scale = tf.constant(2**16 / (2**16 - threshold), inputs.dtype)
    return tf.where(keep, inputs * scale, tf.zeros([], inputs.dtype))


def _random_bits(shape, seed):
    """uint16 of that shape, each value as probable as any other."""
    size = tf.reduce_prod(shape)
    key, counter = tf.raw_ops.StatelessRandomGetKeyCounter(seed=seed)
    bits = tf.raw_ops.StatelessRandomUniformFullIntV2(
        shape=[(size + 3) // 4],
        key=key,
        counter=counter,
        alg=tf.random.Algorithm.PHILOX.value,
        dtype=tf.uint64,
    )
    bits = tf.reshape(tf.bitcast(bits, tf.uint16), [-1])
    return tf.reshape(bits[:size], shape)


def smoothed_nll(labels, logits, from_label, to_all, padding_id):
    """`training.loss.smoothed_nll` with a gradient of three passes.

    TensorFlow's operation for the negative log-probability gives its gradient
    along; what differentiation would build for the rest is as large again,
    three times.
    """
    shape = tf.shape(logits)
    size = logits.shape[-1]
    labels = tf.reshape(labels, [-1])
    places = tf.stack([tf.range(tf.size(labels)), labels], axis=1)
    others = tf.cast(tf.range(size) != padding_id, tf.float32)

    @tf.custom_gradient
    def loss(flat):
        nll, difference = tf.raw_ops.SparseSoftmaxCrossEntropyWithLogits(
            features=flat, labels=labels
        )
        true = tf.gather_nd(flat, places)
        pulled = from_label * true - to_all * tf.linalg.matvec(flat, others)

        def gradient(upstream):
            found = (difference - to_all * others) * upstream[:, tf.newaxis]
            return tf.tensor_scatter_nd_add(
                found, places, from_label * upstream
            )

        return nll + pulled, gradient

    return tf.reshape(loss(tf.reshape(logits, [-1, size])), shape[:-1])


def adam_update(
    variable,
    momentum,
    velocity,
    gradient,
    learning_rate,
    iterations,
    beta_1,
    beta_2,
    epsilon,
):
    """Adam's update of a `tf.Variable` and its slots, in one operation."""
    dtype = variable.dtype
    step = tf.cast(iterations + 1, dtype)
    beta_1, beta_2 = tf.cast(beta_1, dtype), tf.cast(beta_2, dtype)
    tf.raw_ops.ResourceApplyAdam(
        var=variable.handle,
        m=momentum.handle,
        v=velocity.handle,
        beta1_power=beta_1**step,
        beta2_power=beta_2**step,
        lr=tf.cast(learning_rate, dtype),
        beta1=beta_1,
        beta2=beta_2,
        epsilon=tf.cast(epsilon, dtype),
        grad=tf.cast(gradient, dtype),
    )
