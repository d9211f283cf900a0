"""A model's weights in the form in which a search reads them.

`folding.read_parameters` makes them of a Keras model.

Axes: I inputs, O outputs, D model width, V vocabulary, P positions.
"""

from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

DTYPES = ("float32", "bfloat16")


class Projection(NamedTuple):
    """`x @ kernel + bias`.

    Attributes:
        kernel: `(I, O)`.
        bias: `(O,)`.
    """

    kernel: Any
    bias: Any


class Norm(NamedTuple):
    """What a LayerNorm does after normalising; None: nothing is left.

    Attributes:
        scale: `(D,)` or None.
        offset: `(D,)` or None.
    """

    scale: Any = None
    offset: Any = None


class Attention(NamedTuple):
    """Self-attention (`inputs` gives 3 D: query, key, value) or
    cross-attention (`inputs` gives D: the query)."""

    norm: Norm
    inputs: Projection
    output: Projection


class FeedForward(NamedTuple):
    """The position-wise sublayer."""

    norm: Norm
    inner: Projection
    outer: Projection


class Layer(NamedTuple):
    """One layer; the encoder's have no cross-attention."""

    self_attention: Attention
    cross_attention: Attention | None
    feedforward: FeedForward


class Embedding(NamedTuple):
    """Embedded tokens are `tokens[id] + positions[index]`.

    Attributes:
        tokens: `(V, D)`.
        positions: `(P, D)`.
    """

    tokens: Any
    positions: Any


class Parameters(NamedTuple):
    """All of a model.

    Attributes:
        source: `Embedding`.
        target: `Embedding`.
        encoder: `Layer`s.
        encoder_norm: `Norm`, or None where there is no final norm.
        memory: projects the encoder's output to the keys and values of all
            decoder layers: `(D, 2 * layers * D)`, keys before values.
        decoder: `Layer`s.
        decoder_norm: as `encoder_norm`.
        logits: `(D, V)`.
    """

    source: Embedding
    target: Embedding
    encoder: tuple[Layer, ...]
    encoder_norm: Norm | None
    memory: Projection
    decoder: tuple[Layer, ...]
    decoder_norm: Norm | None
    logits: Projection


def as_variables(parameters: Parameters, dtype: str = "float32") -> Parameters:
    """The same as variables for a graph to read.

    Args:
        parameters: of arrays.
        dtype: of the kernels and biases, one of `DTYPES`, apart from those
            of the logits. Norms and embeddings, which aren't multiplied,
            are float32.
    """
    counter = iter(range(10_000))

    def variable(values, kind):
        return tf.Variable(
            tf.cast(tf.constant(values, tf.float32), kind),
            trainable=False,
            name=f"parameter_{next(counter)}",
        )

    def convert(node, kind="float32"):
        if node is None:
            return None
        if isinstance(node, np.ndarray):
            return variable(node, kind)
        if isinstance(node, Projection):
            kind = dtype
        return _rebuild(node, [convert(part, kind) for part in node])

    # The search compares logits that differ by less than bfloat16 can tell.
    logits = Projection(*map(convert, parameters.logits))
    return convert(parameters._replace(logits=None))._replace(logits=logits)


def assign(variables: Parameters, parameters: Parameters):
    """Gives variables the values of a model that was trained further."""
    for variable, values in zip(
        tf.nest.flatten(variables), tf.nest.flatten(parameters), strict=True
    ):
        if variable is not None:
            variable.assign(
                tf.cast(tf.constant(values, tf.float32), variable.dtype)
            )


def _rebuild(node, parts):
    return type(node)(*parts) if hasattr(node, "_fields") else tuple(parts)
