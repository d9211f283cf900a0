"""Attention of a whole model against its layers, one after the other."""

import numpy as np
import pytest

from keras_transformer.layers import decoder_mask, padding_mask
from keras_transformer.models.attention_weights import attention_weights
from tests.toy_models import shared_transformer

SOURCE = np.array([[2, 5, 6, 7, 3], [2, 9, 3, 0, 0]], np.int32)
TARGET = np.array([[2, 8, 4, 11], [2, 5, 0, 0]], np.int32)


@pytest.fixture(params=["pre", "post", "pre, tied"])
def model(request):
    return shared_transformer(request.param)


def test_nothing_attends_to_a_hidden_start():
    model = shared_transformer("as Marian's")
    weights = attention_weights(model, SOURCE, TARGET)
    for part in (weights.encoder, weights.cross):
        np.testing.assert_array_equal(part[..., 0], 0)
        np.testing.assert_allclose(part.sum(axis=-1), 1, atol=1e-5)


def test_equals_the_layers_called_in_turn(model):
    layers = {layer.name: layer for layer in model.layers}
    found = attention_weights(model, SOURCE, TARGET)
    source_mask, target_mask = padding_mask(SOURCE), decoder_mask(TARGET)
    x = layers["source_embedding"](SOURCE)
    for number in range(2):
        layer = layers[f"encoder_layer_{number}"]
        np.testing.assert_allclose(
            found.encoder[number],
            layer.attention_weights(x, source_mask),
            atol=1e-5,
        )
        x = layer(x, attention_mask=source_mask)
    encoder_output = (
        layers["encoder_norm"](x) if "encoder_norm" in layers else x
    )
    x = layers["target_embedding"](TARGET)
    for number in range(3):
        layer = layers[f"decoder_layer_{number}"]
        masks = target_mask, source_mask
        both = layer.attention_weights(x, encoder_output, *masks)
        for ours, theirs in zip(
            (found.decoder, found.cross), both, strict=True
        ):
            np.testing.assert_allclose(ours[number], theirs, atol=1e-5)
        x = layer(
            x,
            encoder_output,
            self_attention_mask=target_mask,
            cross_attention_mask=source_mask,
        )
