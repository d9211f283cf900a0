import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.config import DecodingConfig
from keras_transformer.constants import END_ID, PAD_ID, START_ID, UNK_ID
from keras_transformer.search.beam import beam_search
from keras_transformer.search.constraints import (
    SearchConstraints,
    SentenceConstraints,
    max_output_lengths,
)
from keras_transformer.search.greedy import greedy_search
from keras_transformer.search.scoring import LengthPenalty, log_normalizer
from tests.fake_models import (
    RecurrentModel,
    ScriptedModel,
    forced,
    random_sources,
    words,
)

BEAMS = pytest.mark.parametrize("beam_size", [0, 1, 4])  # 0: greedy
LIMITS = [20, 5, 11, 17, 9]


def apply(constraints, logits, ids, step, **per_sentence):
    """Which tokens stay allowed, and the logits, of one beam a sentence."""
    logits = tf.constant(logits, tf.float32)[:, tf.newaxis]
    ids = tf.constant(ids, tf.int32)[:, tf.newaxis]
    sentences = SentenceConstraints(
        tf.fill([logits.shape[0]], 9), **per_sentence
    )
    actual = constraints.apply(
        logits, log_normalizer(logits), ids, sentences, tf.constant(step)
    )
    actual = actual.numpy()[:, 0]
    allowed = [np.flatnonzero(np.isfinite(row)).tolist() for row in actual]
    return allowed, actual


def run(model, beam_size, limits=LIMITS, per_sentence=None, seed=1, **options):
    """The result of a search, and its sources."""
    source_ids, _ = random_sources(seed, rows=len(limits))
    sentences = SentenceConstraints(tf.constant(limits), **(per_sentence or {}))
    constraints = SearchConstraints(**options)
    if beam_size == 0:
        return greedy_search(model, source_ids, sentences, constraints)
    return beam_search(model, source_ids, sentences, constraints, beam_size)


def every_hypothesis(result):
    for sentence, row in np.argwhere(result.lengths.numpy() > 0):
        yield sentence, row, words(result, sentence, row)


def check_log_probabilities(model, result, seed=1):
    """They are what the model gives, whatever the constraints were."""
    source_ids, _ = random_sources(seed, rows=len(result.ids))
    for sentence, row, ids in every_hypothesis(result):
        np.testing.assert_allclose(
            result.log_probabilities[sentence, row],
            forced(model, source_ids[sentence].numpy(), ids),
            atol=1e-4,
        )


@BEAMS
def test_banned_tokens_are_never_generated(beam_size):
    model = RecurrentModel(1)
    free = run(model, beam_size)
    banned = (UNK_ID, words(free)[0])
    result = run(model, beam_size, banned=banned)
    assert np.isin(banned, free.ids).any()
    assert not np.isin(banned, result.ids).any()
    check_log_probabilities(model, result)


@BEAMS
def test_no_end_before_the_minimum(beam_size):
    model = ScriptedModel(np.eye(6)[[END_ID] * 6][np.newaxis] * 9.0)
    minimums = [0, 1, 4, 4, 30]
    limits = [9, 9, 9, 3, 20]
    per_sentence = {"min_lengths": tf.constant(minimums)}
    result = run(model, beam_size, limits, per_sentence)
    np.testing.assert_array_equal(result.lengths[:, 0], [1, 2, 5, 3, 20])
    np.testing.assert_array_equal(result.finished[:, 0], [1, 1, 1, 0, 0])
    for sentence, _, ids in every_hypothesis(result):
        assert END_ID not in ids[: minimums[sentence]]


@BEAMS
def test_an_output_begins_with_its_prefix(beam_size):
    model = RecurrentModel(2)
    prefixes = [[4, 4, 4], [6, 0, 0], [0, 0, 0], [5, END_ID, 0], [1, 4, 0]]
    per_sentence = {"prefixes": tf.constant(prefixes)}
    limits = [12, 12, 12, 12, 12]
    result = run(model, beam_size, limits, per_sentence)
    free = run(model, beam_size, limits)
    for sentence, _, ids in every_hypothesis(result):
        prefix = [i for i in prefixes[sentence] if i != PAD_ID]
        assert ids[: len(prefix)] == prefix
    np.testing.assert_array_equal(result.ids[2], free.ids[2])
    assert words(result, 3) == [5, END_ID]
    assert result.finished[3, 0]
    check_log_probabilities(model, result)


@BEAMS
def test_a_prefix_beyond_the_limit_is_cut_and_unfinished(beam_size):
    prefixes = tf.constant([[4, 5, 6, 4, 5]] * 2)
    per_sentence = {"prefixes": prefixes}
    result = run(RecurrentModel(2), beam_size, [3, 5], per_sentence)
    assert words(result, 0) == [4, 5, 6]
    assert words(result, 1) == [4, 5, 6, 4, 5]
    assert not result.finished.numpy().any()


@BEAMS
def test_a_prefix_overrules_every_constraint(beam_size):
    prefix = [4, 4, 4, 5]
    per_sentence = {
        "prefixes": tf.constant([prefix]),
        "min_lengths": tf.constant([7]),
    }
    model = RecurrentModel(3)
    options = {"banned": (4,), "no_repeat_ngram_size": 1}
    result = run(model, beam_size, [12], per_sentence, **options)
    for _, _, ids in every_hypothesis(result):
        assert ids[:4] == prefix
        assert 4 not in ids[4:]
        assert ids.count(5) == 1
    check_log_probabilities(model, result)


@pytest.mark.parametrize(
    ("size", "ids", "forbidden"),
    [
        (1, [4, 5, 4, 0, 0], [4, 5]),
        (2, [4, 5, 4, 0, 0], [5]),
        (2, [4, 4, 4, 0, 0], [4]),
        (2, [4, 5, 6, 0, 0], []),
        (3, [4, 5, 4, 0, 0], []),
        (3, [4, 4, 4, 0, 0], [4]),
        (4, [4, 4, 4, 0, 0], []),
        (5, [4, 4, 4, 0, 0], []),
    ],
)
def test_what_would_repeat_is_forbidden(size, ids, forbidden):
    constraints = SearchConstraints(no_repeat_ngram_size=size)
    (allowed,), _ = apply(constraints, np.zeros([1, 7]), [ids], 3)
    every = {UNK_ID, END_ID, 4, 5, 6}
    assert set(allowed) == every - set(forbidden)


@pytest.mark.medium
@BEAMS
@pytest.mark.parametrize("size", [1, 2, 3])
def test_no_sequence_occurs_twice(size, beam_size):
    model = RecurrentModel(4, vocabulary_size=6)
    limits = [30, 25, 20, 15, 30]
    result = run(model, beam_size, limits, no_repeat_ngram_size=size)
    free = run(model, beam_size, limits)
    assert any(repeats(ids, size) for _, _, ids in every_hypothesis(free))
    for _, _, ids in every_hypothesis(result):
        assert not repeats(ids, size), ids
    check_log_probabilities(model, result)


def repeats(ids, size):
    actual = [tuple(ids[i : i + size]) for i in range(len(ids) - size + 1)]
    return len(set(actual)) < len(actual)


@BEAMS
def test_a_dead_end_ends_with_the_log_probability_of_the_model(beam_size):
    # Only UNK, 4 and 5 can be said, once each; END may come only after 9.
    model = RecurrentModel(1, vocabulary_size=6)
    per_sentence = {"min_lengths": tf.constant([9])}
    result = run(model, beam_size, [20], per_sentence, no_repeat_ngram_size=1)
    for _, _, ids in every_hypothesis(result):
        assert sorted(ids) == [UNK_ID, END_ID, 4, 5]
        assert ids[-1] == END_ID
    assert result.finished[0, 0]
    check_log_probabilities(model, result)


def test_the_repetition_penalty_multiplies_log_probabilities():
    logits = np.array([[0.5, 1.0, 0.0, 2.0, 3.0, 1.5]])
    constraints = SearchConstraints(repetition_penalty=1.5)
    _, actual = apply(constraints, logits, [[4, 5, 4, 0]], 3)
    normalizer = np.log(np.exp(logits).sum())
    expected = logits[0] - normalizer
    expected[[4, 5]] *= 1.5
    np.testing.assert_allclose(
        actual[0, [1, 3, 4, 5]] - normalizer, expected[[1, 3, 4, 5]], rtol=1e-5
    )
    assert np.isneginf(actual[0, [PAD_ID, START_ID]]).all()


@BEAMS
def test_a_repetition_penalty_leaves_log_probabilities_the_models(beam_size):
    model = RecurrentModel(4, vocabulary_size=9)
    free = run(model, beam_size)
    result = run(model, beam_size, repetition_penalty=3.0)
    assert distinct(result) > distinct(free)
    check_log_probabilities(model, result)


def distinct(result):
    """The mean share of tokens that are new in their hypothesis."""
    return np.mean(
        [len(set(ids)) / len(ids) for _, _, ids in every_hypothesis(result)]
    )


@pytest.mark.medium
@BEAMS
def test_constraints_that_ask_for_nothing_change_nothing(beam_size):
    model = RecurrentModel(5)
    result = run(model, beam_size)
    same = run(
        model,
        beam_size,
        per_sentence={
            "min_lengths": tf.zeros([5], tf.int32),
            "prefixes": tf.zeros([5, 0], tf.int32),
        },
        no_repeat_ngram_size=50,
    )
    for name in result._fields:
        np.testing.assert_array_equal(
            getattr(same, name), getattr(result, name)
        )


@pytest.mark.parametrize("kind", ["gnmt", "average"])
@BEAMS
def test_scores_are_normalised_as_asked(beam_size, kind):
    options = {"penalty": LengthPenalty(kind, 0.7)}
    result = run(RecurrentModel(6), beam_size, **options)
    for sentence, row, ids in every_hypothesis(result):
        base = len(ids) if kind == "average" else (5 + len(ids)) / 6
        np.testing.assert_allclose(
            result.scores[sentence, row],
            result.log_probabilities[sentence, row] / base**0.7,
            rtol=1e-5,
        )


@pytest.mark.parametrize(
    ("ratio", "offset", "options", "lengths", "expected"),
    [
        (3.0, 20, {}, [5], [35]),
        (1.1, 0, {}, [10], [11]),
        (0.5, 0, {}, [3], [1]),
        (0.0, 0, {}, [3], [1]),
        (3.0, 20, {}, [90], [255]),
        (3.0, 20, {}, [0], [0]),
        (3.0, 20, {}, [], []),
        (3.0, 400, {"max_length": 9}, [5], [9]),
        (3.0, 400, {"max_length": 500}, [5], [255]),
        (3.0, 400, {"max_length": 1}, [5], [1]),
        # Beyond integers.
        (1e12, 20, {}, [5, 0], [255, 0]),
        (3.0, 3 * 10**9, {}, [5, 0], [255, 0]),
    ],
)
def test_output_limits(ratio, offset, options, lengths, expected):
    config = DecodingConfig(
        max_length_ratio=ratio, max_length_offset=offset, **options
    )
    limits = max_output_lengths(tf.constant(lengths, tf.int32), config, 256)
    assert limits.dtype == tf.int32
    assert limits.numpy().tolist() == expected
