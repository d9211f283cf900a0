import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.config import DecodingConfig
from keras_transformer.decoding.beam import beam_search
from keras_transformer.decoding.greedy import greedy_search
from keras_transformer.decoding.search import search
from tests.decoding.fake_models import RecurrentModel, random_sources


def traced(model, config, num_hypotheses=None):
    """The search as a graph that knows neither batch size nor lengths."""
    return tf.function(
        lambda source_ids, limits: search(
            model.start, model.step, source_ids, limits, config, num_hypotheses
        ),
        input_signature=[
            tf.TensorSpec([None, None], tf.int32),
            tf.TensorSpec([None], tf.int32),
        ],
    )


def test_the_configuration_chooses_the_search():
    model = RecurrentModel(1)
    source_ids, lengths = random_sources(1)
    arguments = (model.start, model.step, source_ids, lengths + 4)
    for config, expected in [
        (
            DecodingConfig(beam_size=1, length_penalty=0.8),
            greedy_search(*arguments, alpha=0.8),
        ),
        (
            DecodingConfig(beam_size=3, length_penalty=0.8),
            beam_search(*arguments, beam_size=3, alpha=0.8),
        ),
    ]:
        found = search(*arguments, config)
        np.testing.assert_array_equal(found.ids, expected.ids)
        np.testing.assert_array_equal(found.scores, expected.scores)


@pytest.mark.parametrize("beam_size", [1, 3])
def test_a_graph_of_unknown_sizes_gives_the_same(beam_size):
    model = RecurrentModel(4, vocabulary_size=11)
    config = DecodingConfig(beam_size=beam_size)
    graph = traced(model, config)
    for rows in (0, 1, 5):
        source_ids, lengths = random_sources(rows, rows=rows)
        limits = 2 * lengths + 1
        found = graph(source_ids, limits)
        expected = search(model.start, model.step, source_ids, limits, config)
        np.testing.assert_array_equal(found.ids, expected.ids)
        np.testing.assert_array_equal(found.lengths, expected.lengths)
        np.testing.assert_array_equal(found.finished, expected.finished)
        np.testing.assert_allclose(found.scores, expected.scores, rtol=1e-6)
    assert graph.experimental_get_tracing_count() == 1


@pytest.mark.parametrize("beam_size", [1, 3])
def test_what_beams_share_stays_as_it_is(beam_size):
    model = RecurrentModel(4)
    source_ids, lengths = random_sources(4)
    cache = model.start(source_ids, beam_size, 9)
    seen = []

    def step(ids, cache, index):
        seen.append(cache.source[0])
        return model.step(ids, cache, index)

    config = DecodingConfig(beam_size=beam_size)
    search(lambda *_: cache, step, source_ids, lengths + 3, config)
    assert len(seen) > 2
    assert all(source is cache.source[0] for source in seen)


@pytest.mark.parametrize("beam_size", [1, 3])
def test_num_hypotheses_gives_the_width_of_the_result(beam_size):
    graph = traced(RecurrentModel(4), DecodingConfig(beam_size=beam_size), 1)
    source_ids, lengths = random_sources(1)
    assert graph(source_ids, lengths).scores.shape == (5, 1)
