"""Training on micro-batches of a batch side by side."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.config import ModelConfig
from keras_transformer.models import build_transformer
from keras_transformer.models.attention_weights import attention_weights
from keras_transformer.training.loss import SmoothedCrossEntropy
from keras_transformer.training.metrics import CrossEntropy, TokenAccuracy
from tests.toy_models import MODEL, NO_DROPOUT, assert_same_weights

CONFIG = ModelConfig(**MODEL, **NO_DROPOUT)


def batch(size):
    random = np.random.default_rng(1)
    ids = random.integers(4, 9, (2, size, 6)).astype("int32")
    ids[:, size // 2 :, 4:] = 0
    features = {"source_ids": ids[0], "target_ids": ids[1, :, :-1]}
    return features, ids[1, :, 1:]


def gradients(model, size):
    features, labels = batch(size)
    with tf.GradientTape() as tape:
        logits = model(features, training=True)
        loss = SmoothedCrossEntropy(0.1)(labels, logits)
    variables = [w.value for w in model.trainable_weights]
    found = tape.gradient(loss, variables)
    return logits, [tf.convert_to_tensor(g).numpy() for g in found]


@pytest.mark.parametrize(
    ("parts", "size"), [(2, 6), (2, 5), (3, 7), (2, 1), (4, 2)]
)
def test_the_micro_batches_are_the_whole(parts, size):
    model = build_transformer(CONFIG, 9, 9)
    whole, expected = gradients(model, size)
    in_parts = build_transformer(CONFIG, 9, 9, micro_batches=parts)
    in_parts.set_weights(model.get_weights())
    logits, found = gradients(in_parts, size)
    np.testing.assert_allclose(logits, whole, atol=1e-5)
    for gradient, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(gradient, other, atol=1e-5)


def compiled(parts):
    """A model, and a function that trains it, for losses and metrics."""
    keras.utils.set_random_seed(1)
    model = build_transformer(CONFIG, 9, 9, micro_batches=parts)
    model.compile(
        "adam",
        SmoothedCrossEntropy(0.1),
        metrics=[CrossEntropy(), TokenAccuracy()],
    )
    features, labels = batch(5)
    weights = np.linspace(0, 1, 5, dtype="float32")

    def train(epochs):
        options = {"batch_size": 5, "epochs": epochs, "verbose": 0}
        history = model.fit(features, labels, sample_weight=weights, **options)
        return history.history

    return model, train


def test_inputs_may_be_a_sequence():
    model = build_transformer(CONFIG, 9, 9, micro_batches=2)
    features, _ = batch(5)
    expected = model(features, training=True)
    with pytest.warns(UserWarning, match="structure"):  # Keras'
        found = model(list(features.values()), training=True)
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.medium
def test_a_step_in_micro_batches_is_a_step():
    (whole, train_whole), (model, train) = compiled(1), compiled(2)
    expected, found = train_whole(1), train(1)
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-5)
    assert_same_weights((model, whole), 1e-5)
    assert train(30)["loss"][-1] < found["loss"][0] - 0.3


LINKS = np.zeros((5, 5, 6), bool)
LINKS[0, 1, 2] = LINKS[0, 3, [0, 4]] = LINKS[4, 2, 1] = True


def guided(parts):
    keras.utils.set_random_seed(1)  # Not all weights learn in 40 steps.
    model = build_transformer(
        CONFIG, 9, 9, micro_batches=parts, alignment_head=[0, 1]
    )
    model.guided_alignment = 0.5
    model.compile("sgd", SmoothedCrossEntropy(0.1))
    return model


@pytest.mark.medium
@pytest.mark.parametrize("parts", [1, 2])
def test_the_guided_head_is_trained_on_links(parts):
    model = guided(parts)
    features, labels = batch(5)
    weights = attention_weights(model, *features.values()).cross[0, :, 1]
    chosen = weights[[0, 0, 0, 4], [1, 3, 3, 2], [2, 0, 4, 1]]
    # A mean over three tokens, one of which has two links.
    expected = -np.log(chosen) @ [1, 0.5, 0.5, 1] / 3
    logits = model(features, training=True)
    plain = SmoothedCrossEntropy(0.1)(labels, logits)
    given = {**features, "links": LINKS}
    loss = model.compute_loss(given, labels, model(given, training=True))
    np.testing.assert_allclose(loss, plain + 0.5 * expected, rtol=1e-5)
    history = model.fit(given, labels, batch_size=5, epochs=40, verbose=0)
    assert history.history["loss"][-1] < float(loss) - 0.1
    after = attention_weights(model, *features.values()).cross[0, :, 1]
    assert after[0, 1, 2] > weights[0, 1, 2] + 0.1
    scores = model.evaluate(features, labels, verbose=0)
    assert scores < history.history["loss"][0]


def test_without_links_no_loss_is_added():
    model = guided(2)
    features, labels = batch(5)
    logits = model(features, training=True)
    plain = SmoothedCrossEntropy(0.1)(labels, logits)
    for given in (features, {**features, "links": np.zeros_like(LINKS)}):
        loss = model.compute_loss(given, labels, logits)
        np.testing.assert_allclose(loss, plain, rtol=1e-6)


def test_micro_batches_drop_different_numbers():
    config = ModelConfig(**MODEL, dropout=0.5)
    model = build_transformer(config, 9, 9, micro_batches=2)
    features, _ = batch(1)
    twice = {name: np.repeat(ids, 2, 0) for name, ids in features.items()}
    first, second = np.array(model(twice, training=True))
    assert np.abs(first - second).max() > 1e-3
    first, second = np.array(model(twice, training=False))
    np.testing.assert_allclose(first, second, atol=1e-6)


def test_a_loss_that_takes_one_tensor_gets_one():
    losses = []
    features, labels = batch(6)
    for count in (1, 2):
        keras.utils.set_random_seed(1)
        model = build_transformer(CONFIG, 9, 9, micro_batches=count)
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(
            "sgd",
            loss,
            metrics=["accuracy", CrossEntropy()],
            run_eagerly=True,
        )
        history = model.fit(features, labels, epochs=2, verbose=0).history
        losses.append([history["loss"], history["cross_entropy"]])
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-5)
