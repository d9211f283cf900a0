"""A matrix product that lets go of what its gradient needs."""

import tensorflow as tf


def dense(inputs, kernel, bias=None, transposed=False):
    """The product, whose gradient by the inputs is computed last.

    Nothing waits for a kernel's gradient but the optimizer, so that those of
    a whole model may be left until the way back has reached its end. Inputs
    and gradients of all products exist until then: with the notebook's model
    and longest batch 145 MiB more than where each is computed on the way.

    Args:
        inputs: float `(..., D)`.
        kernel: float `(D, E)`; `(E, D)` if `transposed`.
        bias: float `(E,)`, or None.
        transposed: bool.

    Returns:
        float `(..., E)`.
    """

    @tf.custom_gradient
    def apply(x, w, *b):
        def gradient(upstream):
            pair = (upstream, x) if transposed else (x, upstream)
            found = [tf.matmul(*pair, transpose_a=True)]
            if b:
                found.append(tf.raw_ops.BiasAddGrad(out_backprop=upstream))
            with tf.control_dependencies(found):
                by_inputs = tf.matmul(upstream, w, transpose_b=not transposed)
            return by_inputs, *found

        result = tf.matmul(x, w, transpose_b=transposed)
        return (tf.nn.bias_add(result, *b) if b else result), gradient

    weights = [kernel] if bias is None else [kernel, bias]
    if len(inputs.shape) == 2:
        return apply(inputs, *weights)
    outputs = apply(tf.reshape(inputs, [-1, inputs.shape[-1]]), *weights)
    shape = tf.concat([tf.shape(inputs)[:-1], tf.shape(outputs)[1:]], axis=0)
    result = tf.reshape(outputs, shape)
    result.set_shape([*inputs.shape[:-1], outputs.shape[-1]])
    return result
