"""8-bit products: weights as integers, multiplied by activations as integers.

Each column of a kernel has a scale of its own. Activations have one for each
row, computed on the way (dynamic), or one for each product, known from
measuring what reaches it (static, see `export.writer.precision`). Integers of
static products are unsigned, with 128 for 0: adding 128 and cutting off is
the cheapest way to round, and what it adds to the sums is taken out of the
bias. What a ReLU gives is never below 0 and goes from one product into the
next without leaving 8 bits.

References: Jacob et al. 2018, https://arxiv.org/abs/1712.05877, section 2;
Bhandare et al. 2019, https://arxiv.org/abs/1906.00532, for Transformers.

Axes: R rows, I inputs, O outputs.
"""

from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from keras_transformer.compat import is_operation, quantized_matmul
from keras_transformer.errors import InputError
from keras_transformer.inference.weight_fusion import Parameters, Projection
from keras_transformer.machine import multiplies_int8

# TensorFlow's, internal: it has no function in Python, and no promise of
# staying as it is.
OPERATION = "_QuantizedMatMul"
# Where it was seen to work.
TENSORFLOW_VERSIONS = ("2.21",)
INSTRUCTIONS = ("AVX512_VNNI", "AVX_VNNI")
_STEPS = 127  # of a sign


class QuantizedProjection(NamedTuple):
    """`x @ kernel + bias` in 8 bits.

    Attributes:
        kernel: int8 `(I, O)`; 127 stands for the largest of its column.
        largest: float32 `(O,)`, absolute.
        bias: float32 `(O,)`, less what 128 for 0 adds.
        limit: the largest absolute input; beyond it inputs are cut off. None:
            each row's own.
        rectified: whether inputs are a ReLU's, and come as integers.
    """

    kernel: Any
    largest: Any
    bias: Any
    limit: float | None = None
    rectified: bool = False


def require_int8():
    """Refuses int8 where it would be slow, wrong or unknown.

    Raises:
        InputError: says what is missing.
    """
    accepted = "Accepted here: float32, bfloat16"
    if not multiplies_int8():
        raise InputError(
            "precision int8 needs a processor with "
            f"{' or '.join(INSTRUCTIONS)}, and this one has neither. {accepted}"
        )
    if not is_operation(OPERATION):
        raise InputError(
            f"precision int8 needs TensorFlow's operation {OPERATION}, which "
            f"TensorFlow {tf.__version__} has not. {accepted}"
        )


def map_projections(parameters: Parameters, function) -> Parameters:
    """Parameters with `function(name, projection)` for each projection.

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
            rows have scales of their own.
        rectifies: whether a ReLU is between the two products of a
            feed-forward sublayer.
    """

    def convert(name, projection):
        limit = limits[name] if limits else None
        hidden = rectifies and name.endswith("feedforward/outer")
        return _quantized(projection, limit, bool(limits) and hidden)

    return map_projections(parameters, convert)


def _quantized(projection, limit, rectified):
    kernel = np.asarray(projection.kernel, np.float64)
    bias = np.asarray(projection.bias, np.float64)
    # A column of zeros has no largest.
    largest = np.maximum(np.abs(kernel).max(axis=0), 1e-8)
    integers = np.rint(kernel / largest * _STEPS)
    if limit is not None and not rectified:
        # Of the products' integers 128 times the sum of each column is the
        # shift's.
        scale = limit / _STEPS * largest / _STEPS
        bias = bias - (_STEPS + 1) * integers.sum(axis=0) * scale
    return QuantizedProjection(
        integers.astype(np.int8),
        largest.astype(np.float32),
        bias.astype(np.float32),
        limit,
        rectified,
    )


def quantized_dense(x, projection, dtype=tf.float32, residual=None):
    """A product in 8 bits.

    Args:
        x: float `(R, I)`, or quint8 where the projection is `rectified`.
        projection: `QuantizedProjection` of variables.
        dtype: of the result, float32 or bfloat16.
        residual: float32 `(R, O)`, added to the result; None: nothing.

    Returns:
        `(R, O)`.
    """
    if projection.limit is None:
        return _dynamic(x, projection, dtype, residual)
    limit = projection.limit
    if not projection.rectified:
        x = _shifted(x, limit)
        limit *= 255 / _STEPS
    return quantized_matmul(
        x,
        tf.bitcast(projection.kernel, tf.qint8),
        projection.bias,
        (0.0, limit),
        projection.largest,
        addend=residual,
        dtype=dtype,
    )


def quantized_relu(x, projection, following):
    """A product, rectified, as integers for the product after it.

    Args:
        x: float `(R, I)`.
        projection: `QuantizedProjection` with a limit.
        following: the one after it, which is `rectified`.

    Returns:
        quint8 `(R, O)`, 255 for the limit of `following`.
    """
    limit = projection.limit
    return quantized_matmul(
        _shifted(x, limit),
        tf.bitcast(projection.kernel, tf.qint8),
        projection.bias,
        (0.0, limit * 255 / _STEPS),
        projection.largest,
        activation="Relu",
        limit=following.limit,
    )


def _shifted(x, limit):
    """Integers of inputs, 1 to 255 for `-limit` to `limit`."""
    x = tf.cast(x, tf.float32) * (_STEPS / limit)
    # A conversion cuts off what is behind the point.
    x = tf.clip_by_value(x + (_STEPS + 1.5), 1.0, 255.0)
    return tf.bitcast(tf.cast(x, tf.uint8), tf.quint8)


def _dynamic(x, projection, dtype, residual):
    """The product with a scale for each row."""
    x = tf.cast(x, tf.float32)
    # (R, 1); a row of zeros has no largest.
    largest = tf.reduce_max(tf.abs(x), axis=-1, keepdims=True) + 1e-12
    integers = tf.cast(tf.round(x * (_STEPS / largest)), tf.int8)
    y = quantized_matmul(
        tf.bitcast(integers, tf.qint8),
        tf.bitcast(projection.kernel, tf.qint8),
        tf.zeros_like(projection.bias),
        (-float(_STEPS), float(_STEPS)),
        projection.largest,
    )
    y = y * (largest / _STEPS) + projection.bias
    return tf.cast(y if residual is None else y + residual, dtype)
