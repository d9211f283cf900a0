"""8-bit products: weights as integers, multiplied by activations as integers.

Each column of a kernel has its own scale. Activations have a scale for each
row, computed at run time (dynamic), or one for each product, from measured
inputs (static, see `exporting.writer.precision`). Integers of static products
are unsigned, with 128 for 0: adding 128 and truncating is the cheapest way to
round, and what this adds to the sums is subtracted from the bias. The outputs
of a ReLU are never negative, and go from one product into the next as 8-bit
integers.

References: Jacob et al. 2018, https://arxiv.org/abs/1712.05877, section 2;
Bhandare et al. 2019, https://arxiv.org/abs/1906.00532, for Transformers.

Axes: R rows, I inputs, O outputs.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from keras_transformer.compat import is_operation, quantized_matmul, scalar
from keras_transformer.errors import InputError
from keras_transformer.inference.weight_fusion import Parameters, Projection
from keras_transformer.system.machine import has_avx2

# Internal to TensorFlow, which has no Python function for it and may change it.
OPERATION = "_QuantizedMatMul"
# Versions in which `scripts/test_servers.sh` has tested it.
TENSORFLOW_VERSIONS = ("2.19", "2.20", "2.21")
INSTRUCTIONS = ("AVX512_VNNI", "AVX_VNNI")
_STEPS = 127  # integers of each sign
_ZERO = 128  # the integer that stands for 0 in static products


class QuantizedProjection(NamedTuple):
    """`x @ kernel + bias` in 8 bits.

    Attributes:
        kernel: int8 `(I, O)`; after `as_variables` a qint8 variable, the only
            variable of a projection.
        largest: float32 `(O,)`, the value of 127 in each column, times that of
            1 in the inputs unless rows have their own scales.
        bias: float32 `(O,)`, less what the offset 128 of inputs adds.
        scale: factor of inputs before they are rounded; 1: inputs are scaled
            already; None: each row has its own.
        limit: the largest absolute input, to which inputs are clipped; None:
            they aren't.
        rectified: whether inputs are outputs of a ReLU, as integers.
    """

    kernel: Any
    largest: Any
    bias: Any
    scale: float | None = None
    limit: float | None = None
    rectified: bool = False


def require_int8() -> None:
    """Refuses int8 where it isn't known to work.

    Raises:
        InputError: names what is missing.
    """
    accepted = "Accepted here: float32, bfloat16"
    if not has_avx2():
        raise InputError(
            f"precision int8 needs an x86-64 processor with AVX2. {accepted}"
        )
    if not is_operation(OPERATION):
        raise InputError(
            f"precision int8 needs TensorFlow's operation {OPERATION}, which "
            f"TensorFlow {tf.__version__} has not. {accepted}"
        )


def map_projections(
    parameters: Parameters, function: Callable[[str, Projection], Any]
) -> Parameters:
    """Replaces each projection by `function(name, projection)`.

    Names are paths, such as `decoder/0/feedforward/inner`.
    """

    def visit(path, node):
        if isinstance(node, Projection):
            return function("/".join(path), node)
        if hasattr(node, "_fields"):
            pairs = node._asdict().items()
            return type(node)(*(visit((*path, f), part) for f, part in pairs))
        if isinstance(node, tuple):
            pairs = enumerate(node)
            return tuple(visit((*path, str(i)), part) for i, part in pairs)
        return node

    return visit((), parameters)


def quantize(
    parameters: Parameters, limits: dict | None = None, rectifies: bool = False
) -> Parameters:
    """Parameters with their kernels as integers.

    Args:
        parameters: of arrays, as `read_parameters` returns them.
        limits: the largest absolute input of each projection, by name; None:
            each row has its own scale.
        rectifies: whether a ReLU is between the two products of a
            feed-forward sublayer.
    """
    if limits is None:
        return map_projections(parameters, lambda _, p: _quantized(p))

    def convert(name, projection):
        hidden = rectifies and name.endswith("feedforward/outer")
        quantized = _quantized(projection, limits[name], hidden)
        if name.endswith("attention/output"):
            return quantized._replace(scale=1.0)  # See `_scale_values`.
        return quantized

    return map_projections(_scale_values(parameters, limits), convert)


def _scale_values(parameters, limits):
    """Scales the values of attention for the product after it.

    Attention returns means of values, so that scaling their projection once has
    the same result as scaling the means in each step.
    """

    def scaled(projection, begin, end, name):
        factors = np.ones(projection.bias.shape)
        factors[begin:end] = _STEPS / limits[name]
        return Projection(*(part * factors for part in projection))

    def stack(name, layers):
        for i, layer in enumerate(layers):
            attention = layer.self_attention
            width = attention.inputs.kernel.shape[0]
            inputs = scaled(
                attention.inputs,
                2 * width,
                3 * width,
                f"{name}/{i}/self_attention/output",
            )
            attention = attention._replace(inputs=inputs)
            yield layer._replace(self_attention=attention)

    source_kv = parameters.source_kv
    layers = len(parameters.decoder)
    width = source_kv.kernel.shape[0]
    for i in range(layers):
        begin = (layers + i) * width
        name = f"decoder/{i}/cross_attention/output"
        source_kv = scaled(source_kv, begin, begin + width, name)
    return parameters._replace(
        encoder=tuple(stack("encoder", parameters.encoder)),
        decoder=tuple(stack("decoder", parameters.decoder)),
        source_kv=source_kv,
    )


def _quantized(projection, limit=None, rectified=False):
    """Quantises one projection, whose inputs aren't scaled yet."""
    kernel = np.asarray(projection.kernel, np.float64)
    bias = np.asarray(projection.bias, np.float64)
    # A column of zeros has no largest.
    largest = np.maximum(np.abs(kernel).max(axis=0), 1e-8)
    integers = np.rint(kernel / largest * _STEPS)
    scale = None
    if rectified:
        scale = 1.0
        largest = largest * (limit / 255)
    elif limit is not None:
        scale = _STEPS / limit
        largest = largest / scale
        # The offset of inputs adds 128 times the sum of each column.
        bias = bias - _ZERO * integers.sum(axis=0) * (largest / _STEPS)
    return QuantizedProjection(
        integers.astype(np.int8),
        largest.astype(np.float32),
        bias.astype(np.float32),
        scale,
        limit,
        rectified,
    )


def scale_of(projection: QuantizedProjection | Projection) -> float | None:
    """The factor of a product's inputs; None: they aren't to be scaled."""
    if isinstance(projection, QuantizedProjection) and projection.scale != 1:
        return projection.scale
    return None


def quantized_dense(
    x: tf.Tensor,
    projection: QuantizedProjection,
    dtype: str | tf.DType = tf.float32,
    residual: tf.Tensor | None = None,
    scaled: bool = False,
) -> tf.Tensor:
    """A product in 8 bits.

    Args:
        x: float `(R, I)`, or quint8 where the projection is `rectified`.
        projection: `QuantizedProjection` of variables.
        dtype: of the result, float32 or bfloat16.
        residual: float32 `(R, O)`, added to the result; None: nothing.
        scaled: whether `x` was multiplied by `scale_of` already.

    Returns:
        `(R, O)`.
    """
    if projection.limit is None:
        return _dynamic(x, projection, dtype, residual)
    product = quantized_matmul(
        x if projection.rectified else _integers(x, projection, scaled),
        projection.kernel,
        projection.bias,
        projection.largest,
        addend=residual,
    )
    return tf.cast(product, dtype)


def quantized_relu(
    x: tf.Tensor,
    projection: QuantizedProjection,
    following: QuantizedProjection,
    scaled: bool = False,
) -> tf.Tensor:
    """A product and a ReLU, as integers for the product after it.

    Args:
        x: float `(R, I)`.
        projection: `QuantizedProjection` with a limit.
        following: the one after it, which is `rectified`.
        scaled: see `quantized_dense`.

    Returns:
        quint8 `(R, O)`, 255 for the limit of `following`.
    """
    return quantized_matmul(
        _integers(x, projection, scaled),
        projection.kernel,
        projection.bias,
        projection.largest,
        activation="Relu",
        limit=following.limit,
    )


def _integers(x, projection, scaled):
    """Integers of inputs, 1 to 255 for `-limit` to `limit`."""
    x = tf.cast(x, tf.float32)
    if not scaled and (scale := scale_of(projection)):
        x *= scale
    # The cast truncates: 0.5 is added to round.
    x = tf.raw_ops.ClipByValue(
        t=x + scalar(_ZERO + 0.5),
        clip_value_min=scalar(1.0),
        clip_value_max=scalar(255.0),
    )
    return tf.cast(x, tf.quint8)


def _dynamic(x, projection, dtype, residual):
    """The product with a scale for each row of inputs."""
    x = tf.cast(x, tf.float32)
    # (R, 1); a row of zeros has no largest.
    largest = tf.reduce_max(tf.abs(x), axis=-1, keepdims=True) + 1e-12
    y = quantized_matmul(
        tf.cast(tf.round(x * (_STEPS / largest)), tf.qint8),
        projection.kernel,
        tf.zeros_like(projection.bias),
        projection.largest,
    )
    y = y * (largest / _STEPS) + projection.bias
    return tf.cast(y if residual is None else y + residual, dtype)
