"""Searches among the tokens that a sentence can use."""

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.config import DecodingConfig
from keras_transformer.constants import END_ID, PAD_ID, UNK_ID
from keras_transformer.inference.incremental import IncrementalTransformer
from keras_transformer.search.constraints import SentenceConstraints
from keras_transformer.search.from_config import search, sentence_constraints
from keras_transformer.search.shortlist import (
    Lexicon,
    LexiconTable,
    shortlisted_search,
)
from keras_transformer.system.machine import multiplies_int8
from tests.fake_models import random_sources, traced
from tests.toy_models import VOCABULARY_SIZE, check_equal, shared_transformer

SOURCE, LENGTHS = random_sources(3, rows=12, longest=9)
SENTENCES = SentenceConstraints(2 * LENGTHS + 2)
WORDS = range(4, VOCABULARY_SIZE)
# Each word becomes one of the two after it, or one of three that all may use.
NARROW = Lexicon(
    np.array(
        [[PAD_ID] * 2] * 4
        + [[4 + (i + 1) % 16, 4 + (i + 2) % 16] for i in range(16)]
    ),
    np.array([7, 12, 15]),
)
# Every word may become every other one.
WIDE = Lexicon(
    np.array([[PAD_ID] * 16] * 4 + [list(WORDS)] * 16), np.array([5])
)


@pytest.fixture(scope="module")
def keras_model():
    return shared_transformer("pre")


@pytest.fixture(scope="module")
def model(keras_model):
    return IncrementalTransformer(keras_model, partial_output=True)


def table(lexicon, banned=()):
    return LexiconTable(lexicon, VOCABULARY_SIZE, banned)


def allowed(source):
    """What a sentence may use of `NARROW`, END included."""
    rows = NARROW.candidates[np.array(source)]
    return {END_ID, *NARROW.frequent, *rows.ravel()} - {PAD_ID}


def test_a_batch_has_the_tokens_of_its_sentences():
    source = tf.constant([[2, 4, 3], [2, 18, 3]])
    shortlist = table(NARROW).shortlist(source)
    ids = shortlist.ids.numpy()
    known = [0, 1, 2, 3, 4, 5, 6, 7, 12, 15, 19]
    assert ids.tolist() == known + [19] * (128 - len(known))
    may = shortlist.forbidden.numpy()[:, 0] == 0
    assert ids[may[0]].tolist() == [0, 1, 2, 3, 5, 6, 7, 12, 15]
    assert ids[may[1]].tolist() == [0, 1, 2, 3, 4, 7, 12, 15, 19]
    indices = shortlist.indices.numpy()
    assert [int(ids[indices[i]]) for i in known] == known


@pytest.mark.medium
@pytest.mark.parametrize(
    "options",
    [
        {"beam_size": 1},
        {"beam_size": 4, "length_penalty": 0.6},
        {"beam_size": 3, "no_repeat_ngram_size": 2, "min_length": 3},
        {"beam_size": 3, "repetition_penalty": 1.5},
        {"top_k": 5, "temperature": 2.0},
        {"top_p": 0.8, "temperature": 2.0},
    ],
)
def test_with_all_tokens_it_is_the_search(model, options):
    # PAD, UNK and START, which are no candidates, are in every shortlist.
    config = DecodingConfig(**options)
    sentences = sentence_constraints(SOURCE, LENGTHS, config, 64)
    expected = search(model, SOURCE, sentences, config)
    actual = shortlisted_search(model, table(WIDE), SOURCE, sentences, config)
    check_equal(actual, expected)


@pytest.mark.medium
@pytest.mark.parametrize("beam_size", [1, 4])
def test_a_sentence_uses_its_tokens_alone(model, beam_size):
    config = DecodingConfig(beam_size=beam_size)
    narrow = table(NARROW)
    together = shortlisted_search(
        model, narrow, SOURCE, SENTENCES, config, (1,)
    )
    free = search(model, SOURCE, SENTENCES, config, (1,))
    assert not np.array_equal(together.ids, free.ids)
    for row, source in enumerate(SOURCE.numpy()):
        used = set(together.ids[row].numpy().ravel()) - {PAD_ID}
        assert used <= allowed(source)
        alone = shortlisted_search(
            model,
            narrow,
            SOURCE[row : row + 1],
            SentenceConstraints(SENTENCES.max_lengths[row : row + 1]),
            config,
            (1,),
        )
        length = alone.ids.shape[2]
        np.testing.assert_array_equal(
            together.ids[row, :, :length], alone.ids[0]
        )
        np.testing.assert_allclose(
            together.scores[row], alone.scores[0], atol=1e-5
        )


def test_probabilities_are_among_its_tokens(model):
    """The first token's, worked out from the logits of all."""
    config = DecodingConfig(beam_size=1, max_length=1)
    sentences = SentenceConstraints(tf.ones_like(LENGTHS))
    result = shortlisted_search(model, table(NARROW), SOURCE, sentences, config)
    start = tf.fill([len(SOURCE), 1], 2)
    logits = model.predict(SOURCE, start)[0].numpy()[:, 0]  # (B, V)
    for row, source in enumerate(SOURCE.numpy()):
        ids = sorted(allowed(source) | {0, 1, 2})
        own = logits[row, ids] - np.logaddexp.reduce(logits[row, ids])
        best = max(set(ids) - {0, 2}, key=lambda i: own[ids.index(i)])
        assert int(result.ids[row, 0, 0]) == best
        np.testing.assert_allclose(
            result.log_probabilities[row, 0], own[ids.index(best)], atol=1e-5
        )


@pytest.mark.parametrize("beam_size", [1, 4])
def test_a_prefix_needs_no_lexicon(model, beam_size):
    config = DecodingConfig(beam_size=beam_size)
    prefixes = tf.constant([[19, 10], [13, PAD_ID]] * 6)
    sentences = SENTENCES._replace(prefixes=prefixes)
    nothing = Lexicon(np.full([VOCABULARY_SIZE, 1], PAD_ID), np.array([9, 13]))
    result = shortlisted_search(
        model, table(nothing, banned=[13]), SOURCE, sentences, config, (1, 13)
    )
    firsts = result.ids.numpy()[:, 0]
    assert firsts[::2, :2].tolist() == [[19, 10]] * 6
    assert firsts[1::2, 0].tolist() == [13] * 6
    assert set(firsts[1::2, 1:].ravel()) <= {PAD_ID, END_ID, 9}


@pytest.mark.parametrize("beam_size", [1, 4])
def test_banned_tokens_have_a_probability_and_are_never_taken(model, beam_size):
    config = DecodingConfig(beam_size=beam_size)
    banned = (1, 7, 12)
    expected = search(model, SOURCE, SENTENCES, config, banned)
    actual = shortlisted_search(
        model, table(WIDE, banned), SOURCE, SENTENCES, config, banned
    )
    check_equal(actual, expected)
    result = shortlisted_search(
        model, table(NARROW, banned), SOURCE, SENTENCES, config, banned
    )
    assert not set(banned) & set(result.ids.numpy().ravel())


def by_graph(model):
    narrow = table(NARROW)

    def run(source, limits):
        sentences = SentenceConstraints(limits)
        config = DecodingConfig(beam_size=3)
        return shortlisted_search(model, narrow, source, sentences, config)

    return traced(run)(SOURCE, SENTENCES.max_lengths)


def test_a_graph_knows_no_sizes(model):
    expected = shortlisted_search(
        model, table(NARROW), SOURCE, SENTENCES, DecodingConfig(beam_size=3)
    )
    check_equal(by_graph(model), expected)


def test_in_8_bits_the_output_is_float32(keras_model):
    if not multiplies_int8():
        pytest.skip("this processor has no VNNI")
    model = IncrementalTransformer(keras_model, "int8", partial_output=True)
    output = model.output(tf.constant([3, 9]))
    assert [part.dtype for part in output] == [tf.float32] * 2
    result = by_graph(model)
    for row, source in enumerate(SOURCE.numpy()):
        used = set(result.ids[row].numpy().ravel()) - {PAD_ID, UNK_ID}
        assert used <= allowed(source)
