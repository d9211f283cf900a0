"""Layer normalisation: `standardize`, with a gradient of few passes."""

import tensorflow as tf


def standardize(inputs: tf.Tensor, epsilon: float) -> tf.Tensor:
    """Standardises rows; the gradient keeps them and one number per row."""

    @tf.custom_gradient
    def apply(x):
        centred = x - _mean(x)
        inverse = tf.math.rsqrt(_mean(tf.square(centred)) + epsilon)
        normal = centred * inverse

        def gradient(upstream):
            along = normal * _mean(upstream * normal)
            return (upstream - _mean(upstream) - along) * inverse

        return normal, gradient

    return apply(inputs)


def _mean(x):
    return tf.reduce_mean(x, axis=-1, keepdims=True)
