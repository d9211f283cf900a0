"""Sublayers of a model's layers, as a search computes them.

Axes: B sentences, N heads, H head width, D = N * H model width.
"""

import keras
import tensorflow as tf

from keras_transformer.inference.cached_attention import (
    attend,
    join_heads,
    split_heads,
)
from keras_transformer.inference.quantization import (
    QuantizedProjection,
    quantized_dense,
    quantized_relu,
    scale_of,
)


class Sublayers:
    """The sublayers of a model's encoder and decoder, with fused weights.

    The residual stream `x` is float32 `(rows, D)`; rows are the positions of
    all sentences, or the beams.

    Args:
        layer: one of the model's `EncoderLayer`s or `DecoderLayer`s; all are
            of the same shape.
    """

    _cache_dtype: str  # set by the subclass

    def __init__(self, layer: keras.layers.Layer) -> None:
        self._num_heads = layer.num_heads
        self._width = layer.d_model
        self._head_width = layer.d_model // layer.num_heads
        self._pre_norm = layer.norm == "pre"
        self._epsilon = layer.layer_norm_epsilon
        self._activation = layer.activation
        self._rectifies = layer.activation is keras.activations.relu

    def _self_attention(self, x, sublayer, mask, length):
        """Adds self-attention to the stream `x` `(B * length, D)`."""
        projected = self._project(x, sublayer)  # (B * length, 3 D)
        heads = split_heads(projected, length, 3 * self._num_heads)
        query, keys, values = tf.split(heads, 3, axis=1)  # (B, N, length, H)
        context, _ = attend(query, keys, values, mask, transposed=False)
        return self._output(x, join_heads(context), sublayer)

    def _project(self, x, sublayer):
        """A sublayer's input product: `(rows, D)` to `(rows, D or 3 D)`."""
        return self._dense(*self._normalized(x, sublayer, sublayer.inputs))

    def _normalized(self, x, sublayer, projection):
        """The input of a sublayer's first product, normalised if pre-norm.

        Returns:
            inputs `(rows, D)`, the product, and whether the inputs were
            multiplied by `scale_of` it.
        """
        if self._pre_norm:
            return self._normalized_by(x, sublayer.norm, projection)
        return x, projection, False

    def _normalized_by(self, x, norm, projection):
        scale = scale_of(projection)
        x = self._layer_norm(x, norm, scale)
        return x, projection, scale is not None and norm is not None

    def _output(self, x, context, sublayer):
        """Adds a sublayer's output product to the stream `x`."""
        return self._residual(x, context, sublayer.output, sublayer.norm)

    def _feedforward(self, x, sublayer):
        """Adds the position-wise sublayer to the stream `x`."""
        outer = sublayer.outer
        y, inner, scaled = self._normalized(x, sublayer, sublayer.inner)
        if isinstance(outer, QuantizedProjection) and outer.rectified:
            y = quantized_relu(y, inner, outer, scaled)
        else:
            y = self._activation(self._dense(y, inner, scaled))
        return self._residual(x, y, outer, sublayer.norm)

    def _residual(self, x, y, projection, norm):
        """Adds a product of `y` to the stream `x`; normalises if post-norm."""
        if isinstance(projection, QuantizedProjection):
            x = quantized_dense(y, projection, residual=x)
        else:
            x += tf.cast(self._dense(y, projection), tf.float32)
        return x if self._pre_norm else self._layer_norm(x, norm)

    def _dense(self, x, projection, scaled=False):
        """`x @ kernel + bias` in the kernel's dtype; with int8, the cache's."""
        if isinstance(projection, QuantizedProjection):
            dtype = self._cache_dtype
            return quantized_dense(x, projection, dtype, scaled=scaled)
        x = tf.cast(x, projection.kernel.dtype)
        product = tf.matmul(x, projection.kernel)
        return tf.nn.bias_add(product, projection.bias)

    def _layer_norm(self, x, norm, scale=None):
        """LayerNorm, or the part of it that isn't fused.

        Args:
            x: float32 `(rows, D)`.
            norm: `Norm`, or None to leave `x` as it is.
            scale: float, factor of the result; None: not scaled.
        """
        if norm is None:
            return x
        if norm.scale is not None:
            x -= tf.reduce_mean(x, axis=-1, keepdims=True)
        square = tf.reduce_mean(tf.square(x), axis=-1, keepdims=True)
        factor = tf.math.rsqrt(square + self._epsilon)  # (rows, 1)
        if norm.scale is None:
            return x * (factor if scale is None else factor * scale)
        x = x * factor * norm.scale + norm.shift
        return x if scale is None else x * scale
