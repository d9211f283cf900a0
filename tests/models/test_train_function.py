"""Steps of `fit`, which are one graph, against those that Keras makes."""

import random

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.config import ModelConfig
from keras_transformer.models import build_transformer
from keras_transformer.models.transformer import Transformer
from keras_transformer.ops.tensorflow.training_step import train_function
from keras_transformer.training.loss import SmoothedCrossEntropy
from tests.toy_models import assert_same_weights

CONFIG = ModelConfig(
    num_encoder_layers=1,
    num_decoder_layers=1,
    d_model=8,
    num_heads=2,
    d_ff=16,
    max_length=12,
)
IDS = np.random.default_rng(1).integers(4, 9, (2, 24, 6)).astype("int32")
FEATURES = {"source_ids": IDS[0], "target_ids": IDS[1, :, :-1]}
LABELS = IDS[1, :, 1:]


def compiled(**options):
    random.seed(1)
    model = build_transformer(CONFIG, 9, 9)
    model.compile("adam", SmoothedCrossEntropy(0.1), **options)
    return model


def by_fit(model):
    weights = np.linspace(0, 1, len(LABELS), dtype="float32")
    history = model.fit(
        FEATURES,
        LABELS,
        batch_size=8,
        epochs=2,
        sample_weight=weights,
        shuffle=False,
        verbose=0,
    )
    return history.history["loss"]


def by_batch(model):
    return [model.train_on_batch(FEATURES, LABELS) for _ in range(2)]


def by_both(model):
    return by_fit(model) + by_batch(model) + by_fit(model)


@pytest.mark.parametrize(
    ("train", "options"),
    [
        pytest.param(by_both, {}, marks=pytest.mark.slow),
        # Keras' own function both times, see the next test.
        pytest.param(
            by_fit, {"steps_per_execution": 2}, marks=pytest.mark.slow
        ),
        pytest.param(by_batch, {"run_eagerly": True}, marks=pytest.mark.slow),
    ],
)
def test_trains_as_keras_does(train, options, monkeypatch):
    ours = compiled(**options)
    losses = train(ours)
    assert np.isfinite(losses).all()
    plain = keras.Model.make_train_function
    monkeypatch.setattr(Transformer, "make_train_function", plain)
    theirs = compiled(**options)
    np.testing.assert_allclose(losses, train(theirs), rtol=1e-5)
    assert_same_weights((ours, theirs), 1e-5)


@pytest.mark.parametrize(
    "options",
    [{"steps_per_execution": 2}, {"run_eagerly": True}, {"jit_compile": True}],
    ids=lambda options: next(iter(options)),
)
def test_keras_makes_steps_that_are_more_than_one_graph(options):
    assert train_function(compiled(**options), None) is NotImplemented
    assert train_function(compiled(), None) is not NotImplemented


@pytest.mark.slow
def test_a_strategy_trains_as_keras_does(monkeypatch):
    def trained():
        with tf.distribute.MirroredStrategy(["CPU:0"]).scope():
            model = compiled()
        return model, by_fit(model)

    ours, losses = trained()
    assert np.isfinite(losses).all()
    plain = keras.Model.make_train_function
    monkeypatch.setattr(Transformer, "make_train_function", plain)
    theirs, expected = trained()
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    assert_same_weights((ours, theirs), 1e-5)


@pytest.fixture(scope="module")
def trained():
    """A model after `fit`, and how deep in graphs its steps were traced."""
    depths = []
    plain = Transformer.train_step

    def watched(self, data):
        graph, depth = tf.compat.v1.get_default_graph(), 0
        while graph is not None:
            graph, depth = getattr(graph, "outer_graph", None), depth + 1
        depths.append(depth)
        return plain(self, data)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Transformer, "train_step", watched)
        model = compiled()
        by_fit(model)
    return model, depths


def test_steps_are_traced_in_the_graph_that_runs(trained):
    """Not in a graph inside another, of which more copies are kept."""
    # The step's graph, and the empty one outside of all functions.
    assert set(trained[1]) == {2}


def test_compiling_again_makes_the_step_again(trained):
    model, _ = trained
    model.compile(keras.optimizers.SGD(0.0), SmoothedCrossEntropy(0.1))
    before = [weight.numpy() for weight in model.trainable_weights]
    by_fit(model)
    for old, weight in zip(before, model.trainable_weights, strict=True):
        np.testing.assert_array_equal(old, weight.numpy())
