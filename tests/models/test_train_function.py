"""Steps of `fit`, which are one graph, against those that Keras makes."""

import contextlib
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
from tests.toy_models import MODEL, assert_same_weights

IDS = np.random.default_rng(1).integers(4, 9, (2, 24, 6)).astype("int32")
FEATURES = {"source_ids": IDS[0], "target_ids": IDS[1, :, :-1]}
LABELS = IDS[1, :, 1:]


def compiled(**options):
    random.seed(1)
    model = build_transformer(ModelConfig(**MODEL), 9, 9)
    model.compile("adam", SmoothedCrossEntropy(0.1), **options)
    # Else each graph of a step is made twice.
    model.optimizer.build(model.trainable_variables)
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


def by_both(model):
    first = by_fit(model)
    batches = [model.train_on_batch(FEATURES, LABELS) for _ in range(2)]
    return first + batches + by_fit(model)


def mirrored():
    return tf.distribute.MirroredStrategy(["CPU:0"]).scope()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("train", "scope"), [(by_both, contextlib.nullcontext), (by_fit, mirrored)]
)
def test_trains_as_keras_does(train, scope, monkeypatch):
    def trained():
        with scope():
            model = compiled()
        return model, train(model)

    ours, losses = trained()
    assert np.isfinite(losses).all()
    plain = keras.Model.make_train_function
    monkeypatch.setattr(Transformer, "make_train_function", plain)
    theirs, expected = trained()
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    assert_same_weights((ours, theirs), 1e-5)


@pytest.mark.parametrize(
    "options",
    [{"steps_per_execution": 2}, {"run_eagerly": True}, {"jit_compile": True}],
    ids=lambda options: next(iter(options)),
)
def test_keras_makes_steps_that_are_more_than_one_graph(options):
    assert train_function(compiled(**options), None) is NotImplemented
    assert train_function(compiled(), None) is not NotImplemented


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
    model.optimizer.build(model.trainable_variables)
    before = [weight.numpy() for weight in model.trainable_weights]
    by_fit(model)
    for old, weight in zip(before, model.trainable_weights, strict=True):
        np.testing.assert_array_equal(old, weight.numpy())
