import math

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.training.loss import (
    SmoothedCrossEntropy,
    kl_constant,
)
from tests.processes import run_python

RNG = np.random.default_rng(1)
LOGITS = RNG.normal(size=(2, 3, 7)).astype("float32")
LABELS = np.array([[4, 6, 3], [5, 3, 0]], dtype="int32")


def smoothed_target(labels, size, epsilon):
    """The notebooks' table, one row per label."""
    table = np.full((len(labels), size), epsilon / (size - 2))
    table[np.arange(len(labels)), labels] = 1 - epsilon
    table[:, 0] = 0
    table[labels == 0] = 0
    return table


def log_softmax(logits):
    shifted = logits - logits.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


def test_equals_the_notebook_per_token(notebook):
    labels, logits = notebook["target_ids"][:, 1:], notebook["logits"]
    for epsilon, expected in zip(
        notebook["loss_eps"], notebook["loss"], strict=True
    ):
        loss = float(SmoothedCrossEntropy(float(epsilon))(labels, logits))
        constant = kl_constant(float(epsilon), logits.shape[-1])
        assert loss + constant == pytest.approx(float(expected), abs=1e-4)


@pytest.mark.parametrize("rows", [2, 3])
def test_a_weight_for_each_sentence_weighs_its_tokens(rows):
    # Three rows of three labels: a wrong axis would fit.
    labels = np.array([[3, 4, 5], [4, 5, 0], [6, 0, 0]])[:rows]
    logits = np.random.default_rng(3).normal(size=(rows, 3, 7))
    weights = np.array([0.5, 0.0, 2.0])[:rows]
    loss = SmoothedCrossEntropy(0.1)
    expected = float(loss(labels, logits, weights[:, None]))
    assert float(loss(labels, logits, weights)) == pytest.approx(expected)
    small = float(loss(labels, logits, weights * 1e-3))
    assert small == pytest.approx(expected * 1e-3, rel=1e-5)


def test_a_label_of_a_classifier_has_a_weight_as_in_keras():
    labels, weights = np.array([3, 1, 2]), np.array([1.0, 0.0, 0.5])
    logits = np.random.default_rng(3).normal(size=(3, 7)).astype("float32")
    keras_loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    expected = float(keras_loss(labels, logits, weights))
    found = float(SmoothedCrossEntropy()(labels, logits, weights))
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("weight", [1, 0.1])
def test_a_weight_of_all_sentences_is_a_factor_as_in_keras(weight):
    labels, logits, weights = LABELS[:1], LOGITS[:1], np.full((1, 1), weight)
    keras_loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    expected = float(keras_loss(labels, logits, weights))
    found = float(SmoothedCrossEntropy()(labels, logits, weights))
    assert found == pytest.approx(expected)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"padding_id": -100}, ValueError, "0 or more. Received: -100"),
        ({"label_smoothing": 1.0}, ValueError, "below 1. Received: 1.0"),
        ({"reduction": "sum"}, TypeError, "reduction"),
    ],
)
def test_wrong_options_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        SmoothedCrossEntropy(**options)


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_gradient_is_the_softmax_less_the_smoothed_target(epsilon):
    logits = tf.constant(LOGITS)
    with tf.GradientTape() as tape:
        tape.watch(logits)
        loss = SmoothedCrossEntropy(epsilon)(LABELS, logits)
    labels = LABELS.reshape(-1)
    expected = np.exp(log_softmax(LOGITS.reshape(-1, 7)))
    expected = expected - smoothed_target(labels, 7, epsilon)
    expected = np.where(labels[:, None] != 0, expected, 0) / 5
    np.testing.assert_allclose(
        tape.gradient(loss, logits), expected.reshape(LOGITS.shape), atol=1e-6
    )


def test_padding_may_be_impossible():
    logits = np.concatenate([LOGITS, LOGITS], axis=1)
    labels = np.pad(LABELS, [(0, 0), (0, 3)])
    logits[..., 0] = -np.inf
    value = float(SmoothedCrossEntropy()(labels, logits))
    others = float(SmoothedCrossEntropy()(LABELS[:1], logits[:1, :3]))
    assert math.isfinite(value)
    assert float(
        SmoothedCrossEntropy()(labels[:1], logits[:1])
    ) == pytest.approx(others)


@pytest.mark.parametrize("size", [1, 2])
def test_smoothing_needs_a_token_to_give_probability_to(size):
    labels, logits = np.zeros((1, 1), "int32"), np.zeros((1, 1, size))
    match = f"3 or more tokens.*Received: {size} and label_smoothing=0.1"
    with pytest.raises(ValueError, match=match):
        SmoothedCrossEntropy(0.1)(labels, logits)
    with pytest.raises(ValueError, match=match):
        kl_constant(0.1, size)
    assert np.isfinite(SmoothedCrossEntropy()(labels, logits))
    assert kl_constant(0.0, size) == 0.0


# Devices can't be divided once TensorFlow has used them.
REPLICAS = """
import keras, numpy as np, sys, tensorflow as tf
cpu, = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(
    cpu, [tf.config.LogicalDeviceConfiguration()] * 2
)
from keras_transformer.training.loss import SmoothedCrossEntropy
with tf.distribute.MirroredStrategy(sys.argv[1:]).scope():
    layer = keras.layers.Dense(7, kernel_initializer="zeros")
    model = keras.Sequential([keras.Input((3, 2)), layer])
    model.compile(keras.optimizers.SGD(1.0), SmoothedCrossEntropy(0.1))
x = np.arange(24, dtype="float32").reshape(4, 3, 2) / 24
y = np.arange(12).reshape(4, 3) % 6 + 1
loss = model.fit(x, y, batch_size=4, shuffle=False, verbose=0).history["loss"]
print(*loss, model.evaluate(x, y, verbose=0), *layer.kernel.numpy().ravel())
"""


@pytest.mark.medium
def test_replicas_train_as_one_device_does():
    one, two = (
        np.array(run_python("-c", REPLICAS, *names).stdout.split(), float)
        for names in (["CPU:0"], ["CPU:0", "CPU:1"])
    )
    np.testing.assert_allclose(one, two, rtol=1e-5, atol=1e-7)
