"""Matrix products, `dense` and `attention_scores`, with cheap gradients."""

from types import NotImplementedType

import tensorflow as tf


def dense(
    inputs: tf.Tensor,
    kernel: tf.Tensor,
    bias: tf.Tensor | None = None,
    transposed: bool = False,
    kernel_gradient: bool = False,
) -> tf.Tensor | NotImplementedType:
    """The product, with the gradient of its inputs computed last.

    Only the optimizer waits for the gradients of kernels, so that TensorFlow
    may leave those of a whole model until the end of the backward pass. Inputs
    and gradients of all products exist until then: with the notebook's model
    and longest batch 145 MiB more than if each is computed in turn.
    """
    if not kernel_gradient:
        return NotImplemented

    @tf.custom_gradient
    def apply(x, w, *b):
        def gradient(upstream):
            pair = (upstream, x) if transposed else (x, upstream)
            of_weights = [tf.matmul(*pair, transpose_a=True)]
            if b:
                of_weights.append(tf.raw_ops.BiasAddGrad(out_backprop=upstream))
            with tf.control_dependencies(of_weights):
                of_inputs = tf.matmul(upstream, w, transpose_b=not transposed)
            return of_inputs, *of_weights

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


def attention_scores(
    queries: tf.Tensor,
    keys: tf.Tensor,
    bias: tf.Tensor | None = None,
    gradient: bool = False,
) -> tf.Tensor | NotImplementedType:
    """The scores with a gradient of two products and nothing else.

    TensorFlow's own gradient transposes keys once more, and looks for axes that
    were broadcast. Here the batch axes have to be equal, as the gradient
    doesn't sum over broadcast ones.
    """
    if not gradient or queries.shape[:-2] != keys.shape[:-2]:
        return NotImplemented
    if queries.dtype == tf.float64:
        return NotImplemented

    @tf.custom_gradient
    def apply(q, k):
        def gradient(upstream):
            upstream = tf.cast(upstream, q.dtype)
            to_keys = tf.matmul(upstream, q, transpose_a=True)
            return tf.matmul(upstream, k), to_keys

        scores = tf.cast(tf.matmul(q, k, transpose_b=True), tf.float32)
        return scores if bias is None else scores + bias, gradient

    return apply(queries, keys)
