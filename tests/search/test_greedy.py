import numpy as np
import tensorflow as tf

from keras_transformer.constants import UNK_ID
from keras_transformer.search.constraints import (
    SearchConstraints,
    SentenceConstraints,
)
from keras_transformer.search.greedy import greedy_search
from keras_transformer.search.loop import SEGMENT
from keras_transformer.search.scoring import LengthPenalty
from tests.fake_models import ScriptedModel, Watched, chain, words


def run(model, source_ids, limits, alpha=0.0):
    return greedy_search(
        model,
        source_ids,
        SentenceConstraints(tf.constant(limits, tf.int32)),
        SearchConstraints(penalty=LengthPenalty(alpha=alpha)),
    )


def test_a_sentence_at_its_limit_is_unfinished():
    model = ScriptedModel(chain(5, 4, 6))
    result = run(model, tf.zeros([3, 1], tf.int32), [2, 4, 3])
    assert words(result, 0) == [5, 4]
    np.testing.assert_array_equal(result.lengths[:, 0], [2, 4, 3])
    np.testing.assert_array_equal(result.finished[:, 0], [False, True, False])


def test_stops_when_every_sentence_has_ended():
    model = Watched(ScriptedModel(chain(5)))
    run(model, tf.zeros([2, 1], tf.int32), [50, 60])
    assert model.steps == [0, 1]


def test_sentences_that_are_done_leave_the_batch():
    model = Watched(ScriptedModel(chain(*[4, 5, 6] * 10)))
    limits = [1, 2, 2, 3 * SEGMENT, 3]
    result = run(model, tf.zeros([5, 1], tf.int32), limits)
    assert model.batches == [5] * SEGMENT + [1] * 2 * SEGMENT
    np.testing.assert_array_equal(result.lengths[:, 0], limits)
    for row, limit in enumerate(limits):
        assert words(result, row) == ([4, 5, 6] * 10)[:limit]
        assert not result.ids[row, 0, limit:].numpy().any()


def test_of_equals_the_lowest_id_is_taken():
    result = run(
        ScriptedModel(np.zeros([1, 6, 6])), tf.zeros([1, 1], tf.int32), [1]
    )
    assert words(result) == [UNK_ID]
