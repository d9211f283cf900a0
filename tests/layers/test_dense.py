"""Dense against Keras' own, and the order of its gradients."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.layers.dense import Dense
from tests.layers.checks import check_gradients, check_layer

X = np.random.default_rng(1).normal(size=(2, 4, 8)).astype("float32")


def make(dtype="float32", **options):
    return Dense(6, dtype=dtype, **options)


def gradients(layer, x):
    x = tf.convert_to_tensor(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = layer(x, training=True)
        loss = tf.reduce_sum(tf.square(y))
    variables = [w.value for w in layer.trainable_weights]
    return y, *tape.gradient(loss, [x, *variables])


def test_keeps_the_layer_contract():
    check_layer(make, {"inputs": X}, weight_count=2, seed_count=0)
    check_gradients(make(), {"inputs": X})


@pytest.mark.parametrize("x", [X, X[0]], ids=["three axes", "two axes"])
@pytest.mark.parametrize(
    "options", [{}, {"use_bias": False}, {"activation": "relu"}], ids=str
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_trains_as_keras_own(x, options, dtype):
    ours = make(dtype, bias_initializer="normal", **options)
    theirs = keras.layers.Dense(6, dtype=dtype, **options)
    x = x.astype(dtype)
    ours(x), theirs(x)
    theirs.set_weights(ours.get_weights())
    for got, expected in zip(
        gradients(ours, x), gradients(theirs, x), strict=True
    ):
        assert got.dtype == expected.dtype
        np.testing.assert_allclose(got, expected, atol=1e-5)


def needed_products(layer):
    """The products that the gradients need, by the factor transposed."""

    @tf.function(input_signature=[tf.TensorSpec([None, 8])], autograph=False)
    def ask(x):
        return gradients(layer, x)[1:]

    graph = ask.get_concrete_function().graph
    seen, left = set(), [tensor.op for tensor in graph.outputs]
    while left:
        op = left.pop()
        if op not in seen:
            seen.add(op)
            left += [*op.control_inputs, *(x.op for x in op.inputs)]
    return {
        name: [
            op
            for op in seen
            if op.type == "MatMul" and op.get_attr(f"transpose_{name}")
        ]
        for name in "ab"
    }


def test_the_gradient_by_the_inputs_is_computed_last():
    layer = make()
    layer.build((None, 8))
    products = needed_products(layer)
    (by_kernel,), (by_inputs,) = products["a"], products["b"]
    assert by_kernel in by_inputs.control_inputs


def test_no_gradient_is_computed_by_a_kernel_that_is_frozen():
    layer = make()
    layer.build((None, 8))
    layer.kernel.trainable = False
    products = needed_products(layer)
    assert not products["a"]
    assert len(products["b"]) == 1


def test_can_be_quantized():
    layer = make()
    expected = layer(X)
    layer.quantize("int8")
    assert layer.quantization_mode == "int8"
    np.testing.assert_allclose(layer(X), expected, atol=0.1)
    assert np.isfinite(layer(X, training=True)).all()
