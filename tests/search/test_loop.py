import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.config import ModelConfig
from keras_transformer.inference.incremental import IncrementalTransformer
from keras_transformer.models import build_transformer
from keras_transformer.search.beam import beam_search
from keras_transformer.search.constraints import (
    SearchConstraints,
    SentenceConstraints,
)
from keras_transformer.search.greedy import greedy_search
from tests.toy_models import randomise


@pytest.mark.parametrize("beam_size", [None, 2])
def test_a_graph_may_know_shapes_and_lengths(beam_size):
    keras.utils.set_random_seed(1)
    shape = ModelConfig(
        num_encoder_layers=1, num_decoder_layers=1, d_model=8, num_heads=2
    )
    model = build_transformer(shape, 9, 9)
    randomise(model, 1)
    steps = IncrementalTransformer(model)
    source_ids = tf.constant([[2, 5, 6, 3], [2, 7, 3, 0]])
    limits = tf.constant([20, 6])

    def ids(source_ids, limits):
        asked = SentenceConstraints(limits), SearchConstraints()
        if beam_size is None:
            return greedy_search(steps, source_ids, *asked).ids
        return beam_search(steps, source_ids, *asked, beam_size).ids

    expected = ids(source_ids, limits).numpy()
    both = tf.function(ids, autograph=False)(source_ids, limits)
    rows = tf.TensorSpec([None, None], tf.int32)
    length = tf.function(lambda s: ids(s, limits), [rows], autograph=False)
    for found in (both, length(source_ids)):
        np.testing.assert_array_equal(found, expected)
