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

    Drawn again each time: nothing is kept between its calls. What it is to
    be drawn after is its argument, as TensorFlow merges equal operations and
    would keep their result.
    """
    keep, scale = _keep(inputs, rate, seed)

    def factor(*after):
        return tf.cast(keep(*after), inputs.dtype) * scale

    return factor


def relu_dropout(inputs, rate: float, seed):
    """`dropout` of the rectified inputs, whose gradient needs the result only.

    Arguments and result as `dropout`.
    """
    keep, scale = _keep(inputs, rate, seed)

    @tf.custom_gradient
    def apply(x):
        result = tf.nn.relu(x) * (tf.cast(keep(), x.dtype) * scale)

        def gradient(upstream):
            # Above 0 where the input was, and was kept.
            passed = tf.raw_ops.ReluGrad(gradients=upstream, features=result)
            return passed * scale

        return result, gradient

    return apply(inputs)


def _keep(inputs, rate, seed):
    """A function that draws which places are kept, and their scale, `(1,)`.

    The function gives bool in the shape of `inputs`, the same each time, and
    draws after the tensors that it is given.
    """
    key, counter = tf.raw_ops.StatelessRandomGetKeyCounter(seed=seed)
    low, rest = divmod(rate * 2**8, 1)
    # The key, itself random, decides between the two shares.
    more = key < tf.constant(int(rest * 2**64), tf.uint64)

    def by_share(function, dtype):
        values = function(min(low + 1, 255)), function(low)
        return tf.where(more, *(tf.constant(v, dtype) for v in values))

    share = by_share(int, tf.uint8)
    shape, size = tf.shape(inputs), tf.size(inputs)
    # Of a last axis of whole words, none has to be cut off.
    whole = (inputs.shape[-1] or 1) % 8 == 0
    words = tf.expand_dims(size if whole else size + 7, 0) // 8

    def keep(*after):
        with tf.control_dependencies(after):
            drawn = tf.raw_ops.StatelessRandomUniformFullIntV2(
                shape=words,
                key=key,
                counter=counter,
                alg=tf.random.Algorithm.PHILOX.value,
                dtype=tf.uint64,
            )
        found = tf.bitcast(drawn, tf.uint8)
        if not whole:
            found = tf.reshape(found, [-1])[:size]
        return tf.reshape(found, shape) >= share

    return keep, by_share(lambda share: 256 / (256 - share), inputs.dtype)
