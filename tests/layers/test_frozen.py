"""Frozen layers and models stay frozen when they are loaded or copied."""

import keras
import numpy as np
import pytest

from keras_transformer.config import ModelConfig
from keras_transformer.layers import EncoderLayer, FeedForward
from keras_transformer.models import (
    build_encoder,
    build_language_model,
    build_transformer,
)
from tests.layers.checks import ALL_LAYERS, IDS, model_of
from tests.toy_models import MODEL, NO_DROPOUT

CONFIG = ModelConfig(**MODEL, **NO_DROPOUT, positions="learned")


def saved(model, path):
    model.save(path / "model.keras")
    return keras.models.load_model(path / "model.keras")


# Loading begins with the model's `from_config`.
REVIVALS = {
    "loaded": saved,
    "cloned": lambda model, path: keras.models.clone_model(model),
}


def frozen(model):
    """Whether no weight of a model would be trained."""
    return not model.trainable_weights and not any(
        weight.trainable for weight in model.weights
    )


@pytest.mark.medium
@pytest.mark.parametrize("revive", REVIVALS.values(), ids=REVIVALS)
@pytest.mark.parametrize("when", ["made", "set", "built"])
@pytest.mark.parametrize("name", ALL_LAYERS)
def test_a_frozen_layer_stays_frozen(name, when, revive, tmp_path):
    make, inputs = ALL_LAYERS[name]
    layer = make(trainable=False) if when == "made" else make()
    if when == "set":
        layer.trainable = False
    model = model_of(layer, inputs)
    if when == "built":
        layer.trainable = False
    revived = revive(model, tmp_path)
    assert frozen(model)
    assert frozen(revived)
    assert len(revived.weights) == len(model.weights)
    revived.layers[-1].trainable = True
    assert len(revived.trainable_weights) == len(revived.weights)


MODELS = {
    "transformer": lambda: build_transformer(CONFIG, 9, 9),
    "encoder": lambda: build_encoder(CONFIG, 9, pooling="mean"),
    "language model": lambda: build_language_model(CONFIG, 9),
}


@pytest.mark.parametrize("revive", REVIVALS.values(), ids=REVIVALS)
@pytest.mark.parametrize("build", MODELS.values(), ids=MODELS)
def test_a_frozen_model_stays_frozen(build, revive, tmp_path):
    model = build()
    model.trainable = False
    assert frozen(model)
    assert frozen(revive(model, tmp_path))


@pytest.mark.parametrize("revive", REVIVALS.values(), ids=REVIVALS)
def test_layers_within_others_are_frozen_by_themselves(revive, tmp_path):
    model = keras.Sequential(
        [
            keras.Input((4, 8)),
            EncoderLayer(8, 2, 16, trainable=False),
            keras.Sequential(
                [EncoderLayer(8, 2, 16), FeedForward(16, 8, trainable=False)]
            ),
            keras.layers.TimeDistributed(keras.layers.Dense(3)),
        ]
    )
    for one in (model, revive(model, tmp_path)):
        assert len(one.trainable_weights) == 16 + 2
        assert len(one.weights) == 16 + 16 + 4 + 2


def test_training_goes_on_with_the_optimizers_state(tmp_path):
    encoder = build_encoder(CONFIG, 9, pooling="mean")
    encoder.get_layer("encoder_layer_0").trainable = False
    model = keras.Model(encoder.input, keras.layers.Dense(1)(encoder.output))
    model.compile(keras.optimizers.Adam(0.1), "mse", run_eagerly=True)
    labels = np.array([[1.0], [-1.0]], "float32")
    model.fit(IDS, labels, epochs=2, verbose=0)
    loaded = saved(model, tmp_path)
    count = len(model.optimizer.variables)
    assert len(loaded.optimizer.variables) == count
    for one in (model, loaded):
        one.fit(IDS, labels, epochs=2, verbose=0, shuffle=False)
    for ours, theirs in zip(model.weights, loaded.weights, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-6, err_msg=ours.path)
