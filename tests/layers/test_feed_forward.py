import math

import numpy as np
import pytest

from keras_transformer.layers import FeedForward
from keras_transformer.layers.layer_normalization import LayerNormalization
from keras_transformer.layers.transformer_layers import PreNormFeedForward
from tests.layers.checks import check_gradients, check_layer

X = np.random.default_rng(1).normal(size=(2, 4, 8)).astype("float32")


def make(dtype="float32", activation="gelu"):
    return FeedForward(16, 8, activation, dropout=0.1, dtype=dtype)


def test_keeps_the_layer_contract():
    check_layer(make, {"inputs": X}, weight_count=4, seed_count=1)
    check_gradients(make(), {"inputs": X})


@pytest.mark.parametrize(
    ("activation", "function"),
    [
        ("relu", lambda x: np.maximum(x, 0)),
        ("swish", lambda x: x / (1 + np.exp(-x))),
        (
            "gelu",
            lambda x: x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2))),
        ),
    ],
)
def test_equals_the_formula(activation, function):
    layer = make(activation=activation)
    output = layer(X)
    w1, b1, w2, b2 = layer.get_weights()
    np.testing.assert_allclose(
        output, function(X @ w1 + b1) @ w2 + b2, atol=1e-5
    )


@pytest.mark.parametrize("training", [False, True])
def test_a_norm_inside_is_a_norm_before(training):
    """Quantised; test_as_keras.py has the layers as they are trained."""
    plain, norm = FeedForward(16, 8), LayerNormalization()
    layer = PreNormFeedForward(16, 8, norm=norm)
    plain(X), layer.build(X.shape)
    norm.build(X.shape)
    random = np.random.default_rng(3)
    norm.set_weights([random.normal(size=8) for _ in range(2)])
    layer.set_weights(plain.get_weights())
    plain._inner.quantize("int8")
    layer._inner.quantize("int8")
    got = layer(X, training=training)
    np.testing.assert_allclose(
        got, plain(norm(X), training=training), atol=1e-5
    )
