"""Dropout from few random bits, which keeps little for the gradient."""

import tensorflow as tf


def dropout(inputs, rate: float, seed):
    """Zeros in a share of the places, the others scaled up.

    TensorFlow's own dropout draws a float of 32 bits for each number, this
    one 8 bits. So that the rate is exact all the same, the share of a call is
    drawn too: one of the two multiples of 1/256 beside `rate`, which is its
    mean.

    Args:
        inputs: float of any shape.
        rate: above 0, at most 255/256.
        seed: int `(2,)`.

    Returns:
        as `inputs`; the mean is that of `inputs`.
    """
    factor = _dropout_factor(inputs, rate, seed)

    @tf.custom_gradient
    def apply(x):
        return x * factor(), lambda upstream: upstream * factor(upstream)

    return apply(inputs)


def dropout_matmul(inputs, other, rate: float, seed):
    """The matrix product of `dropout(inputs)` and `other`.

    For the gradient it keeps the inputs, which a softmax before it keeps as
    well, and no copy of what is left of them.

    Args:
        inputs: float `(..., M, K)`.
        other: float `(..., K, N)`.
        rate, seed: as of `dropout`.

    Returns:
        float `(..., M, N)`.
    """
    factor = _dropout_factor(inputs, rate, seed)

    @tf.custom_gradient
    def apply(x, y):
        def gradient(upstream):
            again = factor(upstream)
            return (
                tf.matmul(upstream, y, transpose_b=True) * again,
                tf.matmul(x * again, upstream, transpose_a=True),
            )

        return tf.matmul(x * factor(), y), gradient

    return apply(inputs, other)


def _dropout_factor(inputs, rate, seed):
    """A function that makes what dropout multiplies by.

    Between its calls a byte a number is kept. What is to be made after
    another tensor is there is its argument: TensorFlow merges equal
    operations, and would keep the factor itself.
    """
    keep, scale = _kept(inputs, rate, seed)

    def factor(*after):
        with tf.control_dependencies(after):
            return tf.cast(keep, inputs.dtype) * scale

    return factor


def relu_dropout(inputs, rate: float, seed):
    """`dropout` of the rectified inputs, whose gradient needs the result only.

    Arguments and result as `dropout`.
    """
    keep, scale = _kept(inputs, rate, seed)

    @tf.custom_gradient
    def apply(x):
        result = tf.nn.relu(x) * (tf.cast(keep, x.dtype) * scale)

        def gradient(upstream):
            # Above 0 where the input was, and was kept.
            passed = tf.raw_ops.ReluGrad(gradients=upstream, features=result)
            return passed * scale

        return result, gradient

    return apply(inputs)


def _kept(inputs, rate, seed):
    """Which places are kept, bool, and what they are scaled by, `(1,)`."""
    key, counter = tf.raw_ops.StatelessRandomGetKeyCounter(seed=seed)
    low, rest = divmod(rate * 2**8, 1)
    # The key, itself random, decides between the two shares.
    more = key < tf.constant(int(rest * 2**64), tf.uint64)

    def by_share(function, dtype):
        shares = min(low + 1, 255), low
        return tf.where(
            more, *(tf.constant(function(s), dtype) for s in shares)
        )

    keep = _random_bytes(inputs, key, counter) >= by_share(int, tf.uint8)
    return keep, by_share(lambda share: 256 / (256 - share), inputs.dtype)


def _random_bytes(inputs, key, counter):
    """Random numbers in the shape of `inputs`, uint8."""
    shape, size = tf.shape(inputs), tf.size(inputs)
    # Of a last axis of whole words, none has to be cut off.
    whole = (inputs.shape[-1] or 1) % 8 == 0
    words = tf.raw_ops.StatelessRandomUniformFullIntV2(
        shape=tf.expand_dims(size if whole else size + 7, 0) // 8,
        key=key,
        counter=counter,
        alg=tf.random.Algorithm.PHILOX.value,
        dtype=tf.uint64,
    )
    found = tf.bitcast(words, tf.uint8)
    if not whole:
        found = tf.reshape(found, [-1])[:size]
    return tf.reshape(found, shape)
