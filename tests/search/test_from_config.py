import dataclasses

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
from keras_transformer.search.from_config import banned_ids, search
from keras_transformer.search.greedy import greedy_search
from keras_transformer.search.scoring import LengthPenalty, score_translations
from keras_transformer.text.character import CharacterTokenizer
from tests.fake_models import RecurrentModel, random_sources
from tests.toy_models import shared_transformer

NORMALIZATION = LengthPenalty("average", 0.8)
CONFIG = DecodingConfig(
    length_penalty=0.8,
    length_normalization="average",
    early_stopping=True,
    no_repeat_ngram_size=2,
    repetition_penalty=1.3,
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


def test_banned_tokens_are_looked_up():
    tokenizer = CharacterTokenizer([*SPECIAL_TOKENS, *"abc"])
    config = DecodingConfig(banned_tokens=("c", "<unk>", "a", "c"))
    assert banned_ids(config, tokenizer) == (UNK_ID, 4, 6)
    assert banned_ids(DecodingConfig(), tokenizer) == ()
    with pytest.raises(InputError, match="not in the target's vocabulary: 'x'"):
        banned_ids(DecodingConfig(banned_tokens=("x",)), tokenizer)


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
