import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.config import DecodingConfig
from keras_transformer.search.constraints import (
    SearchConstraints,
    SentenceConstraints,
)
from keras_transformer.search.from_config import search, sentence_constraints
from keras_transformer.search.greedy import greedy_search
from tests.fake_models import (
    RecurrentModel,
    ScriptedModel,
    forced,
    random_sources,
    traced,
    words,
)

# Probabilities of the tokens 4 to 8.
SHARES = np.array([0.4, 0.3, 0.15, 0.1, 0.05])


def run(model, source_ids, limits, **options):
    options = {"temperature": 1.0, "max_length_offset": 400} | options
    config = DecodingConfig(**options)
    sentences = sentence_constraints(
        source_ids, tf.ones_like(limits), config, 1000
    )
    sentences = sentences._replace(max_lengths=limits)
    return search(model, source_ids, sentences, config)


def distinct_sources(count):
    ids = np.arange(count)
    digits = [ids // 16**place % 16 + 4 for place in range(3)]
    return tf.constant(np.stack(digits, axis=1), tf.int32)


def draws(count=4000, limit=1, **options):
    """First tokens of many sentences, from 4 on, by a model of `SHARES`."""
    table = np.full([1, 9, 9], -50.0)
    table[:, :, 4:] = np.log(SHARES)
    limits = tf.fill([count], limit)
    model = ScriptedModel(table)
    result = run(model, distinct_sources(count), limits, **options)
    return result.ids[:, 0].numpy() - 4


def check_frequencies(tokens, shares):
    """A chi-square of 4 degrees of freedom exceeds 23.5 once in 10,000."""
    shares = np.asarray(shares) / np.sum(shares)
    counts = np.bincount(tokens, minlength=5)
    assert not counts[shares == 0].any()
    expected = shares[shares > 0] * len(tokens)
    assert ((counts[shares > 0] - expected) ** 2 / expected).sum() < 23.5


@pytest.mark.parametrize(
    ("options", "shares"),
    [
        *(({"sampling_seed": n}, SHARES) for n in (1, 2, 12345678901)),
        *(({"temperature": t}, SHARES ** (1 / t)) for t in (0.5, 2.0)),
        ({"top_k": 3}, SHARES * [1, 1, 1, 0, 0]),
        ({"top_k": 400}, SHARES),
        # The fewest that reach it.
        ({"top_p": 0.3}, SHARES * [1, 0, 0, 0, 0]),
        ({"top_p": 0.5}, SHARES * [1, 1, 0, 0, 0]),
        ({"top_p": 0.69}, SHARES * [1, 1, 0, 0, 0]),
        ({"top_p": 0.71}, SHARES * [1, 1, 1, 0, 0]),
        ({"top_p": 0.9}, SHARES * [1, 1, 1, 1, 0]),
    ],
)
def test_frequencies_are_the_probabilities_asked_for(options, shares):
    check_frequencies(draws(**options)[:, 0], shares)


def test_every_step_draws_anew():
    tokens = draws(limit=10)
    for step in range(10):
        check_frequencies(tokens[:, step], SHARES)
    # No step tells the next.
    for first in range(2):
        rows = tokens[tokens[:, 4] == first]
        check_frequencies(rows[:, 5], SHARES)


@pytest.mark.parametrize("options", [{"top_k": 1}, {"top_p": 1e-6}])
def test_the_most_probable_alone_is_greedy_search(options):
    model = RecurrentModel(1, vocabulary_size=12)
    source_ids, lengths = random_sources(1, rows=12)
    result = run(model, source_ids, lengths + 5, **options)
    expected = greedy_search(
        model, source_ids, SentenceConstraints(lengths + 5), SearchConstraints()
    )
    np.testing.assert_array_equal(result.ids, expected.ids)
    np.testing.assert_allclose(
        result.log_probabilities, expected.log_probabilities, rtol=1e-6
    )


def test_the_same_seed_gives_the_same_and_another_another():
    model = RecurrentModel(2, vocabulary_size=12, sharpness=0.5)
    source_ids, lengths = random_sources(2, rows=8)
    limits = lengths + 9
    first, again, other = (
        run(model, source_ids, limits, sampling_seed=seed) for seed in (5, 5, 6)
    )
    np.testing.assert_array_equal(first.ids, again.ids)
    differing = (first.ids != other.ids).numpy().any(axis=(1, 2))
    assert differing.mean() > 0.7


def test_neighbours_and_padding_change_nothing():
    model = RecurrentModel(3, vocabulary_size=12, sharpness=0.5)
    source_ids, lengths = random_sources(3, rows=9, longest=8)
    limits = 3 * lengths + 2
    search = traced(lambda *arguments: run(model, *arguments))
    together = search(tf.pad(source_ids, [[0, 0], [0, 3]]), limits)
    for batch in ([0], [4, 2], [8, 7, 6, 5, 3, 1]):
        longest = int(np.max(lengths.numpy()[batch]))
        part = search(
            tf.gather(source_ids, batch)[:, :longest], tf.gather(limits, batch)
        )
        for place, row in enumerate(batch):
            assert words(part, place) == words(together, row)


@pytest.mark.parametrize("options", [{}, {"temperature": 3.0, "top_k": 4}])
def test_log_probabilities_are_the_models(options):
    model = RecurrentModel(4, vocabulary_size=9, sharpness=0.5)
    source_ids, _ = random_sources(4)
    limits = tf.constant([9, 3, 12, 5, 7])
    scale = {"length_penalty": 0.5, "length_normalization": "gnmt"}
    result = run(model, source_ids, limits, **scale, **options)
    for row in range(5):
        ids = words(result, row)
        value = forced(model, source_ids[row].numpy(), ids)
        np.testing.assert_allclose(
            result.log_probabilities[row, 0], value, atol=1e-4
        )
        np.testing.assert_allclose(
            result.scores[row, 0],
            value / ((5 + len(ids)) / 6) ** 0.5,
            atol=1e-4,
        )


def test_no_sentence():
    empty = tf.zeros([0], tf.int32)
    result = run(RecurrentModel(1), tf.zeros([0, 3], tf.int32), empty)
    assert result.scores.shape == (0, 1)
