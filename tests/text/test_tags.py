import pytest

from keras_transformer.constants import SPECIAL_TOKENS, UNK_ID
from keras_transformer.data.selection import without_tags
from keras_transformer.errors import InputError
from keras_transformer.text import (
    CharacterTokenizer,
    WordTokenizer,
    build_tokenizer,
)
from keras_transformer.text.sentencepiece import SentencePieceTokenizer
from keras_transformer.text.vocabulary_training import train_sentencepiece
from tests.text.conftest import KINDS
from tests.word_data import word_data

TAGS = ("<BT>", "<2de>")
LINES = ["the cat saw a star", "the dog saw BT stars", "2de 3 < 4 > 1"]


def make(name, tags):
    config = word_data(**KINDS[name])
    lines = LINES * 5 + ([f"<BT> {LINES[0]}"] if tags else LINES[:1])
    return build_tokenizer(
        config.source_kind,
        lambda: lines,
        config,
        "en",
        60 + len(tags),
        tags=tags,
    )


@pytest.fixture(scope="module", params=["word", "character", "unigram", "bpe"])
def pair(request):
    """A tokenizer with tags, and the same without."""
    return make(request.param, TAGS), make(request.param, ())


def texts_of(tokenizer, ids):
    return [[tokenizer.tokens()[i] for i in row] for row in ids.to_list()]


def test_a_tag_is_one_token_before_those_of_the_text(pair):
    tagged, plain = pair
    text = "the cat saw a star"
    own = texts_of(plain, plain.tokenize([text]))[0]
    for start in ("<BT>", " <BT>  ", "<BT>\u3000", "<BT>\n"):
        ids = tagged.tokenize([start + text])
        assert texts_of(tagged, ids) == [["<BT>", *own]]
    for start in ("<2de><BT> ", "<2de> <BT> "):
        ids = tagged.tokenize([start + text])
        assert texts_of(tagged, ids) == [["<2de>", "<BT>", *own]]


def test_tags_take_the_first_ids_after_the_reserved(pair):
    tagged, _ = pair
    assert tuple(tagged.tokens()[:6]) == SPECIAL_TOKENS + TAGS
    assert tagged.tokenize(["<2de>"]).to_list() == [[5]]
    assert tagged.tokenize(["<BT> <2de>"]).to_list() == [[4, 5]]
    assert not set(TAGS) & set(tagged.tokens()[6:])


@pytest.mark.parametrize(
    "text",
    ["the <BT> cat", "<bt> cat", "x<BT>", "< BT>", "<XX> cat", "", " ", *LINES],
)
def test_anywhere_else_it_is_text(pair, text):
    tagged, plain = pair
    ids = tagged.tokenize([text])
    assert not {4, 5} & set(ids.flat_values.numpy())
    assert tagged.tokenize(["<XX> cat"]).to_list() != [[UNK_ID]]
    known = texts_of(plain, plain.tokenize([text]))
    assert texts_of(tagged, ids) == known


def test_detokenized_text_has_the_tag_and_gives_the_same_ids(pair):
    tagged, _ = pair
    ids = tagged.tokenize(["<BT> the cat saw a star", "<2de>"])
    texts = tagged.detokenize(ids)
    assert texts.numpy()[0].startswith(b"<BT>")
    assert tagged.tokenize(texts).to_list() == ids.to_list()


def test_vocabulary_must_have_the_tags_where_their_ids_are():
    for kind in (WordTokenizer, CharacterTokenizer):
        with pytest.raises(InputError, match="the tags <BT> don't follow"):
            kind([*SPECIAL_TOKENS, "cat", "<BT>"], tags=("<BT>",))
    model = train_sentencepiece(LINES * 5, 60)
    with pytest.raises(InputError, match="the tags <BT> don't follow"):
        SentencePieceTokenizer(model, tags=("<BT>",))


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("<BT> a", "a"),
        ("<BT><2de>  a <b>", "a <b>"),
        ("a <BT>", "a <BT>"),
        ("<< a", "<< a"),
        ("", ""),
    ],
)
def test_without_tags(text, rest):
    assert without_tags(text) == rest
