"""Symbols of sources in translations: all of them, once, and well nested."""

import dataclasses
import functools

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.compat import graph_function
from keras_transformer.config import DecodingConfig
from keras_transformer.constants import END_ID, PAD_ID, START_ID
from keras_transformer.search.from_config import search, sentence_constraints
from keras_transformer.search.shortlist import (
    Lexicon,
    LexiconTable,
    shortlisted_search,
)
from keras_transformer.symbols import (
    CLOSING,
    MARKUP_SYMBOLS,
    NUMBERS,
    OPENING,
    SINGLE,
    SYMBOLS,
)
from tests.fake_models import ScriptedModel

# Of the source and of the target; the words are before and behind.
SOURCE_FIRST, FIRST, VOCABULARY_SIZE = 30, 9, 72
ALL = tuple(range(FIRST, FIRST + len(SYMBOLS)))
SEARCHES = {
    "greedy": DecodingConfig(beam_size=1),
    "beam": DecodingConfig(beam_size=4, length_penalty=0.6),
    "early": DecodingConfig(beam_size=4, early_stopping=True),
    "n-grams": DecodingConfig(beam_size=3, no_repeat_ngram_size=2),
    "sampling": DecodingConfig(top_k=5, temperature=2.0),
    "short": DecodingConfig(beam_size=4, max_length=3),
    "long": DecodingConfig(beam_size=2, min_length=9),
}
# Those of one more feature each are for CI.
EACH = pytest.mark.parametrize(
    "name",
    [
        *("greedy", "beam", "sampling", "short"),
        *(
            pytest.param(name, marks=pytest.mark.medium)
            for name in ("early", "n-grams", "long")
        ),
    ],
)


def random_structure(random, numbers):
    """Symbols, nested, next to each other or around nothing."""
    symbols = []
    while numbers:
        number = numbers.pop()
        if random.random() < 0.4:
            symbols.append(SINGLE[number])
        else:
            within = [
                numbers.pop() for _ in range(random.integers(3)) if numbers
            ]
            symbols += [
                OPENING[number],
                *random_structure(random, within),
                CLOSING[number],
            ]
        if random.random() < 0.3:
            symbols.append("word")
    return symbols


def source_ids(texts):
    """Ids of symbols and words, int32 `(B, S)`."""
    rows = [
        [START_ID]
        + [
            4 if text == "word" else SOURCE_FIRST + SYMBOLS.index(text)
            for text in row
        ]
        + [END_ID]
        for row in texts
    ]
    return tf.ragged.constant(rows, tf.int32).to_tensor(PAD_ID)


def random_sources(seed, count=32):
    random = np.random.default_rng(seed)
    texts = []
    for _ in range(count):
        most = random.integers(NUMBERS + 1)
        numbers = random.permutation(NUMBERS)[:most].tolist()
        texts.append(["word", *random_structure(random, numbers)])
    return texts


def random_table(seed):
    """Logits of each step and last token."""
    size = 40, VOCABULARY_SIZE, VOCABULARY_SIZE
    return np.random.default_rng(seed).normal(size=size)


def searched(name, texts, seed=1, scale=2.0, kept=None, late=False):
    """Hypotheses as tokens, for each source; and which ended.

    `late` makes symbols improbable, and END what a model prefers.
    """
    table = random_table(seed) * scale
    if late:
        table[..., ALL] -= 1000
        table[..., END_ID] += 1000
    result = graph_of(name, kept)(
        tf.constant(table, tf.float32),
        source_ids(texts),
        tf.constant([len(text) for text in texts]),
    )
    return [
        [
            ([token(i) for i in row[:length]], bool(done))
            for row, length, done in zip(*rows, strict=True)
            if length
        ]
        for rows in zip(
            result.ids.numpy(),
            result.lengths.numpy(),
            result.finished.numpy(),
            strict=True,
        )
    ]


@functools.cache
def graph_of(name, kept):
    """A search, of a table that is an argument."""
    config = SEARCHES[name]

    def run(table, ids, lengths):
        sentences = sentence_constraints(
            ids, lengths, config, 64, first_symbol=SOURCE_FIRST
        )
        model = ScriptedModel(table)
        return search(
            *(model, ids, sentences, config, ALL), kept=kept, first_symbol=FIRST
        )

    specs = [
        tf.TensorSpec([40, VOCABULARY_SIZE, VOCABULARY_SIZE], tf.float32),
        tf.TensorSpec([None, None], tf.int32),
        tf.TensorSpec([None], tf.int32),
    ]
    return graph_function(run, specs)


def token(number):
    return SYMBOLS[number - FIRST] if number in ALL else int(number)


def structure(tokens):
    """The symbols alone."""
    return [token for token in tokens if isinstance(token, str)]


def is_well_formed(symbols):
    """True if every pair is closed, the innermost first."""
    opened = []
    for symbol in symbols:
        if symbol in OPENING:
            opened.append(OPENING.index(symbol))
        elif symbol in CLOSING and (
            not opened or opened.pop() != CLOSING.index(symbol)
        ):
            return False
    return not opened


@EACH
def test_every_hypothesis_is_complete_and_well_formed(name):
    found, cut = 0, 0
    for seed in range(12):
        texts = random_sources(seed)
        # From hardly any preference to one token at a time.
        scale = [0.3, 1.0, 4.0][seed % 3]
        kept = 8 if name == "beam" and seed % 2 else None
        hypotheses = searched(name, texts, seed, scale, kept)
        for text, rows in zip(texts, hypotheses, strict=True):
            wanted = sorted(symbol for symbol in text if symbol != "word")
            for tokens, ended in rows:
                symbols = structure(tokens)
                assert sorted(symbols) == wanted
                assert is_well_formed(symbols)
                found, cut = found + 1, cut + (not ended)
    assert found > 380
    assert cut or name == "early"


@pytest.mark.parametrize("name", ["greedy", "beam", "sampling"])
def test_a_hypothesis_that_its_limit_cuts_is_not_finished(name):
    text = ["word", "⟨1⟩", "word", "⟨/1⟩", "⟨2/⟩"]
    for tokens, ended in searched(name, [text], late=True)[0]:
        assert sorted(structure(tokens)) == sorted({*text} - {"word"})
        assert not ended


@EACH
def test_sources_without_symbols_get_none_and_nothing_else_changes(name):
    texts = [["word"] * n for n in (3, 1, 7, 4)]
    config = SEARCHES[name]
    ids = source_ids(texts)
    lengths = tf.constant([3, 1, 7, 4])
    sentences = sentence_constraints(ids, lengths, config, 64)
    model = ScriptedModel(random_table(5))
    expected = search(model, ids, sentences, config, ALL)
    sentences = sentence_constraints(
        ids, lengths, config, 64, first_symbol=SOURCE_FIRST
    )
    actual = search(model, ids, sentences, config, ALL, first_symbol=FIRST)
    for a, b in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(a, b)
    assert not set(ALL) & set(actual.ids.numpy().ravel().tolist())


def test_neighbours_change_nothing():
    texts = [*random_sources(3, 6), ["word"] * 4]
    together = searched("beam", texts)
    for text, rows in zip(texts, together, strict=True):
        assert searched("beam", [text]) == [rows]


@pytest.mark.parametrize("name", ["greedy", "beam", "sampling", "short"])
@pytest.mark.parametrize(
    ("text", "order"),
    [
        (["⟨1⟩"], ["⟨1⟩"]),
        (["⟨/2⟩", "⟨1⟩"], ["⟨/2⟩", "⟨1⟩"]),
        (["⟨3⟩", "⟨2⟩", "⟨/1⟩"], ["⟨3⟩", "⟨2⟩", "⟨/1⟩"]),
        (["⟨/1⟩", "word", "⟨1⟩"], ["⟨/1⟩", "⟨1⟩"]),
    ],
)
def test_halves_of_pairs_keep_their_order(name, text, order):
    for seed in range(5):
        for tokens, _ in searched(name, [text], seed)[0]:
            assert structure(tokens) == order


def test_halves_of_pairs_are_outside_of_pairs():
    text = ["⟨/4⟩", "⟨1⟩", "word", "⟨/1⟩", "⟨2⟩", "⟨3/⟩", "⟨5⟩", "⟨/5⟩"]
    for seed in range(20):
        for tokens, _ in searched("beam", [text], seed)[0]:
            symbols = structure(tokens)
            assert sorted(symbols) == sorted(set(text) - {"word"})
            assert symbols.index("⟨/4⟩") < symbols.index("⟨2⟩")
            halves = [symbol not in ("⟨/4⟩", "⟨2⟩") for symbol in symbols]
            parts = np.split(symbols, np.flatnonzero(~np.array(halves)))
            for part in parts:
                kept = [one for one in part if one not in ("⟨/4⟩", "⟨2⟩")]
                assert is_well_formed(kept)


def test_what_no_text_has_ends_all_the_same():
    """Pairs that cross, symbols twice, and those of terms."""
    crossed = ["⟨1⟩", "⟨2⟩", "⟨/1⟩", "⟨/2⟩"]
    twice = ["⟨1/⟩", "word", "⟨1/⟩", "⟨2⟩", "⟨2⟩", "⟨/2⟩"]
    terms = ["⟨t⟩", "word", "⟨=⟩", "word", "⟨/t⟩"]
    for seed in range(10):
        first, second, third = searched("beam", [crossed, twice, terms], seed)
        for tokens, _ in first:
            assert sorted(structure(tokens)) == sorted(crossed)
            assert is_well_formed(structure(tokens))
        for tokens, _ in second:
            assert sorted(structure(tokens)) == ["⟨/2⟩", "⟨1/⟩", "⟨2⟩"]
        for tokens, _ in third:
            assert structure(tokens) == []


class _Output(ScriptedModel):
    """A model whose output layer can be a part of itself."""

    def output(self, ids):
        return ids

    def step(self, ids, cache, index, output=None):
        step = super().step(ids, cache, index)
        if output is None:
            return step
        return step._replace(logits=tf.gather(step.logits, output, axis=-1))


@pytest.mark.medium
@pytest.mark.parametrize("name", ["greedy", "beam", "sampling"])
def test_symbols_are_in_every_shortlist(name):
    config = SEARCHES[name]
    texts = random_sources(9, 16)
    ids = source_ids(texts)
    lengths = tf.constant([len(text) for text in texts])
    # Nothing but 5 and 6 may be used.
    candidates = np.full((SOURCE_FIRST + len(SYMBOLS), 1), 5)
    lexicon = LexiconTable(
        Lexicon(candidates, np.array([6])), VOCABULARY_SIZE, ALL
    )
    result = shortlisted_search(
        _Output(random_table(1)),
        lexicon,
        ids,
        sentence_constraints(
            ids, lengths, config, 64, first_symbol=SOURCE_FIRST
        ),
        config,
        ALL,
        first_symbol=FIRST,
    )
    for text, rows, numbers in zip(
        texts, result.ids.numpy(), result.lengths.numpy(), strict=True
    ):
        wanted = sorted(symbol for symbol in text if symbol != "word")
        for row, length in zip(rows, numbers, strict=True):
            tokens = [token(i) for i in row[:length]]
            assert sorted(structure(tokens)) == wanted
            assert is_well_formed(structure(tokens))
            words = {one for one in tokens if not isinstance(one, str)}
            assert words <= {1, END_ID, 5, 6}


def test_a_limit_leaves_room_for_all_symbols():
    config = dataclasses.replace(SEARCHES["short"], max_length=4)
    ids = source_ids([["word"], ["⟨1⟩", "⟨/1⟩", "⟨2/⟩", "⟨3/⟩"], []])
    lengths = tf.constant([1, 4, 0])
    found = sentence_constraints(
        ids, lengths, config, 64, first_symbol=SOURCE_FIRST
    )
    assert found.max_lengths.numpy().tolist() == [4, 5, 0]
    prefixes = tf.constant([[7, 8], [7, 8], [0, 0]])
    found = sentence_constraints(
        ids, lengths, config, 64, prefixes, first_symbol=SOURCE_FIRST
    )
    assert found.max_lengths.numpy().tolist() == [4, 7, 0]
    assert len(MARKUP_SYMBOLS) == 3 * NUMBERS
