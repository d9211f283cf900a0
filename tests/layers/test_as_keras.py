"""Encoder and decoder layers against Keras' own layers."""

import keras
import numpy as np
import pytest

from keras_transformer.layers import DecoderLayer, EncoderLayer

RNG = np.random.default_rng(1)
X = RNG.normal(size=(2, 4, 8)).astype("float32")
SOURCE = RNG.normal(size=(2, 5, 8)).astype("float32")
PADDING = np.array([[1, 1, 1, 1], [1, 1, 0, 0]], bool)
SOURCE_PADDING = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], bool)
EPSILON = 1e-4


def ours(kind, norm, activation, training):
    """A layer's random weights by their names, and its outputs."""
    make = EncoderLayer if kind == "encoder" else DecoderLayer
    options = {"cross_attention": False} if kind == "decoder alone" else {}
    layer = make(
        8,
        2,
        16,
        activation=activation,
        norm=norm,
        layer_norm_epsilon=EPSILON,
        **options,
    )
    inputs = {"x": X, "training": training}
    mask = "attention_mask" if kind == "encoder" else "self_attention_mask"
    inputs[mask] = PADDING[:, None]
    if kind == "decoder":
        inputs["encoder_output"] = SOURCE
        inputs["cross_attention_mask"] = SOURCE_PADDING[:, None]
    layer(**inputs)
    layer.set_weights([RNG.normal(size=w.shape) for w in layer.weights])
    weights = {w.path.split("/", 1)[1]: w.numpy() for w in layer.weights}
    return weights, layer(**inputs)


def with_weights(layer, weights, prefix, *shapes):
    """A built Keras layer with those of our weights that begin so."""
    layer.build(*shapes)
    names = [w.path.removeprefix(f"{layer.name}/") for w in layer.weights]
    names = [name.replace("attention_output", "output") for name in names]
    values = [weights[f"{prefix}/{name}"] for name in names]
    pairs = zip(values, layer.weights, strict=True)
    layer.set_weights([value.reshape(w.shape) for value, w in pairs])
    return layer


def by_equations(kind, norm, activation, weights):
    """The paper's equations, of `keras.layers` alone."""

    def attention(name, x, value, **masks):
        layer = keras.layers.MultiHeadAttention(2, 4)
        layer = with_weights(layer, weights, name, X.shape, value.shape)
        return layer(x, value, **masks)

    def feedforward(x):
        inner = keras.layers.Dense(16, activation)
        inner = with_weights(inner, weights, "feedforward/inner", X.shape)
        outer, shape = keras.layers.Dense(8), (2, 4, 16)
        return with_weights(outer, weights, "feedforward/outer", shape)(
            inner(x)
        )

    def add(name, x, sublayer):
        layer_norm = keras.layers.LayerNormalization(epsilon=EPSILON)
        layer_norm = with_weights(
            layer_norm, weights, f"{name}_layer_norm", X.shape
        )
        if norm == "pre":
            return x + sublayer(layer_norm(x))
        return layer_norm(x + sublayer(x))

    masks = {"attention_mask": PADDING[:, None]}
    masks["use_causal_mask"] = kind != "encoder"
    name = "self_attention"
    x = add(name, X, lambda x: attention(name, x, x, **masks))
    if kind == "decoder":
        mask = SOURCE_PADDING[:, None]
        cross = "cross_attention"
        x = add(
            cross,
            x,
            lambda x: attention(cross, x, SOURCE, attention_mask=mask),
        )
    return add("feedforward", x, feedforward)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize(
    ("norm", "activation"), [("pre", "relu"), ("post", "gelu")]
)
@pytest.mark.parametrize("kind", ["encoder", "decoder", "decoder alone"])
def test_equals_the_equations_in_keras_layers(kind, norm, activation, training):
    weights, found = ours(kind, norm, activation, training)
    expected = by_equations(kind, norm, activation, weights)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
