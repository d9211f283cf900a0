import dataclasses
import functools

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.config import DecodingConfig
from keras_transformer.constants import SPECIAL_TOKENS, UNK_ID
from keras_transformer.errors import InputError
from keras_transformer.inference.incremental import IncrementalTransformer
from keras_transformer.search.beam import beam_search
from keras_transformer.search.constraints import (
    SearchConstraints,
    SentenceConstraints,
)
from keras_transformer.search.from_config import (
    banned_ids,
    search,
    sentence_constraints,
)
from keras_transformer.search.greedy import greedy_search
from keras_transformer.search.scoring import ScorePenalties, score_translations
from keras_transformer.text.character import CharacterTokenizer
from tests.fake_models import (
    RecurrentModel,
    Watched,
    random_sources,
    traced,
)
from tests.toy_models import shared_transformer

NORMALIZATION = ScorePenalties("average", 0.8, 0.1)
CONFIG = DecodingConfig(
    length_penalty=0.8,
    length_normalization="average",
    coverage_penalty=0.1,
    early_stopping=True,
    no_repeat_ngram_size=2,
    repetition_penalty=1.3,
)


def run(model, config, source_ids, limits, *options):
    return search(
        model, source_ids, SentenceConstraints(limits), config, *options
    )


@pytest.mark.parametrize("beam_size", [1, 3])
def test_the_configuration_chooses_the_search(beam_size):
    model = RecurrentModel(1)
    source_ids, lengths = random_sources(1)
    sentences = SentenceConstraints(lengths + 4)
    constraints = SearchConstraints((5,), 2, 1.3, NORMALIZATION)
    config = dataclasses.replace(CONFIG, beam_size=beam_size)
    actual = search(model, source_ids, sentences, config, (5,))
    if beam_size == 1:
        expected = greedy_search(model, source_ids, sentences, constraints)
    else:
        expected = beam_search(
            model,
            source_ids,
            sentences,
            constraints,
            beam_size,
            early_stopping=True,
        )
    np.testing.assert_array_equal(actual.ids, expected.ids)
    np.testing.assert_array_equal(actual.scores, expected.scores)


def test_sampling_goes_before_the_beam():
    config = DecodingConfig(beam_size=4, sampling=True)
    source_ids, lengths = random_sources(1)
    sentences = sentence_constraints(source_ids, lengths, config, 32)
    actual = search(RecurrentModel(1), source_ids, sentences, config)
    assert actual.scores.shape == (5, 1)


def test_sentence_constraints_are_what_is_configured_and_no_more():
    source_ids, lengths = random_sources(1)
    plain = sentence_constraints(source_ids, lengths, DecodingConfig(), 32)
    assert plain[1:] == ((), (), ())
    config = DecodingConfig(min_length=3, sampling=True)
    prefixes = tf.ones([5, 2], tf.int32)
    every = sentence_constraints(source_ids, lengths, config, 32, prefixes)
    np.testing.assert_array_equal(every.min_lengths, 3)
    assert every.prefixes is prefixes
    assert every.sampling_keys.shape == (5, 16)


def test_banned_tokens_are_looked_up():
    tokenizer = CharacterTokenizer([*SPECIAL_TOKENS, *"abc"])
    config = DecodingConfig(banned_tokens=("c", "<unk>", "a", "c"))
    assert banned_ids(config, tokenizer) == (UNK_ID, 4, 6)
    assert banned_ids(DecodingConfig(), tokenizer) == ()
    with pytest.raises(InputError, match="not in the target's vocabulary: 'x'"):
        banned_ids(DecodingConfig(banned_tokens=("x",)), tokenizer)


@pytest.mark.parametrize("beam_size", [1, 3])
def test_a_graph_of_unknown_sizes_gives_the_same(beam_size):
    model = RecurrentModel(4, vocabulary_size=11)
    config = dataclasses.replace(CONFIG, beam_size=beam_size)
    graph = traced(functools.partial(run, model, config))
    for rows in (0, 1, 5):
        source_ids, lengths = random_sources(rows, rows=rows)
        limits = 5 * lengths + 1
        actual = graph(source_ids, limits)
        expected = run(model, config, source_ids, limits)
        np.testing.assert_array_equal(actual.ids, expected.ids)
        np.testing.assert_array_equal(actual.lengths, expected.lengths)
        np.testing.assert_array_equal(actual.finished, expected.finished)
        np.testing.assert_allclose(actual.scores, expected.scores, rtol=1e-5)
    assert graph.experimental_get_tracing_count() == 1


@pytest.mark.parametrize("beam_size", [1, 3])
def test_the_source_is_worked_out_once(beam_size):
    model = RecurrentModel(4)
    source_ids, lengths = random_sources(4)
    seen = []

    class Counted(Watched):
        def start(self, *arguments):
            seen.append(arguments[1])
            return model.start(*arguments)

    config = DecodingConfig(beam_size=beam_size)
    run(Counted(model), config, source_ids, lengths + 3)
    assert seen == [beam_size]


@pytest.mark.parametrize("beam_size", [1, 3])
def test_num_hypotheses_gives_the_width_of_the_result(beam_size):
    config = DecodingConfig(beam_size=beam_size)
    source_ids, lengths = random_sources(1)
    actual = run(RecurrentModel(4), config, source_ids, lengths, (), 1)
    assert actual.scores.shape == (5, 1)


@pytest.mark.parametrize("beam_size", [1, 4])
def test_bfloat16_scores_are_finite_and_nearly_equal(beam_size):
    model = shared_transformer("pre")
    source_ids, _ = random_sources(5, rows=24, longest=9)
    limits = tf.fill([24], 4)
    config = DecodingConfig(
        beam_size=beam_size, no_repeat_ngram_size=2, length_penalty=0.6
    )
    sentences = SentenceConstraints(limits, min_lengths=limits // 2)
    functions = IncrementalTransformer(model)
    half = IncrementalTransformer(model, "bfloat16")
    actual = search(half, source_ids, sentences, config)
    assert actual.scores.dtype == tf.float32
    assert np.isfinite(actual.scores).all()
    # float32 gives the same translations nearly the same scores.
    _, num_hypotheses, length = actual.ids.shape
    again = score_translations(
        functions,
        tf.repeat(source_ids, num_hypotheses, axis=0),
        tf.reshape(actual.ids, [-1, length]),
    )
    np.testing.assert_allclose(
        tf.reshape(actual.log_probabilities, [-1]),
        again.log_probabilities,
        atol=0.15,
    )
    # A sentence's best may be another one, where two prefixes are about as
    # good and one is dropped, for better or worse; on average hardly.
    expected = search(functions, source_ids, sentences, config)
    difference = actual.scores[:, 0] - expected.scores[:, 0]
    assert abs(np.mean(difference)) < 0.05
