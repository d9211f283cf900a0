"""The searches on the Transformer itself, with random weights."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.config import ModelConfig
from keras_transformer.decoding.beam import beam_search
from keras_transformer.decoding.greedy import greedy_search
from keras_transformer.decoding.scoring import (
    step_log_probabilities,
    token_log_probabilities,
)
from keras_transformer.models.incremental import IncrementalTransformer
from keras_transformer.models.transformer import build_transformer
from tests.decoding.fake_models import Uncached, random_sources


@pytest.fixture(scope="module", params=["pre", "post"])
def model(request):
    keras.utils.set_random_seed(1)
    config = ModelConfig(
        num_encoder_layers=2,
        num_decoder_layers=2,
        d_model=16,
        num_heads=2,
        d_ff=32,
        norm=request.param,
        max_length=32,
    )
    model = build_transformer(config, 20, 14)
    for weight in model.weights:
        # Enough for hypotheses that differ clearly in words and in score.
        if "embedding" in weight.path or "logits/kernel" in weight.path:
            weight.assign(3.0 * weight)
    return model


def full(model):
    return Uncached(
        lambda source_ids, target_ids: model(
            {"source_ids": source_ids, "target_ids": target_ids},
            training=False,
        )
    )


def traced(functions, beam_size):
    """The search as a graph; a beam size of None means greedy search."""

    def run(source_ids, limits):
        arguments = (functions.start, functions.step, source_ids, limits)
        if beam_size is None:
            return greedy_search(*arguments, 0.6)
        return beam_search(*arguments, beam_size, 0.6)

    return tf.function(
        run,
        input_signature=[
            tf.TensorSpec([None, None], tf.int32),
            tf.TensorSpec([None], tf.int32),
        ],
    )


@pytest.mark.parametrize("beam_size", [None, 4], ids=["greedy", "beam 4"])
def test_cached_search_equals_search_by_full_passes(model, beam_size):
    source_ids, lengths = random_sources(3, rows=6, longest=9)
    limits = lengths + 6
    found = traced(IncrementalTransformer(model), beam_size)(source_ids, limits)
    expected = traced(full(model), beam_size)(source_ids, limits)
    np.testing.assert_array_equal(found.ids, expected.ids)
    np.testing.assert_array_equal(found.finished, expected.finished)
    np.testing.assert_allclose(found.scores, expected.scores, atol=1e-4)
    assert len(np.unique(found.ids)) > 4, found.ids


def test_a_sentence_does_not_depend_on_its_neighbours(model):
    search = traced(IncrementalTransformer(model), 4)
    source_ids, lengths = random_sources(4, rows=6, longest=9)
    limits = lengths + 6
    together = search(source_ids, limits)
    for row in range(6):
        alone = search(
            source_ids[row : row + 1, : lengths[row]],
            limits[row : row + 1],
        )
        width = alone.ids.shape[2]
        np.testing.assert_array_equal(
            alone.ids[0], together.ids[row, :, :width]
        )
        np.testing.assert_allclose(
            alone.scores[0], together.scores[row], atol=1e-4
        )


def test_scores_are_those_of_a_full_pass(model):
    functions = IncrementalTransformer(model)
    source_ids, lengths = random_sources(5, rows=3)
    result = traced(functions, 3)(source_ids, lengths + 5)
    stepped = step_log_probabilities(
        functions.start, functions.step, source_ids, result.ids
    )
    for row in range(3):
        labels = result.ids[:, row]
        inputs = tf.pad(labels[:, :-1], [[0, 0], [1, 0]], constant_values=2)
        logits = model({"source_ids": source_ids, "target_ids": inputs})
        passed = token_log_probabilities(logits, labels)
        np.testing.assert_allclose(stepped[:, row], passed, atol=1e-4)
        np.testing.assert_allclose(
            result.log_probabilities[:, row],
            tf.reduce_sum(passed, axis=1),
            atol=1e-4,
        )
