"""The encoder alone, with and without pooling."""

import dataclasses

import keras
import numpy as np
import pytest

from keras_transformer.models import build_encoder, build_transformer
from tests.models.test_transformer import CONFIG, SOURCE

POOLINGS = pytest.mark.parametrize("pooling", [None, "mean", "max"])


def build(pooling=None, **changes):
    keras.utils.set_random_seed(1)
    config = dataclasses.replace(CONFIG, **changes)
    return build_encoder(config, 12, pooling)


def test_it_is_the_transformers_encoder():
    whole, encoder = build_transformer(CONFIG, 12, 12), build()
    for layer in encoder.layers:
        if layer.weights:
            theirs = whole.get_layer(layer.name)
            layer.set_weights(theirs.get_weights())
    source = whole.get_layer("decoder_layer_0").input[1]
    expected = keras.Model(whole.input, source)(
        {"source_ids": SOURCE, "target_ids": SOURCE}
    )
    np.testing.assert_allclose(encoder(SOURCE), expected, atol=1e-5)


@POOLINGS
def test_a_text_does_not_depend_on_its_neighbours(pooling):
    encoder = build(pooling)
    together = np.array(encoder(SOURCE))
    alone = np.array(encoder(SOURCE[1:, :3]))
    if pooling is None:
        together = together[:, :3]
    np.testing.assert_allclose(alone[0], together[1], atol=1e-5)


@pytest.mark.parametrize("pooling", ["mean", "max"])
def test_a_text_without_tokens_gives_zeros(pooling):
    encoder = build(pooling)
    pooled = np.array(encoder(np.array([[0, 0, 0], [5, 6, 0]])))
    np.testing.assert_array_equal(pooled[0], 0.0)
    assert np.abs(pooled[1]).max() > 0
    assert np.array(encoder(np.zeros((2, 0), "int32"))).shape == (2, 8)


@pytest.mark.parametrize("pooling", [None, "mean"])
def test_saved_and_loaded_gives_the_same(pooling, tmp_path):
    encoder = build(pooling)
    scores = keras.layers.Dense(3)(encoder.output)
    model = keras.Model(encoder.input, scores)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(loaded(SOURCE), model(SOURCE), atol=1e-6)


def test_unknown_pooling_is_refused():
    with pytest.raises(ValueError, match="'mean' or 'max'. Received: 'cls'"):
        build("cls")
