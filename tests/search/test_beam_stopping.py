"""When beam search is done, with a sentence and with all of them."""

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.constants import END_ID
from keras_transformer.search.beam import beam_search
from keras_transformer.search.constraints import (
    SearchConstraints,
    SentenceConstraints,
)
from keras_transformer.search.loop import SEGMENT
from keras_transformer.search.scoring import ScorePenalties
from tests.fake_models import (
    RecurrentModel,
    ScriptedModel,
    Watched,
    chain,
    random_sources,
    words,
)


def run(model, source_ids, limits, beam_size, alpha, *options):
    return beam_search(
        model,
        source_ids,
        SentenceConstraints(tf.constant(limits, tf.int32)),
        SearchConstraints(penalties=ScorePenalties(alpha=alpha)),
        beam_size,
        *options,
    )


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


@pytest.mark.parametrize("seed", range(3))
def test_early_stopping_never_finds_better(seed):
    model = RecurrentModel(seed, vocabulary_size=12)
    source_ids, _ = random_sources(seed, rows=12)
    early = run(model, source_ids, [20] * 12, 3, 1.0, 1, True)
    late = run(model, source_ids, [20] * 12, 3, 1.0, 1, False)
    both = (early.finished & late.finished).numpy()
    assert both.any()
    difference = (late.scores - early.scores).numpy()[both]
    assert (difference > -1e-5).all()


@pytest.mark.medium
@pytest.mark.parametrize("beam_size", [1, 3])
def test_sentences_that_are_done_leave_the_batch(beam_size):
    model = Watched(RecurrentModel(3, vocabulary_size=30))
    source_ids, _ = random_sources(3, rows=8)
    limits = [2, 3, 9, 10, 18, 19, 26, 30]
    together = run(model, source_ids, limits, beam_size, 0.6)
    assert model.batches[0] == 8
    assert model.batches[-1] < 4
    assert len(model.batches) > 3 * SEGMENT
    for row in range(8):
        alone = run(
            model,
            source_ids[row : row + 1],
            limits[row : row + 1],
            beam_size,
            0.6,
        )
        width = alone.ids.shape[2]
        for name in ("ids", "scores", "lengths", "finished"):
            expected = getattr(together, name)[row]
            if name == "ids":
                assert not expected[:, width:].numpy().any()
                expected = expected[:, :width]
            np.testing.assert_allclose(
                getattr(alone, name)[0], expected, rtol=1e-5, err_msg=name
            )
