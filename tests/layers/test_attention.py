import re

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.layers import MultiHeadAttention
from keras_transformer.layers.layer_normalization import LayerNormalization
from keras_transformer.layers.transformer_layers import PreNormAttention
from tests.layers.checks import check_gradients, check_layer

B, T, S, D = 2, 4, 5, 8


@pytest.fixture
def arrays():
    rng = np.random.default_rng(1)
    return {
        "query": rng.normal(size=(B, T, D)).astype("float32"),
        "value": rng.normal(size=(B, S, D)).astype("float32"),
    }


def make(dtype="float32", **options):
    return MultiHeadAttention(
        num_heads=2, d_model=D, dropout=0.1, dtype=dtype, **options
    )


def test_keeps_the_layer_contract(arrays):
    check_layer(make, arrays, weight_count=8, seed_count=1)
    check_gradients(make(), arrays)


def test_a_separate_key_is_used(arrays):
    layer = make()
    same = layer(arrays["query"], arrays["value"], key=arrays["value"])
    other = layer(arrays["query"], arrays["value"], key=-arrays["value"])
    omitted = layer(arrays["query"], arrays["value"])
    np.testing.assert_allclose(same, omitted)
    assert np.abs(np.array(other) - omitted).max() > 1e-3


@pytest.mark.parametrize(
    "policy", ["float32", "mixed_float16", "mixed_bfloat16"]
)
def test_a_fully_masked_row_is_finite(arrays, policy):
    layer = make(dtype=policy)
    mask = np.zeros((B, T, S), dtype=bool)
    output = layer(**arrays, attention_mask=mask)
    assert np.isfinite(np.array(keras.ops.cast(output, "float32"))).all()


@pytest.mark.parametrize("shape", [(B, S), (T, S), (S,), (B, 1, T, S)])
def test_a_mask_has_an_axis_for_queries(arrays, shape):
    layer = MultiHeadAttention(num_heads=2, d_model=D)
    mask = np.ones(shape, bool)
    says = re.escape(f"Received: {shape}. Reshape a padding mask")
    with pytest.raises(ValueError, match=says):
        layer(**arrays, attention_mask=mask)
    with pytest.raises(ValueError, match=says):
        layer.attention_weights(arrays["query"], arrays["value"], mask)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("normed", [("query",), ("query", "key", "value")])
def test_a_norm_inside_is_a_norm_before(arrays, training, normed):
    """Quantised; test_as_keras.py has the layers as they are trained."""
    norm, plain = LayerNormalization(), MultiHeadAttention(2, D)
    layer = PreNormAttention(2, D, norm=norm, inputs=normed)
    query = keras.ops.convert_to_tensor(arrays["query"])
    value = keras.ops.convert_to_tensor(arrays["value"])
    value = query if "value" in normed else value
    plain(query, value)
    norm.build(query.shape)
    random = np.random.default_rng(3)
    norm.set_weights([random.normal(size=D) for _ in range(2)])
    layer.build(query.shape, value.shape)
    assert len(layer.weights) == len(plain.weights)
    layer.set_weights(plain.get_weights())
    for one in (layer, plain):
        for dense in (one._query, one._key, one._value):
            dense.quantize("int8")
    got = layer(query, value, training=training)
    expected = plain(
        norm(query),
        norm(value) if "value" in normed else value,
        training=training,
    )
    np.testing.assert_allclose(got, expected, atol=1e-5)


@pytest.mark.parametrize("explicit", [False, True])
def test_implicit_masks_of_keys_are_honoured(arrays, explicit):
    embedding = keras.layers.Embedding(9, D, mask_zero=True)
    layer = MultiHeadAttention(num_heads=2, d_model=D)
    ids = np.array([[4, 5, 6, 0, 0], [4, 5, 6, 7, 8]])
    value, mask = embedding(ids), (ids != 0)[:, None]
    query = tf.constant(arrays["query"])
    causal = np.tril(np.ones((1, T, S), bool)) if explicit else None
    expected = layer(
        query,
        tf.constant(np.array(value)),
        attention_mask=mask & causal if explicit else mask,
    )
    got = layer(query, value, attention_mask=causal)
    np.testing.assert_allclose(got, expected, atol=1e-6)
    plain = tf.constant(np.array(value))
    key = layer(query, plain, key=value, attention_mask=causal)
    np.testing.assert_allclose(key, expected, atol=1e-6)
    weights = np.array(layer.attention_weights(query, value, causal))
    assert weights[0, ..., 3:].max() == 0
    if not explicit:
        assert weights[1].min() > 0


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("batches", ["same", "both", "one query", "one value"])
def test_gradients_in_training_are_those_outside(arrays, masked, batches):
    layer = MultiHeadAttention(num_heads=2, d_model=D)
    query = tf.constant(arrays["query"][: 1 if batches == "one query" else B])
    value = tf.constant(arrays["value"][: 1 if batches == "one value" else B])
    value = query if batches == "same" else value
    mask = np.ones((B, query.shape[1], value.shape[1]), bool)
    mask[:, :, -1], mask[0, 0] = False, False
    layer(query, value)
    found = []
    for training in (False, True):
        with tf.GradientTape() as tape:
            tape.watch([query, value])
            y = layer(
                query,
                value,
                attention_mask=mask if masked else None,
                training=training,
            )
            loss = tf.reduce_sum(tf.square(y))
        variables = [w.value for w in layer.trainable_weights]
        found.append([y, *tape.gradient(loss, [query, value, *variables])])
    for outside, inside in zip(*found, strict=True):
        np.testing.assert_allclose(inside, outside, atol=1e-5)


@pytest.mark.parametrize("use_bias", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16"])
def test_one_product_equals_three(arrays, use_bias, dtype):
    layer = make(dtype, use_bias=use_bias, bias_initializer="glorot_uniform")
    query = keras.ops.cast(arrays["query"], layer.compute_dtype)
    mask = np.tril(np.ones((1, T, T), dtype=bool))
    together = layer(query, query, attention_mask=mask)
    apart = layer(query, query, key=query, attention_mask=mask)
    np.testing.assert_allclose(
        *(keras.ops.cast(x, "float32") for x in (together, apart)),
        atol=1e-5 if dtype == "float32" else 0.05,
    )


def test_attention_weights_are_those_that_mix_the_values(arrays):
    layer = make()
    mask = np.tril(np.ones((1, T, S), dtype=bool))
    expected = layer(**arrays, attention_mask=mask)
    query, key = arrays["query"], arrays["value"]
    weights = layer.attention_weights(query, key, mask)
    assert tuple(weights.shape) == (B, 2, T, S)
    _, values = layer.project(key)
    mixed = keras.ops.matmul(weights, values)  # (B, N, T, H)
    mixed = keras.ops.reshape(
        keras.ops.transpose(mixed, (0, 2, 1, 3)), (B, T, D)
    )
    output = next(w for w in layer.weights if "output/kernel" in w.path)
    np.testing.assert_allclose(
        keras.ops.matmul(mixed, output), expected, atol=1e-5
    )


@pytest.mark.parametrize("floatx", ["bfloat16", "float16"])
def test_masks_are_finite_whatever_floatx_is(floatx):
    before = keras.config.floatx()
    keras.config.set_floatx(floatx)
    try:
        layer = MultiHeadAttention(num_heads=2, d_model=D)
        x = keras.ops.ones((1, 3, D))
        mask = np.zeros((1, 1, 3), bool)
        output = layer(x, x, attention_mask=mask)
    finally:
        keras.config.set_floatx(before)
    assert np.isfinite(np.array(output, "float32")).all()


def test_one_key_has_all_the_attention_and_no_warning():
    layer = MultiHeadAttention(num_heads=2, d_model=8)
    x = np.ones((2, 1, 8), "float32")
    np.testing.assert_array_equal(layer.attention_weights(x, x), 1.0)
    mask = np.zeros((2, 1, 1), "bool")
    np.testing.assert_array_equal(layer.attention_weights(x, x, mask), 1.0)


@pytest.mark.parametrize("same", [False, True])
def test_texts_without_positions_stay_as_many(same):
    layer = MultiHeadAttention(num_heads=2, d_model=D)
    nothing, some = np.zeros((5, 0, D)), np.zeros((5, 3, D))
    x = keras.ops.convert_to_tensor(nothing)
    assert layer(x, x if same else some).shape == (5, 0, D)
    assert layer.attend(x, *layer.project(x)).shape == (5, 0, D)
