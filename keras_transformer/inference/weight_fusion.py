"""Weight fusion: a model's weights in the form in which a search reads them.

What doesn't change from step to step is computed once, in float64: query, key
and value become one product, all layers' keys and values of the source
another, `1 / sqrt(H)` is multiplied into the query, `sqrt(D)` into the
embedding. With pre-norm and final norms, only norms read the residual stream.
Then each norm's scale and shift are fused into the product that follows it, and
the mean is subtracted from everything that is added to the stream. A division
by the root mean square remains of a LayerNorm.

Axes: I inputs, O outputs, D model width, H head width, V vocabulary,
P positions.
"""

from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf

from keras_transformer.errors import InputError


class Projection(NamedTuple):
    """`x @ kernel + bias`.

    Attributes:
        kernel: `(I, O)`.
        bias: `(O,)`.
    """

    kernel: Any
    bias: Any


class Norm(NamedTuple):
    """The part of a LayerNorm after the division by the root mean square.

    `Norm(None, None)` is the division alone: RMS normalisation, which remains
    of a LayerNorm after fusion. Where there is no norm, None takes its place.

    Attributes:
        scale: `(D,)` or None.
        shift: `(D,)` or None.
    """

    scale: Any = None
    shift: Any = None


class Attention(NamedTuple):
    """Self-attention or cross-attention.

    `inputs` projects to 3 D (query, key, value), or to D (query).
    """

    norm: Norm
    inputs: Projection
    output: Projection


class FeedForward(NamedTuple):
    """The position-wise sublayer."""

    norm: Norm
    inner: Projection
    outer: Projection


class Layer(NamedTuple):
    """A layer; encoders and language models have no cross-attention."""

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
    """All of a model. A language model has no source and no encoder.

    Attributes:
        source: `Embedding`, or None.
        target: `Embedding`.
        encoder: `Layer`s.
        encoder_norm: `Norm`, or None without a final norm.
        source_kv: `Projection` of the encoder's output to the keys and values
            of all decoder layers, `(D, 2 * layers * D)`, keys before values;
            or None.
        decoder: `Layer`s.
        decoder_norm: `Norm`, or None without a final norm.
        logits: `Projection` to the vocabulary, `(D, V)`.
    """

    source: Embedding | None
    target: Embedding
    encoder: tuple[Layer, ...]
    encoder_norm: Norm | None
    source_kv: Projection | None
    decoder: tuple[Layer, ...]
    decoder_norm: Norm | None
    logits: Projection


def read_parameters(model: keras.Model) -> Parameters:
    """A model's parameters: `build_transformer`'s or `build_language_model`'s.

    Returns:
        `Parameters` of float64 arrays, with the norms fused into the products
        after them as far as the model's norms allow.
    """
    return _Reader(model).parameters()


def as_variables(parameters: Parameters, dtype: str = "float32") -> Parameters:
    """Turns parameters into variables for a graph to read.

    Args:
        parameters: `Parameters` of arrays.
        dtype: of the kernels and biases, "float32" or "bfloat16", except for
            those of the logits. Norms and embeddings, which are in no product,
            are float32; int8 kernels become qint8, as products take them. The
            other arrays of such a product stay arrays: in graphs they are
            constants, which take less time in each step than variables.
    """

    def variable(values, kind):
        if values.dtype == np.int8:
            values = tf.bitcast(tf.constant(values), tf.qint8)
        else:
            values = tf.cast(tf.constant(values, tf.float32), kind)
        return tf.Variable(values, trainable=False)

    def convert(node, kind="float32"):
        if node is None or isinstance(node, float | bool):
            return node
        if isinstance(node, np.ndarray):
            return variable(node, kind)
        if getattr(node, "kernel", np.empty(0)).dtype == np.int8:
            return node._replace(kernel=variable(node.kernel, kind))
        if isinstance(node, Projection):
            kind = dtype
        return _rebuild(node, [convert(part, kind) for part in node])

    # Searches compare logits that bfloat16 can't tell apart.
    logits = parameters.logits
    if isinstance(logits, Projection):
        logits = Projection(*map(convert, logits))
    else:
        logits = convert(logits)
    others = parameters._asdict() | {"logits": None}
    return convert(Parameters(**others))._replace(logits=logits)


def assign(variables: Parameters, parameters: Parameters) -> None:
    """Assigns the values of a model that was trained further to variables."""
    for variable, values in zip(
        tf.nest.flatten(variables), tf.nest.flatten(parameters), strict=True
    ):
        if variable is not None:
            variable.assign(
                tf.cast(tf.constant(values, tf.float32), variable.dtype)
            )


def _rebuild(node, parts):
    return type(node)(*parts) if hasattr(node, "_fields") else tuple(parts)


class _Reader:
    """Reads weights by their Keras paths and fuses them."""

    def __init__(self, model):
        # By paths without the scopes in which the model was built.
        self._weights = {
            weight.path[weight.path.rindex(f"{layer.name}/") :]: np.asarray(
                keras.ops.convert_to_numpy(weight), np.float64
            )
            for layer in model.layers
            for weight in layer.weights
        }
        for path in self._weights:
            if "/lora_" in path or path.endswith("_scale"):
                raise InputError(
                    f"{path}: a search can't read weights of LoRA or "
                    "quantized by Keras. Accepted: a model without them; "
                    "export --precision int8 quantizes"
                )
        self._layers = {layer.name: layer for layer in model.layers}
        self._source_start = getattr(model, "source_start", True)
        first = self._layers["decoder_layer_0"]
        self._has_source = first.cross_attention
        self._num_heads = first.num_heads
        self._width = first.d_model
        self._fuses_norms = (
            first.norm == "pre"
            and "decoder_norm" in self._layers
            and ("encoder_norm" in self._layers or not self._has_source)
        )

    def parameters(self) -> Parameters:
        decoder_norm, logits = self._norm("decoder_norm"), self._logits()
        if self._fuses_norms:
            logits, decoder_norm = _fuse_norm(decoder_norm, logits)
        source, encoder_norm, source_kv = self._source()
        return Parameters(
            source=source,
            target=self._embedding("target_embedding"),
            encoder=self._stack("encoder_layer_"),
            encoder_norm=encoder_norm,
            source_kv=source_kv,
            decoder=self._stack("decoder_layer_"),
            decoder_norm=decoder_norm,
            logits=logits,
        )

    def _source(self):
        """The source's embedding, the encoder's norm, and `source_kv`."""
        if not self._has_source:
            return None, None, None
        source_kv = _join(
            self._projection(f"decoder_layer_{i}/cross_attention/{name}")
            for name in ("key", "value")
            for i in range(self._count("decoder_layer_"))
        )  # kernel (D, 2 * layers * D)
        encoder_norm = self._norm("encoder_norm")
        if self._fuses_norms:
            source_kv, encoder_norm = _fuse_norm(encoder_norm, source_kv)
        source = self._embedding("source_embedding")
        if not self._source_start:
            # START comes before position 0, and no position attends to it.
            positions = source.positions[:-1]  # (P - 1, D)
            positions = np.concatenate([positions[:1], positions])  # (P, D)
            source = source._replace(positions=positions)
        return source, encoder_norm, source_kv

    def _stack(self, prefix):
        return tuple(
            Layer(
                self._self_attention(f"{prefix}{i}"),
                self._cross_attention(f"{prefix}{i}"),
                self._feedforward(f"{prefix}{i}"),
            )
            for i in range(self._count(prefix))
        )

    def _count(self, prefix):
        return sum(name.startswith(prefix) for name in self._layers)

    def _self_attention(self, layer):
        path = f"{layer}/self_attention"
        query, key, value = (
            self._projection(f"{path}/{name}")
            for name in ("query", "key", "value")
        )
        return self._sublayer(
            Attention,
            path,
            _join([self._scaled(query), key, value]),  # kernel (D, 3 * D),
            self._projection(f"{path}/output"),
        )

    def _cross_attention(self, layer):
        path = f"{layer}/cross_attention"
        if f"{path}/query/kernel" not in self._weights:
            return None
        return self._sublayer(
            Attention,
            path,
            self._scaled(self._projection(f"{path}/query")),
            self._projection(f"{path}/output"),
        )

    def _feedforward(self, layer):
        path = f"{layer}/feedforward"
        return self._sublayer(
            FeedForward,
            path,
            self._projection(f"{path}/inner"),
            self._projection(f"{path}/outer"),
        )

    def _sublayer(self, kind, path, inputs, output):
        norm = self._norm(f"{path}_layer_norm")
        if self._fuses_norms:
            inputs, norm = _fuse_norm(norm, inputs)
            output = Projection(*map(_subtract_mean, output))
        return kind(norm, inputs, output)

    def _scaled(self, query):
        factor = (self._width // self._num_heads) ** -0.5
        return Projection(query.kernel * factor, query.bias * factor)

    def _projection(self, path):
        kernel = self._weights[f"{path}/kernel"]
        bias = self._weights.get(f"{path}/bias")
        return Projection(
            kernel, np.zeros(kernel.shape[1]) if bias is None else bias
        )

    def _norm(self, path):
        if f"{path}/gamma" not in self._weights:
            return None
        return Norm(
            self._weights[f"{path}/gamma"], self._weights[f"{path}/beta"]
        )

    def _embedding(self, name):
        tokens, positions = self._tables(name)
        embedding = Embedding(tokens * self._width**0.5, positions)
        if self._fuses_norms:
            embedding = Embedding(*map(_subtract_mean, embedding))
        return embedding

    def _logits(self):
        if "logits" in self._layers:
            return self._projection("logits")
        kernel = self._tables("target_embedding")[0].T  # (D, V)
        name = self._embedding_name("target_embedding")
        bias = self._weights.get(f"{name}/output_bias")
        return Projection(
            kernel, np.zeros(kernel.shape[1]) if bias is None else bias
        )

    def _embedding_name(self, name):
        """The name of the layer of an embedding, which may be a shared one."""
        return name if name in self._layers else "shared_embedding"

    def _tables(self, name):
        """The tokens `(V, D)` and positions `(P, D)` of an embedding."""
        name = self._embedding_name(name)
        return (
            self._weights[f"{name}/tokens/embeddings"],
            np.asarray(self._layers[name].position_table(), np.float64),
        )


def _join(projections):
    """Several projections of the same input as one."""
    kernels, biases = zip(*projections, strict=True)
    return Projection(
        np.concatenate(kernels, axis=1),  # (I, the sum of all O)
        np.concatenate(biases, axis=0),  # (the sum of all O,)
    )


def _fuse_norm(norm, projection):
    """Fuses a norm's scale and shift into a projection; returns both."""
    kernel = norm.scale[:, np.newaxis] * projection.kernel
    bias = projection.bias + norm.shift @ projection.kernel
    return Projection(kernel, bias), Norm()


def _subtract_mean(values):
    """`values` less their mean over the model width, the last axis."""
    return values - values.mean(axis=-1, keepdims=True)
