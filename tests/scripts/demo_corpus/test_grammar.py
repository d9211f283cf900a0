import re

import pytest

from keras_transformer.data.demo import load_demo_corpus
from scripts.demo_corpus.constructions import CONSTRUCTIONS
from scripts.demo_corpus.draw import Draw


@pytest.fixture(scope="module")
def pairs():
    corpus = load_demo_corpus()
    return corpus.train + corpus.dev + corpus.test


@pytest.fixture(scope="module")
def grammar():
    """Every sentence that many draws of every construction give."""
    draw = Draw(11)
    return [
        (construct.__name__, *construct(draw))
        for construct in CONSTRUCTIONS
        for _ in range(2500)
    ]


def test_one_english_sentence_has_one_chinese(grammar):
    chinese_of = {}
    for name, english, chinese in grammar:
        assert chinese_of.setdefault(english, chinese) == chinese, (
            name,
            english,
        )


def test_sentences_are_written_as_their_languages_are(pairs):
    english_form = re.compile(r"[A-Z][A-Za-z'-]*(,? [A-Za-z'-]+)*[.?]")
    wrong_article = re.compile(
        r"\b[Aa] (?!university)[aeiou]|\b[Aa]n (?!hour)[^aeiou]"
    )
    chinese_form = re.compile(r"[\u4e00-\u9fff]+(，[\u4e00-\u9fff]+)?[。？]")
    for english, chinese in pairs:
        assert english_form.fullmatch(english), english
        assert not wrong_article.search(english), english
        assert chinese_form.fullmatch(chinese), chinese
        assert english.endswith("?") == chinese.endswith("？"), english
        asks = "吗谁什么哪怎几多还是"
        if chinese.endswith("？"):
            assert any(word in chinese for word in asks), chinese
