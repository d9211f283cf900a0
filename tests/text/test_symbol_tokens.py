"""Symbols of markup and terms as tokens of every kind of tokenizer."""

import pytest
import tensorflow as tf

from keras_transformer.constants import SPECIAL_TOKENS
from keras_transformer.symbols import SYMBOLS, TERM_SYMBOLS, first_symbol
from keras_transformer.text import build_tokenizer, load_tokenizer
from tests.text.conftest import KINDS
from tests.word_data import word_data

LINES = [
    "The cat saw ⟨1⟩a star⟨/1⟩ and 16 < 17 ⟨x⟩ ⟨ 1 ⟩.",
    "⟨1⟩The dog⟨/1⟩ saw ⟨2/⟩ stars (a star).",
    "你好 the cat，看 ⟨ ⟩ 1 / 2 = t.",
]


def make(name, **options):
    config = word_data(**KINDS[name], markup="symbols", **options)
    lines = LINES * 5
    return build_tokenizer(
        config.source_kind, lambda: lines, config, "en", 150, tags=["<BT>"]
    )


@pytest.fixture(scope="module", params=KINDS)
def tokenizer(request):
    return make(request.param)


def tokens_of(tokenizer, text):
    (ids,) = tokenizer.tokenize([text]).to_list()
    return [tokenizer.tokens()[i] for i in ids]


def round_trip(tokenizer, texts):
    found = tokenizer.detokenize(tokenizer.tokenize(texts))
    return [text.decode() for text in found.numpy()]


def test_symbols_are_the_tokens_after_the_tags(tokenizer):
    first = [*SPECIAL_TOKENS, "<BT>", *SYMBOLS]
    assert tokenizer.tokens()[: len(first)] == first
    assert tokenizer.first_symbol == 5
    assert not set(SYMBOLS) & set(tokenizer.tokens()[len(first) :])


PATTERNS = (
    *("{}", "{0}{0}", "a{}b", "a {} b", "⟨{}⟩", "1{}6", "⟨1{}6⟩", "猫{}猫"),
    '"{}".',
)


def test_each_is_one_token_whatever_is_around(tokenizer):
    cases = [(each, symbol) for each in PATTERNS for symbol in SYMBOLS]
    texts = [pattern.format(symbol) for pattern, symbol in cases]
    tokens = tokenizer.tokens()
    rows = tokenizer.tokenize(texts).to_list()
    for (pattern, symbol), row in zip(cases, rows, strict=True):
        found = [tokens[i] for i in row].count(symbol)
        assert found == pattern.count("{"), (pattern, symbol)


@pytest.mark.parametrize(
    "text",
    ["⟨0⟩", "⟨17⟩", "⟨1", "1⟩", "⟨ 1⟩", "⟨/t/⟩", "<1>", "⟨1//⟩", "〈1〉"],
)
def test_other_text_has_none(tokenizer, text):
    ids = tokenizer.tokenize([text, f"a{text}b"]).flat_values.numpy()
    assert not [i for i in ids if 5 <= i < 5 + len(SYMBOLS)]


TEXTS = [
    "⟨1⟩The cat⟨/1⟩ saw ⟨2⟩a ⟨3/⟩ star⟨/2⟩.",
    "The cat ⟨1⟩⟨2⟩saw⟨/2⟩⟨/1⟩ a star",
    "The cat ⟨1⟩ ⟨2⟩ saw ⟨/2⟩ ⟨/1⟩ a star",
    "The cat⟨1⟩ saw⟨/1⟩ a⟨2/⟩star",
    "The cat ⟨1⟩⟨/1⟩saw ⟨2/⟩⟨3⟩ a⟨/3⟩ star ⟨4⟩ ⟨/4⟩",
    "⟨1⟩⟨2⟩The⟨/2⟩⟨/1⟩⟨16/⟩",
    "⟨16⟩⟨/16⟩",
    "⟨1⟩",
    "The ⟨t⟩cat⟨=⟩dog⟨/t⟩ saw (⟨t⟩a⟨=⟩ star⟨/t⟩)",
    "⟨t⟩The cat⟨=⟩⟨/t⟩",
]


def test_pieces_and_characters_give_the_text_back():
    for name in ("unigram", "bpe", "mixed", "character"):
        assert round_trip(make(name), TEXTS) == TEXTS


def test_words_and_tokens_with_spaces_give_the_text_back():
    plain = [
        "the ⟨1⟩cat⟨/1⟩ saw ⟨2⟩⟨3⟩a star⟨/3⟩⟨/2⟩ (⟨4/⟩).",
        "⟨1⟩a ⟨2/⟩ star⟨/1⟩ and ⟨t⟩cat⟨=⟩dog⟨/t⟩.",
    ]
    assert round_trip(make("word", lowercase=True), plain) == plain
    spaced = ["The ⟨1⟩ cat ⟨/1⟩ saw ⟨2/⟩"]
    assert round_trip(make("space"), spaced) == spaced


@pytest.mark.parametrize("name", ["word", "unigram", "bpe"])
def test_words_beside_symbols_are_the_same_tokens(name):
    tokenizer = make(name)
    plain = tokens_of(tokenizer, "The cat saw a star.")
    marked = tokens_of(
        tokenizer, "The ⟨1⟩cat ⟨2⟩⟨3⟩saw⟨/3⟩⟨/2⟩ a⟨/1⟩ ⟨4⟩star⟨/4⟩."
    )
    term = tokens_of(tokenizer, "The ⟨t⟩cat⟨=⟩saw⟨/t⟩ a star.")
    for tokens in (marked, term):
        assert [token for token in tokens if token not in SYMBOLS] == plain


def test_surfaces_are_one_for_one_with_the_ids(tokenizer):
    ids, found = tokenizer.tokenize(TEXTS), tokenizer.surface(TEXTS)
    assert found.row_lengths().numpy().tolist() == (
        ids.row_lengths().numpy().tolist()
    )
    for text, row in zip(TEXTS, found.to_list(), strict=True):
        for symbol in SYMBOLS:
            count = sum(piece.decode() == symbol for piece in row)
            assert count == text.count(symbol)


@pytest.mark.medium
def test_a_graph_and_a_saved_tokenizer_give_the_same(tokenizer, tmp_path):
    tokenizer.save(tmp_path)
    loaded = load_tokenizer(tmp_path)
    assert loaded.fingerprint() == tokenizer.fingerprint()
    traced = tf.function(loaded.tokenize)(tf.constant(TEXTS))
    expected = tokenizer.tokenize(TEXTS).to_list()
    assert traced.to_list() == loaded.tokenize(TEXTS).to_list() == expected


def test_without_all_symbols_in_a_row_they_are_text():
    config = word_data(source_tokenizer="space")
    lines = ["⟨1⟩ a⟨1⟩b ⟨=⟩"] * 3
    tokenizer = build_tokenizer("space", lambda: lines, config, "en", 50)
    assert tokenizer.first_symbol is None
    assert tokens_of(tokenizer, "⟨1⟩ a⟨1⟩b") == ["⟨1⟩", "a⟨1⟩b"]
    assert first_symbol(["a", *SYMBOLS[1:]]) is None
    assert first_symbol([*SYMBOLS[:9], *TERM_SYMBOLS]) is None
    assert first_symbol(["a", *SYMBOLS, "b"]) == 1
