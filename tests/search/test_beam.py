import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.constants import END_ID, PAD_ID
from keras_transformer.search.beam import beam_search
from keras_transformer.search.constraints import (
    SearchConstraints,
    SentenceConstraints,
)
from keras_transformer.search.greedy import greedy_search
from keras_transformer.search.scoring import LengthPenalty
from tests.fake_models import (
    RecurrentModel,
    ScriptedModel,
    Watched,
    chain,
    exhaustive,
    random_sources,
    words,
)


def normalised(alpha):
    return SearchConstraints(penalty=LengthPenalty(alpha=alpha))


def run(model, source_ids, limits, beam_size, alpha=0.0, *options):
    sentences = SentenceConstraints(tf.constant(limits, tf.int32))
    return beam_search(
        model, source_ids, sentences, normalised(alpha), beam_size, *options
    )


@pytest.mark.parametrize("alpha", [0.0, 2.0])
@pytest.mark.parametrize("seed", range(2))
def test_a_beam_of_1_with_early_stopping_is_greedy_search(seed, alpha):
    model = RecurrentModel(seed, vocabulary_size=9)
    source_ids, lengths = random_sources(seed, rows=12)
    limits = 2 * lengths + 3
    expected = greedy_search(
        model, source_ids, SentenceConstraints(limits), normalised(alpha)
    )
    result = run(model, source_ids, limits, 1, alpha, 1, True)
    for name in result._fields:
        np.testing.assert_array_equal(
            getattr(result, name), getattr(expected, name), err_msg=name
        )
    assert 0 < np.mean(result.finished) < 1


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.5])
@pytest.mark.parametrize("seed", range(2))
def test_a_wide_beam_is_exhaustive_search(seed, alpha):
    model = RecurrentModel(seed, vocabulary_size=6)
    source_ids, _ = random_sources(seed, rows=2)
    limits = [3, 4]
    result = run(model, source_ids, limits, 121, alpha)
    single = run(model, source_ids, limits, 121, alpha, 1)
    for sentence, limit in enumerate(limits):
        every = exhaustive(model, source_ids[sentence].numpy(), limit, alpha)
        assert words(single, sentence) == list(every[0][2])
        for row, expected in enumerate(every):
            finished, score, ids, value = expected
            assert words(result, sentence, row) == list(ids)
            assert result.finished[sentence, row] == finished
            np.testing.assert_allclose(
                result.scores[sentence, row], score, atol=1e-5
            )
            np.testing.assert_allclose(
                result.log_probabilities[sentence, row], value, atol=1e-5
            )


def test_rows_beyond_the_possible_hypotheses_are_empty():
    # One word and END, two tokens at most: END; word END; word word.
    model = RecurrentModel(1, vocabulary_size=4)
    result = run(model, tf.constant([[5]]), [2], 5)
    np.testing.assert_array_equal(result.lengths[0], [1, 2, 2, 0, 0])
    assert np.isneginf(result.scores[0, 3:]).all()
    np.testing.assert_array_equal(result.ids[0, 3:], PAD_ID)
    assert not result.finished[0, 2:].numpy().any()


def test_ties_go_to_the_first_parent_and_the_lowest_id():
    model = ScriptedModel(np.zeros([1, 6, 6]))
    source_ids = tf.zeros([1, 1], tf.int32)
    result = run(model, source_ids, [3], 2, 0.6)
    # 1, END; 1 1, 1 END.
    assert words(result, row=0) == [END_ID]
    assert words(result, row=1) == [1, END_ID]


def test_endings_do_not_starve_the_beam():
    # The first step's two best are END and 4; 5 must still get its place.
    table = np.full([2, 6, 6], -20.0)
    table[0, :, [END_ID, 4, 5]] = np.array([[3.0], [2.9], [2.8]])
    table[1, 4, END_ID] = 0.0
    table[1, 5, END_ID] = 10.0
    table[1, 4, [1, 4, 5]] = 1.0
    result = run(ScriptedModel(table), tf.zeros([1, 1], tf.int32), [2], 2)
    actual = [words(result, row=row) for row in range(2)]
    assert actual == [[END_ID], [5, END_ID]]


@pytest.mark.parametrize("early_stopping", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_further_hypotheses_change_none_of_the_first(seed, early_stopping):
    model = Watched(RecurrentModel(seed))
    source_ids, lengths = random_sources(seed, rows=12)
    limits = lengths + 3
    options = 1.0, 3, early_stopping
    expected = run(model, source_ids, limits, 3, *options)
    steps = [*model.steps]
    result = run(model, source_ids, limits, 3, *options, 12)
    assert model.steps == 2 * steps
    for name in result._fields:
        np.testing.assert_array_equal(
            getattr(result, name)[:, :3], getattr(expected, name), err_msg=name
        )
    scores, finished = result.scores.numpy(), result.finished.numpy()
    exists = scores[:, 3:] > -np.inf
    assert exists.any()
    np.testing.assert_array_equal(finished[:, 3:], exists)
    assert (scores[:, 3:-1] >= scores[:, 4:]).all()
    assert (result.lengths.numpy()[:, 3:] > 0).sum() == exists.sum()


# When the search is done, with a sentence and with all of them.


def test_stops_when_no_live_hypothesis_can_win():
    model = Watched(ScriptedModel(chain(5, strength=12.0)))
    result = run(model, tf.zeros([2, 1], tf.int32), [50, 60], 4, 0.6, 1)
    assert model.steps == [0, 1]
    assert words(result) == [5, END_ID]


def late_winner():
    """END at once costs log 0.5; 4, 4, END costs as much but is longer."""
    table = np.log(np.full([3, 5, 5], 1e-9))
    table[0, :, [END_ID, 4]] = np.log(0.5)
    table[1, :, [END_ID, 4]] = np.log([[0.01], [0.99]])
    table[2, :, END_ID] = np.log(0.99)
    return ScriptedModel(table)


def test_early_stopping_ends_when_the_beam_is_full():
    source_ids = tf.zeros([1, 1], tf.int32)
    actual = {}
    for early_stopping in (True, False):
        model = Watched(late_winner())
        result = run(model, source_ids, [9], 2, 1.0, 2, early_stopping)
        actual[early_stopping] = [words(result, row=row) for row in range(2)]
        assert len(model.steps) == (2 if early_stopping else 3)
    assert actual[True] == [[END_ID], [4, END_ID]]
    assert actual[False] == [[4, 4, END_ID], [END_ID]]
