import math

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.layers import PositionalEmbedding, sinusoids
from tests.layers.checks import check_gradients, check_layer

IDS = np.array([[2, 5, 3, 0], [2, 3, 0, 0]], dtype="int32")


def make(dtype="float32", positions="learned"):
    return PositionalEmbedding(
        10, 8, max_length=6, dropout=0.1, positions=positions, dtype=dtype
    )


@pytest.mark.parametrize(
    ("positions", "weights"),
    [("learned", 2), ("sinusoidal", 1), ("tensor2tensor", 1)],
)
def test_keeps_the_layer_contract(positions, weights):
    def make_one(dtype):
        return make(dtype, positions)

    check_layer(make_one, {"inputs": IDS}, weights, seed_count=1)
    check_gradients(make("float32", positions), {"inputs": IDS})


def test_tensor2tensor_reaches_the_longest_wave():
    table = sinusoids(4, 6, "tensor2tensor")
    angles = [3, 3 * 10000**-0.5, 3 / 10000]
    expected = [f(a) for a in angles for f in (math.sin, math.cos)]
    np.testing.assert_allclose(table[3], expected, atol=1e-7)
    np.testing.assert_allclose(
        sinusoids(4, 2, "tensor2tensor"), sinusoids(4, 2)
    )


def test_skipped_ids_have_the_first_position():
    layer = make(positions="tensor2tensor")
    whole = np.array(layer(IDS))
    skipped = np.array(layer(np.pad(IDS, ((0, 0), (2, 0))), skip=2))
    np.testing.assert_allclose(skipped[:, 2:], whole, atol=1e-6)
    padding = np.array(layer(IDS * 0))
    np.testing.assert_allclose(skipped[:, :1], padding[:, :1], atol=1e-6)
    np.testing.assert_allclose(skipped[:, 1:2], padding[:, :1], atol=1e-6)


def test_sinusoids_equal_the_notebook(notebook):
    expected = notebook["positional_encoding"]
    np.testing.assert_allclose(sinusoids(64, 16), expected, atol=1e-6)


def test_is_scaled_embedding_plus_position():
    layer = make(positions="sinusoidal")
    output = layer(IDS)
    embeddings = layer.get_weights()[0]
    expected = embeddings[IDS] * math.sqrt(8) + sinusoids(4, 8)
    np.testing.assert_allclose(output, expected, atol=1e-6)


def test_positions_may_be_counted_from_another_number():
    layer = PositionalEmbedding(10, 8, max_length=6, first_position=2)
    layer.build()
    np.testing.assert_allclose(
        layer.position_table(), sinusoids(8, 8)[2:], atol=1e-6
    )


def test_reverse_projects_on_the_same_matrix():
    layer = make()
    x = np.array(layer(IDS))
    matrix = next(w for w in layer.weights if "tokens" in w.path).numpy()
    np.testing.assert_allclose(layer(x, reverse=True), x @ matrix.T, atol=1e-5)


@pytest.mark.parametrize("trainable", [True, False])
def test_reverse_trains_as_outside_training(trainable):
    layer = make()
    x = tf.convert_to_tensor(layer(IDS))
    (matrix,) = (w for w in layer.weights if "tokens" in w.path)
    matrix.trainable = trainable
    found = []
    for training in (False, True):
        with tf.GradientTape() as tape:
            tape.watch([x, matrix.value])
            y = layer(x, reverse=True, training=training)
            loss = tf.reduce_sum(tf.square(y))
        found.append([y, *tape.gradient(loss, [x, matrix.value])])
    for outside, inside in zip(*found, strict=True):
        np.testing.assert_allclose(inside, outside, rtol=1e-4, atol=1e-5)


def test_a_sequence_longer_than_the_positions_is_refused():
    with pytest.raises(ValueError, match="max_length=6.*sequence of 7"):
        make()(np.ones((1, 7), dtype="int32"))
    # Also in a graph of a known length.
    model = keras.Sequential([make()])
    with pytest.raises(ValueError, match="max_length=6.*Received:.* of 9"):
        model.predict(np.ones((2, 9), "int32"), verbose=0)


@pytest.mark.parametrize(
    "ids", [IDS[None], IDS[0], keras.Input((1, 4), dtype="int32")]
)
def test_ids_of_other_axes_are_refused(ids):
    with pytest.raises(ValueError, match="have the shape .batch, length"):
        make()(ids)


def test_vectors_start_the_rows_they_have():
    layer = make()
    layer.build((None, None))
    matrix = next(w for w in layer.weights if "tokens" in w.path)
    before = matrix.numpy()
    vectors = np.full((10, 8), np.nan, dtype="float32")
    vectors[5] = np.arange(8)
    layer.set_vectors(vectors)
    after = matrix.numpy()
    np.testing.assert_allclose(after[5] * math.sqrt(8), np.arange(8), atol=1e-5)
    np.testing.assert_array_equal(
        np.delete(after, 5, 0), np.delete(before, 5, 0)
    )


@pytest.mark.parametrize("dtype", ["mixed_bfloat16", "mixed_float16"])
def test_ids_that_half_precision_rounds_are_refused(dtype):
    layer = PositionalEmbedding(5000, 8, dtype=dtype)
    with pytest.raises(ValueError, match=r"Accepted: integers, .* mixed_"):
        layer(np.array([[2049.0, 4097.0]]))
    ids = keras.Input((None,))  # Of floats, as Keras has it.
    model = keras.Model(ids, layer(ids))
    with pytest.raises(ValueError, match="Accepted: integers"):
        model(np.array([[2049, 4097]]))
    # In single precision they are whole.
    single = PositionalEmbedding(5000, 8)
    single(np.array([[2049.0, 4097.0]], "float32"))
