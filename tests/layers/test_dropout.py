import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.layers.dropout import ActivationDropout, Dropout
from keras_transformer.ops import dropout_matmul
from tests.layers.checks import check_layer

SHAPE = (3, 50, 67)  # not a multiple of the eight numbers drawn at a time


def dropped(rate, seed=1, dtype="float32", shape=SHAPE):
    layer = Dropout(rate, seed=seed, dtype=dtype)
    return np.array(
        keras.ops.cast(layer(np.ones(shape, dtype), training=True), "float32")
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda dtype: Dropout(0.3, dtype=dtype),
        lambda dtype: ActivationDropout(0.3, "gelu", dtype=dtype),
    ],
    ids=["dropout", "with an activation"],
)
def test_keeps_the_layer_contract(make):
    inputs = {"inputs": np.ones((2, 3), "float32")}
    check_layer(make, inputs, weight_count=0, seed_count=1)


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5, 0.99])
def test_drops_its_share_and_keeps_the_mean(rate):
    output = dropped(rate, shape=(400, 501))
    share = (output == 0).mean()
    assert share == pytest.approx(rate, abs=0.005)
    kept = np.unique(output[output > 0])
    assert len(kept) == 1  # all that is kept is scaled alike
    # Exactly unbiased: scaled by the share that this call drew.
    shares = np.floor(rate * 256) / 256, np.floor(rate * 256 + 1) / 256
    assert kept[0] in np.float32([1 / (1 - s) for s in shares if s < 1])


@pytest.mark.medium
def test_the_shares_of_calls_average_to_the_rate():
    layer = Dropout(0.1, seed=1)
    ones = np.ones((4, 16), "float32")
    scales = [np.array(layer(ones, training=True)).max() for _ in range(600)]
    shares = 1 - 1 / np.array(scales)
    # 25 or 26 of 256, and 26 in 0.6 of the calls: a standard deviation of
    # 0.02 for the share of calls.
    assert set(np.round(256 * shares)) == {25, 26}
    assert np.mean(256 * shares) == pytest.approx(25.6, abs=0.08)


def test_every_place_is_dropped_as_often():
    layer = Dropout(0.5, seed=3)
    ones = np.ones((8, 9), "float32")
    kept = sum(np.array(layer(ones, training=True)) > 0 for _ in range(400))
    # 72 binomial counts of 400 with a standard deviation of 10.
    assert kept.min() > 150
    assert kept.max() < 250


def test_calls_and_seeds_differ_and_repeat():
    layer = Dropout(0.5, seed=1)
    ones = np.ones(SHAPE, "float32")
    first, second = (np.array(layer(ones, training=True)) for _ in range(2))
    assert (first != second).mean() > 0.4
    np.testing.assert_array_equal(first, dropped(0.5, seed=1))
    assert (first != dropped(0.5, seed=2)).mean() > 0.4


@pytest.mark.parametrize("rate", [0.0, 1e-7, 0.5])
def test_nothing_is_dropped_outside_training(rate):
    ones = np.ones(SHAPE, "float32")
    np.testing.assert_array_equal(Dropout(rate)(ones), ones)


@pytest.mark.parametrize("rate", [0.0, 1e-7, 0.9999, 1.0])
def test_rates_at_the_ends(rate):
    output = dropped(rate)
    assert (output == 0).mean() == pytest.approx(rate, abs=1e-3)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_lower_precision(dtype):
    layer = Dropout(0.25, seed=1, dtype=dtype)
    ones = keras.ops.ones(SHAPE, dtype)
    output = layer(ones, training=True)
    assert output.dtype == ones.dtype
    share = np.mean(np.array(keras.ops.cast(output, "float32")) == 0)
    assert share == pytest.approx(0.25, abs=0.02)


def test_an_empty_batch():
    assert dropped(0.5, shape=(0, 5)).shape == (0, 5)


def test_gradients_go_where_the_values_went():
    x = tf.Variable(np.full(SHAPE, 2.0, "float32"))
    with tf.GradientTape() as tape:
        output = Dropout(0.5, seed=1)(x, training=True)
    np.testing.assert_allclose(tape.gradient(output, x), output / 2)


def dropped_product(layer, x, y):
    """The product of `x` and `y`, by the operation that drops inside."""
    rate, seed_generator = layer.rate_and_seed(training=True)
    return dropout_matmul(x, y, rate, seed_generator) if rate else x @ y


@pytest.mark.parametrize("batch", [2, 1])
@pytest.mark.parametrize("rate", [0.0, 0.4, 0.999])
def test_a_product_is_that_of_what_is_kept(rate, batch):
    random = np.random.default_rng(1)
    x = tf.Variable(random.normal(size=(2, 3, 5, 7)), dtype="float32")
    y = tf.Variable(random.normal(size=(batch, 3, 7, 4)), dtype="float32")
    weights = random.normal(size=(2, 3, 5, 4)).astype("float32")
    found = []
    for product in (
        lambda: dropped_product(Dropout(rate, seed=1), x, y),
        lambda: tf.matmul(Dropout(rate, seed=1)(x, training=True), y),
    ):
        with tf.GradientTape() as tape:
            result = product()
            loss = tf.reduce_sum(result * weights)
        found.append([result, *tape.gradient(loss, [x, y])])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)


def test_a_product_drops_nothing_outside_training():
    assert Dropout(0.5).rate_and_seed(training=False) == (0.0, None)
    assert Dropout(0.0).rate_and_seed(training=True) == (0.0, None)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_product_of_lower_precision(dtype):
    ones = tf.ones((40, 50), dtype)
    layer = Dropout(0.25, dtype=dtype)
    product = dropped_product(layer, ones, tf.transpose(ones[:1]))
    assert product.dtype == ones.dtype


@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_an_activation_comes_first(activation):
    x = np.random.default_rng(1).normal(size=SHAPE).astype("float32")
    layer = ActivationDropout(0.4, activation, seed=1)
    active = np.array(keras.activations.get(activation)(x))
    np.testing.assert_allclose(layer(x), active, atol=1e-6)
    variable = tf.Variable(x)
    with tf.GradientTape() as tape:
        output = layer(variable, training=True)
    gradient = tape.gradient(output, variable).numpy()
    # The same places and the same scale as dropout alone, and its gradient.
    plain = Dropout(0.4, seed=1)
    with tf.GradientTape() as tape:
        expected = plain(
            keras.activations.get(activation)(variable), training=True
        )
    np.testing.assert_allclose(output, expected, rtol=1e-6)
    np.testing.assert_allclose(
        gradient, tape.gradient(expected, variable), rtol=1e-5
    )


def test_a_noise_shape_is_kept():
    output = Dropout(0.5, noise_shape=(None, 1), seed=1)(
        np.ones((50, 4), "float32"), training=True
    )
    assert len({tuple(row) for row in np.array(output)}) == 2
