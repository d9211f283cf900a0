"""Layers on JAX: the tests for every backend, and the export by Keras."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.layers import PositionalEmbedding
from tests.layers.test_dropout import (  # noqa: F401
    test_calls_and_seeds_differ_and_repeat,
    test_drops_its_share_and_keeps_the_mean,
    test_every_place_is_dropped_as_often,
    test_lower_precision,
    test_rates_at_the_ends,
    test_the_shares_of_calls_average_to_the_rate,
)
from tests.layers.test_hidden_positions import (  # noqa: F401
    test_a_decoder_layer_is_causal_in_a_graph_of_any_length,
    test_a_model_hides_padding,
    test_attention_is_causal_as_keras_own,
    test_attention_weights_are_those_of_the_call,
)


# Keras 3.15 passes an argument that JAX is going to drop.
@pytest.mark.filterwarnings("ignore:The `native_ser:DeprecationWarning")
@pytest.mark.parametrize("skip", [0, 1])
def test_an_export_takes_any_length(tmp_path, skip):
    ids = keras.Input((None,), dtype="int32")
    layer = PositionalEmbedding(9, 4, max_length=8)
    model = keras.Model(ids, layer(ids, skip=skip))
    model.export(tmp_path / "export", verbose=False)
    loaded = tf.saved_model.load(tmp_path / "export")
    for shape in [(2, 5), (1, 8)]:
        ids = np.full(shape, 7, "int32")
        np.testing.assert_allclose(
            loaded.serve(ids), model(ids), rtol=1e-5, atol=1e-6
        )
