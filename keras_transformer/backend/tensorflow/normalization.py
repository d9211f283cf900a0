"""Layer normalisation with a gradient of few passes."""

import tensorflow as tf


def layer_norm(inputs, gamma, beta, epsilon: float):
    """Layer normalisation over the last axis, with a gradient of few passes.

    Args:
        inputs: float32 `(..., D)`.
        gamma, beta: float32 `(D,)`.
        epsilon: added to the variance.

    Returns:
        float32 `(..., D)`.

    Reference: Ba et al. 2016, equation 4.
    """

    @tf.custom_gradient
    def normalize(x, gamma, beta):
        centred = x - _mean(x)
        inverse = tf.math.rsqrt(_mean(tf.square(centred)) + epsilon)
        normal = centred * inverse

        def gradient(upstream):
            scaled = upstream * gamma
            along = normal * _mean(scaled * normal)
            return (
                (scaled - _mean(scaled) - along) * inverse,
                tf.reduce_sum(upstream * normal, axis=0),
                tf.reduce_sum(upstream, axis=0),
            )

        return normal * gamma + beta, gradient

    # Read here: a custom gradient takes no variables.
    gamma, beta = tf.convert_to_tensor(gamma), tf.convert_to_tensor(beta)
    flat = tf.reshape(inputs, [-1, inputs.shape[-1]])
    return tf.reshape(normalize(flat, gamma, beta), tf.shape(inputs))


def _mean(x):
    return tf.reduce_mean(x, axis=-1, keepdims=True)
