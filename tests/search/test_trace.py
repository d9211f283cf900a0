"""A traced search is the search, and its tree holds what it says."""

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.config import DecodingConfig
from keras_transformer.constants import END_ID
from keras_transformer.errors import InputError
from keras_transformer.inference.incremental import IncrementalTransformer
from keras_transformer.search.from_config import search, sentence_constraints
from keras_transformer.search.trace import ENDED, trace_beam
from keras_transformer.symbols import SYMBOLS
from tests.fake_models import RecurrentModel, ScriptedModel
from tests.toy_models import VOCABULARY_SIZE, check_equal, shared_transformer

SOURCE = np.array([[2, 5, 6, 4, 3]], np.int32)
TOKENS = [f"token {i}" for i in range(VOCABULARY_SIZE)]
CONFIGS = {
    "plain": {},
    "stopping early": {"early_stopping": True, "length_penalty": 0.0},
    "GNMT's scores": {"length_normalization": "gnmt"},
    "no repeats": {"no_repeat_ngram_size": 2, "repetition_penalty": 1.2},
    "beam of one": {"beam_size": 1},
    "banned": {"beam_size": 3, "banned_tokens": ["<unk>"]},
}


def searched(model, config, banned):
    sentences = sentence_constraints(
        SOURCE, tf.constant([3]), config, model.max_length
    )
    source_ids = tf.constant(SOURCE)
    return search(model, source_ids, sentences, config, banned)


@pytest.mark.medium
@pytest.mark.parametrize(
    "make",
    [
        lambda: RecurrentModel(seed=3),
        lambda: IncrementalTransformer(shared_transformer("pre")),
    ],
    ids=["fake", "real"],
)
@pytest.mark.parametrize("options", CONFIGS.values(), ids=CONFIGS)
def test_finds_what_the_search_finds(make, options):
    model = make()
    config = DecodingConfig(max_length=12, **options)
    banned = (1,) if config.banned_tokens else ()
    expected = searched(model, config, banned)
    tree = trace_beam(model, SOURCE, TOKENS, config, banned)
    check_equal(tree.result, expected)


def test_symbols_of_the_source_are_in_the_tree():
    source_first, first, size = 30, 9, 72
    pair = [source_first, source_first + SYMBOLS.index("⟨/1⟩")]
    source = tf.constant([[2, *pair, 4, 3]])
    config = DecodingConfig(beam_size=3)
    every = tuple(range(first, first + len(SYMBOLS)))
    table = np.random.default_rng(1).normal(size=(40, size, size))
    model = ScriptedModel(table)
    tree = trace_beam(
        *(model, source, [str(i) for i in range(size)], config, every),
        first_symbols=(source_first, first),
    )
    sentences = sentence_constraints(
        source, tf.constant([3]), config, 32, first_symbol=source_first
    )
    expected = search(
        model, source, sentences, config, every, first_symbol=first
    )
    check_equal(tree.result, expected)
    assert {first, every[SYMBOLS.index("⟨/1⟩")]} <= {
        int(i) for i in tree.result.ids[0, 0]
    }


def test_a_language_code_is_the_first_token():
    config = DecodingConfig(beam_size=2, max_length=6)
    arguments = SOURCE, TOKENS, config
    free = trace_beam(RecurrentModel(seed=3), *arguments)
    first_id = next(i for i in (4, 5) if i != free.result.ids[0, 0, 0])
    tree = trace_beam(RecurrentModel(seed=3), *arguments, first_id=first_id)
    assert {int(row[0]) for row in tree.result.ids[0]} == {first_id}


@pytest.fixture(scope="module")
def tree():
    config = DecodingConfig(beam_size=3, max_length=12)
    return trace_beam(RecurrentModel(seed=3), SOURCE, TOKENS, config)


def test_the_best_path_spells_the_best_translation(tree):
    length = int(tree.result.lengths[0, 0])
    ids = tree.result.ids[0, 0, :length].numpy()
    nodes = [tree.nodes[index] for index in tree.best]
    assert [node.token for node in nodes[1:]] == [TOKENS[i] for i in ids]
    assert [node.step for node in nodes] == list(range(length + 1))
    assert nodes[-1].log_probability == pytest.approx(
        float(tree.result.log_probabilities[0, 0]), abs=1e-5
    )
    if ids[-1] == END_ID:
        assert nodes[-1].fate == ENDED
        assert nodes[-1].score == pytest.approx(
            float(tree.result.scores[0, 0]), abs=1e-5
        )


@pytest.mark.parametrize(
    ("sources", "options", "message"),
    [
        (1, {"temperature": 1.0}, "decoding.temperature: sampling"),
        (2, {}, "1 sentence. Received: 2"),
    ],
)
def test_what_has_no_tree_is_refused(sources, options, message):
    with pytest.raises(InputError, match=message):
        trace_beam(
            None, SOURCE.repeat(sources, 0), TOKENS, DecodingConfig(**options)
        )
