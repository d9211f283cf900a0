"""Dropout from few random bits, which keeps little for the gradient."""

from __future__ import annotations

from types import NotImplementedType
from typing import TYPE_CHECKING

import tensorflow as tf

if TYPE_CHECKING:
    import keras


_MAX_RATE = 255 / 256


def dropout(
    inputs: tf.Tensor, rate: float, seed_generator: keras.random.SeedGenerator
) -> tf.Tensor | NotImplementedType:
    """Dropout from 8 random bits for each number.

    TensorFlow's own draws a float of 32 bits for each, which takes a fifth of
    a training step on a processor. With 8 bits the fraction that a call drops
    is a multiple of 1/256: one of the two next to `rate`, drawn for each call
    so that each number is dropped with the probability `rate`. Kept numbers
    are scaled by the call's own fraction, so that the mean stays the same.
    """
    if rate > _MAX_RATE:
        return NotImplemented
    factor = _dropout_factor(inputs, rate, seed_generator)

    @tf.custom_gradient
    def apply(x):
        return x * factor(), lambda upstream: upstream * factor(upstream)

    return apply(inputs)


def dropout_matmul(
    inputs: tf.Tensor,
    other: tf.Tensor,
    rate: float,
    seed_generator: keras.random.SeedGenerator,
) -> tf.Tensor | NotImplementedType:
    """The product of `dropout(inputs)` and `other`, without keeping a copy.

    The gradient needs the inputs, which a softmax before this keeps anyway. It
    doesn't sum over broadcast axes, so that batch axes have to be equal.
    """
    if rate > _MAX_RATE or inputs.shape[:-2] != other.shape[:-2]:
        return NotImplemented
    factor = _dropout_factor(inputs, rate, seed_generator)

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


def _dropout_factor(inputs, rate, seed_generator):
    """A function that returns the factors of dropout.

    Each call draws the same factors again, so that nothing is kept between
    calls. Its arguments are tensors to draw after: without them TensorFlow
    would merge the equal operations and keep their result.
    """
    keep, scale = _keep(inputs, rate, seed_generator)

    return lambda *after: _scaled(keep(*after), scale)


def relu_dropout(
    inputs: tf.Tensor, rate: float, seed_generator: keras.random.SeedGenerator
) -> tf.Tensor | NotImplementedType:
    """Dropout of the rectified inputs; its gradient needs only the result."""
    if rate > _MAX_RATE:
        return NotImplemented
    keep, scale = _keep(inputs, rate, seed_generator)

    @tf.custom_gradient
    def apply(x):
        result = tf.nn.relu(x) * _scaled(keep(), scale)

        def gradient(upstream):
            # The result is above 0 where the input was, and was kept.
            passed = tf.raw_ops.ReluGrad(gradients=upstream, features=result)
            return passed * scale

        return result, gradient

    return apply(inputs)


def _scaled(kept, scale):
    """The scale where a number is kept, 0 elsewhere; `scale` is `(1,)`."""
    if scale.dtype != tf.bfloat16:
        return tf.cast(kept, scale.dtype) * scale
    # Selection takes half the time, as a processor has to convert bfloat16 to
    # multiply it; in float16 selection takes nine times as long.
    return tf.where(kept, scale[0], tf.zeros((), scale.dtype))


def _keep(inputs, rate, seed_generator):
    """A function that draws the numbers to keep, and their scale `(1,)`.

    The function returns bool in the shape of `inputs`, the same each time, and
    draws after the tensors that are its arguments.
    """
    key, counter = tf.raw_ops.StatelessRandomGetKeyCounter(
        seed=seed_generator.next()
    )
    low, rest = divmod(rate * 2**8, 1)
    # The key, itself random, decides between the two fractions.
    more = key < tf.constant(int(rest * 2**64), tf.uint64)

    def by_fraction(function, dtype):
        values = function(min(low + 1, 255)), function(low)
        return tf.where(more, *(tf.constant(v, dtype) for v in values))

    dropped = by_fraction(int, tf.uint8)
    shape, size = tf.shape(inputs), tf.size(inputs)
    # With a last axis of whole words nothing has to be cut off.
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
        numbers = tf.bitcast(drawn, tf.uint8)
        if not whole:
            numbers = tf.reshape(numbers, [-1])[:size]
        return tf.reshape(numbers, shape) >= dropped

    return keep, by_fraction(lambda n: 256 / (256 - n), inputs.dtype)
