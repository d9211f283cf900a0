import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.layers.dense import Dense
from keras_transformer.layers.layer_normalization import LayerNormalization
from tests.layers.checks import check_layer

X = np.random.default_rng(1).normal(2, 3, size=(3, 5, 8)).astype("float32")

Y = np.random.default_rng(5).normal(size=(15, 6)).astype("float32")


def pair(**arguments):
    """Ours and Keras' own with the same random weights."""
    layers = [
        kind(epsilon=1e-6, **arguments)
        for kind in (LayerNormalization, keras.layers.LayerNormalization)
    ]
    for layer in layers:
        layer.build(X.shape)
        random = np.random.default_rng(2)
        layer.set_weights(
            [random.normal(size=w.shape) for w in layer.get_weights()]
        )
    return layers


def gradients(layer, x):
    x = tf.Variable(x)
    towards = np.random.default_rng(3).normal(size=x.shape).astype("float32")
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.cast(layer(x), tf.float32) * towards)
    return tape.gradient(loss, [x, *(w.value for w in layer.trainable_weights)])


def test_keeps_the_layer_contract():
    check_layer(
        lambda dtype: LayerNormalization(dtype=dtype),
        {"inputs": X},
        weight_count=2,
        seed_count=0,
    )


@pytest.mark.parametrize(
    "arguments",
    [{}, {"center": False}, {"scale": False}, {"axis": (1, 2)}, {"axis": 2}],
)
def test_equals_keras_forwards_and_backwards(arguments):
    ours, theirs = pair(**arguments)
    np.testing.assert_allclose(ours(X), theirs(X), atol=1e-5)
    for mine, other in zip(
        gradients(ours, X), gradients(theirs, X), strict=True
    ):
        np.testing.assert_allclose(mine, other, atol=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16", "float64"])
@pytest.mark.parametrize("arguments", [{}, {"center": False}])
@pytest.mark.parametrize("with_bias", [True, False])
def test_fused_weights_give_the_product_of_the_output(
    dtype, arguments, with_bias
):
    layer, _ = pair(dtype=dtype, **arguments)
    random = np.random.default_rng(4)
    x = tf.Variable(tf.cast(X.reshape(-1, 8), layer.compute_dtype))
    kernel = tf.Variable(random.normal(size=(8, 6)), dtype=layer.variable_dtype)
    bias = tf.Variable(random.normal(size=6), dtype=layer.variable_dtype)

    def expected():
        y = tf.matmul(layer(x), tf.cast(kernel, layer.compute_dtype))
        return y + tf.cast(bias, y.dtype) if with_bias else y

    def got():
        weights = kernel, bias if with_bias else None
        product = Dense(6, dtype=dtype).product
        return product(*layer.fuse(x, *weights))

    variables = [x, kernel, *(w.value for w in layer.trainable_weights)]
    found = []
    for function in (expected, got):
        with tf.GradientTape() as tape:
            y = function()
            loss = tf.reduce_sum(tf.cast(y, "float32") * tf.sin(1.0 * Y))
        found.append([y, *tape.gradient(loss, variables + [bias] * with_bias)])
    tolerance = 0.05 if dtype == "mixed_bfloat16" else 1e-5
    for a, b in zip(*found, strict=True):
        assert a.dtype == b.dtype
        a, b = (tf.cast(value, "float64") for value in (a, b))
        scale = np.abs(a).max() + 1
        np.testing.assert_allclose(a / scale, b / scale, atol=tolerance)


def test_equal_numbers_stay_finite():
    ours, _ = pair()
    same = np.full_like(X, 7.0)
    expected = np.broadcast_to(ours.beta, X.shape)
    np.testing.assert_allclose(ours(same), expected, atol=1e-5)
    assert all(np.isfinite(g).all() for g in gradients(ours, same))


@pytest.mark.parametrize(
    "dtype", ["float16", "bfloat16", "float64", "mixed_bfloat16"]
)
def test_other_types_equal_keras_to_the_bit(dtype):
    ours, theirs = (layer(X) for layer in pair(dtype=dtype))
    assert ours.dtype == theirs.dtype == dtype.removeprefix("mixed_")
    np.testing.assert_array_equal(
        *(tf.cast(y, "float64") for y in (ours, theirs))
    )
