import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.training.optimizer import DenseAdam

SLICES = np.array([[1, 1], [2, -1], [0.5, 3]], "float32")
ROWS = [1, 1, 3]  # the second row twice, as a token that stands twice


def adam(gradients, rate=0.1, beta_1=0.9, beta_2=0.98, epsilon=1e-9):
    """Algorithm 1 of Kingma and Ba, from a weight of zeros."""
    weight = mean = square = np.zeros_like(gradients[0])
    for step, gradient in enumerate(gradients, 1):
        mean = beta_1 * mean + (1 - beta_1) * gradient
        square = beta_2 * square + (1 - beta_2) * gradient**2
        scale = np.sqrt(square / (1 - beta_2**step)) + epsilon
        weight = weight - rate * mean / (1 - beta_1**step) / scale
    return weight


@pytest.mark.parametrize("sparse", [True, False])
def test_equals_the_algorithm_also_for_repeated_rows(sparse):
    optimizer = DenseAdam(0.1, beta_1=0.9, beta_2=0.98, epsilon=1e-9)
    weight = keras.Variable(np.zeros((5, 2), "float32"))
    dense = []
    for step in range(1, 4):
        gradient = tf.IndexedSlices(
            tf.constant(SLICES * step), tf.constant(ROWS), tf.constant([5, 2])
        )
        dense.append(tf.convert_to_tensor(gradient).numpy())
        optimizer.apply([gradient if sparse else dense[-1]], [weight])
    np.testing.assert_allclose(weight.numpy(), adam(dense), atol=1e-5)


@pytest.mark.parametrize("amsgrad", [False, True])
def test_equals_keras_adam(amsgrad):
    random = np.random.default_rng(1)
    start = random.normal(size=(40, 3)).astype("float32")
    gradients = random.normal(size=(20, 40, 3)).astype("float32")
    weights = []
    for kind in (DenseAdam, keras.optimizers.Adam):
        weight = keras.Variable(start)
        optimizer = kind(0.02, beta_2=0.98, epsilon=1e-9, amsgrad=amsgrad)
        for gradient in gradients:
            optimizer.apply([tf.constant(gradient)], [weight])
        weights.append(weight.numpy())
        assert int(optimizer.iterations) == 20
    np.testing.assert_allclose(*weights, atol=1e-5)


def test_weights_of_half_precision_stay_numbers():
    weight = keras.Variable(np.ones(4, "float32"), dtype="bfloat16")
    optimizer = DenseAdam(0.01)
    for _ in range(20):
        optimizer.apply([2 * weight], [weight])
    assert np.all(np.isfinite(np.array(weight, "float32")))


def test_takes_keras_options():
    weight = keras.Variable(np.zeros(4, "float32"))
    optimizer = DenseAdam(
        1.0, global_clipnorm=1e-9, epsilon=1.0, gradient_accumulation_steps=2
    )
    for _ in range(2):
        np.testing.assert_array_equal(weight.numpy(), 0)
        optimizer.apply([tf.constant([3.0, -4.0, 0.0, 9.0])], [weight])
    # Tiny beside epsilon, which Keras adds before it corrects the bias, so
    # the step is the clipped gradient times the correction.
    step = np.array([3, -4, 0, 9]) / np.sqrt(106) * 1e-9 * np.sqrt(0.001)
    np.testing.assert_allclose(weight.numpy(), -step, rtol=1e-3)
