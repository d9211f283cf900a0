"""Links of words, and the phrases that they make."""

import pytest

from keras_transformer.data.word_links import WordLinks

# Each word of the targets is that of the sources, backwards, at its place.
NAMES = ["the", "cell", "range", "print", "area", "of", "a", "sheet", "header"]
SENTENCES = [
    "the cell range",
    "print the area",
    "the area of a sheet",
    "the header of the sheet",
    "print a cell",
    "a sheet header",
    "the range of cell",
    "print range",
    "header area",
]


def backwards(text):
    return " ".join(word[::-1] for word in text.split())


PAIRS = [(text, backwards(text)) for text in SENTENCES]


@pytest.fixture(scope="module")
def links():
    return WordLinks.learn([*PAIRS * 10, ("of the", "ehtfo"), ("", "x")])


def with_frequent(links, words=()):
    return WordLinks(links._aligner, links._numbers, words)


def phrases(links, source, target):
    return [
        (source[a:b], target[c:d])
        for a, b, c, d in links.phrases(source, target)
    ]


def test_phrases_are_consistent(links):
    links = with_frequent(links, ["the", "of", "a"])
    found = phrases(links, "Print the cell range.", "Egnar lLec eht tnirp.")
    assert ("cell", "lLec") in found
    assert ("cell range", "Egnar lLec") in found
    assert ("Print the cell range", "Egnar lLec eht tnirp") in found
    # They begin and end with no frequent word.
    assert not [s for s, _ in found if s.split()[0] == "the"]
    assert phrases(links, "of the", "fo eht") == []


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("print ⟨1/⟩ area", "tnirp aera"),
        ("print, area", "tnirp aera"),
        ("print area", "tnirp <b>aera"),
        ("print area", "tnirp. aera"),
    ],
)
def test_none_goes_over_markup_or_punctuation(links, source, target):
    links = with_frequent(links)
    assert phrases(links, source, target) == [
        ("print", "tnirp"),
        ("area", "aera"),
    ]
    assert ("print area", "tnirp aera") in phrases(
        links, "print area", "tnirp aera"
    )


def test_two_words_may_become_one():
    pairs = [
        ("text field", "Textfeld"),
        ("a text field here", "ein Textfeld hier"),
        ("a field", "ein Feld"),
        ("here", "hier"),
        ("a text", "ein Text"),
    ]
    links = with_frequent(WordLinks.learn(pairs * 5))
    found = phrases(links, "here a text field", "hier ein Textfeld")
    assert ("text field", "Textfeld") in found
    assert ("here", "hier") in found


@pytest.mark.parametrize("pairs", [[], [("", "")], [("a", "")], [("?", "!")]])
def test_nothing_to_learn_from(pairs):
    links = WordLinks.learn(pairs)
    assert links.phrases("a", "b") == []
