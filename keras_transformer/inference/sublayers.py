"""A layer's sublayers, reading folded weights.

Axes: R rows, N heads, H head width, D model width.
"""

import tensorflow as tf

from keras_transformer.inference.attention import (
    attend,
    join_heads,
    split_heads,
)


class Sublayers:
    """The sublayers of a model's encoder and decoder.

    Args:
        layer: one of the model's `EncoderLayer`s or `DecoderLayer`s; all are
            of the same shape.
    """

    def __init__(self, layer):
        self._num_heads = layer.num_heads
        self._width = layer.d_model
        self._head_width = layer.d_model // layer.num_heads
        self._pre_norm = layer.norm == "pre"
        self._epsilon = layer.layer_norm_epsilon
        self._activation = layer.activation

    def _attend_to_itself(self, x, sublayer, mask, length):
        heads = split_heads(
            self._project(x, sublayer), length, 3 * self._num_heads
        )
        query, keys, values = tf.split(heads, 3, axis=1)
        context, _ = attend(query, keys, values, mask, transposed=False)
        return self._output(x, join_heads(context), sublayer)

    def _project(self, x, sublayer):
        """A sublayer's input product."""
        y = self._normalise(x, sublayer.norm) if self._pre_norm else x
        return self._dense(y, sublayer.inputs)

    def _output(self, x, context, sublayer):
        """Adds a sublayer's output product to the stream `x`."""
        return self._residual(
            x, self._dense(context, sublayer.output), sublayer
        )

    def _feedforward(self, x, sublayer):
        y = self._normalise(x, sublayer.norm) if self._pre_norm else x
        y = self._activation(self._dense(y, sublayer.inner))
        return self._residual(x, self._dense(y, sublayer.outer), sublayer)

    def _residual(self, x, update, sublayer):
        x += tf.cast(update, tf.float32)
        return x if self._pre_norm else self._normalise(x, sublayer.norm)

    def _dense(self, x, projection):
        """`x @ kernel + bias` in the kernel's dtype."""
        product = tf.matmul(
            tf.cast(x, projection.kernel.dtype), projection.kernel
        )
        return tf.nn.bias_add(product, projection.bias)

    def _normalise(self, x, norm):
        """LayerNorm, or what folding left of it; None leaves `x` as it is."""
        if norm is None:
            return x
        if norm.scale is not None:
            x -= tf.reduce_mean(x, axis=-1, keepdims=True)
        square = tf.reduce_mean(tf.square(x), axis=-1, keepdims=True)
        x *= tf.math.rsqrt(square + self._epsilon)
        return x if norm.scale is None else x * norm.scale + norm.offset
