"""Padding hides itself, and the future is hidden, in JAX's arrays, too."""

import keras
import numpy as np
import pytest

from keras_transformer.layers import (
    DecoderLayer,
    EncoderLayer,
    PositionalEmbedding,
)

IDS = np.array([[4, 5, 6, 7], [8, 3, 0, 0]])


@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_padding_changes_nothing(dtype):
    ids = keras.Input((None,), dtype=dtype)
    x = EncoderLayer(8, 2, 16)(PositionalEmbedding(9, 8)(ids))
    y = DecoderLayer(8, 2, 16)(PositionalEmbedding(9, 8)(ids), x)
    model = keras.Model(ids, keras.layers.GlobalAveragePooling1D()(y))
    padded = model.predict(IDS.astype(dtype), verbose=0)  # Compiled.
    alone = model.predict(IDS[1:, :2].astype(dtype), verbose=0)
    np.testing.assert_allclose(padded[1:], alone, atol=1e-5)


def test_attention_weights_are_those_of_a_call():
    layer = DecoderLayer(8, 2, 16, cross_attention=False)
    x = PositionalEmbedding(9, 8)(IDS)
    layer(x)
    weights = np.array(layer.attention_weights(x)[0])
    assert weights[1, ..., 2:].max() == 0
    assert weights[..., np.triu(np.ones((4, 4), bool), 1)].max() == 0
