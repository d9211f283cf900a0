"""Reads a model's weights and does once what doesn't change from step to step.

In float64: query, key and value become one product, all layers' keys and
values of the source another, `1 / sqrt(H)` goes into the query, `sqrt(D)` into
the embedding. With pre-norm and final norms the residual stream is read by
norms alone; then each norm's scale and offset go into the product that follows
it, and the mean is taken out of whatever is added to the stream. What is left
of a LayerNorm is a division by the root mean square.
"""

import keras
import numpy as np

from keras_transformer.inference.weights import (
    Attention,
    Embedding,
    FeedForward,
    Layer,
    Norm,
    Parameters,
    Projection,
)


def read_parameters(model: keras.Model) -> Parameters:
    """The parameters of a model that `build_transformer` made.

    Returns:
        `Parameters` of float64 arrays, folded as far as its norms allow.
    """
    return _Reader(model).parameters()


class _Reader:
    """Reads weights by their Keras paths and folds them."""

    def __init__(self, model):
        self._weights = {
            weight.path: np.asarray(
                keras.ops.convert_to_numpy(weight), np.float64
            )
            for weight in model.weights
        }
        self._layers = {layer.name: layer for layer in model.layers}
        first = self._layers.get("encoder_layer_0") or self._layers.get(
            "decoder_layer_0"
        )
        self._num_heads = first.num_heads
        self._width = first.d_model
        self._folds = (
            first.norm == "pre"
            and {
                "encoder_norm",
                "decoder_norm",
            }
            <= self._layers.keys()
        )

    def parameters(self) -> Parameters:
        decoder = self._count("decoder_layer_")
        memory = [
            self._projection(f"decoder_layer_{i}/cross_attention/{name}")
            for name in ("key", "value")
            for i in range(decoder)
        ]
        memory = _join(memory)
        encoder_norm = self._norm("encoder_norm")
        decoder_norm = self._norm("decoder_norm")
        logits = self._logits()
        if self._folds:
            memory, encoder_norm = _absorb(encoder_norm, memory)
            logits, decoder_norm = _absorb(decoder_norm, logits)
        return Parameters(
            source=self._embedding("source_embedding"),
            target=self._embedding("target_embedding"),
            encoder=self._stack("encoder_layer_"),
            encoder_norm=encoder_norm,
            memory=memory,
            decoder=self._stack("decoder_layer_"),
            decoder_norm=decoder_norm,
            logits=logits,
        )

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
            _join([self._scaled(query), key, value]),
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
        if self._folds:
            inputs, norm = _absorb(norm, inputs)
            output = Projection(_centre(output.kernel), _centre(output.bias))
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
        if name not in self._layers:
            name = "shared_embedding"
        layer = self._layers[name]
        embedding = Embedding(
            self._weights[f"{name}/tokens/embeddings"] * self._width**0.5,
            np.asarray(layer.position_table(), np.float64),
        )
        if self._folds:
            embedding = Embedding(*map(_centre, embedding))
        return embedding

    def _logits(self):
        if "logits" in self._layers:
            return self._projection("logits")
        name = "target_embedding"
        if name not in self._layers:
            name = "shared_embedding"
        kernel = self._weights[f"{name}/tokens/embeddings"].T
        return Projection(kernel, np.zeros(kernel.shape[1]))


def _join(projections):
    """Several projections of the same input as one."""
    kernels, biases = zip(*projections, strict=True)
    return Projection(
        np.concatenate(kernels, axis=1), np.concatenate(biases, axis=0)
    )


def _absorb(norm, projection):
    """A projection that does a norm's scaling, and what is left of the norm."""
    kernel = norm.scale[:, np.newaxis] * projection.kernel
    bias = projection.bias + norm.offset @ projection.kernel
    return Projection(kernel, bias), Norm()


def _centre(values):
    """Without the mean over the model width, the last axis."""
    return values - values.mean(axis=-1, keepdims=True)
