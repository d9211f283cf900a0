"""Pairs with symbols in place of markup, and with symbols put into words."""

import random
import re

import pytest

from keras_transformer.data.masking import COUNTS, Masker, mask_pair
from keras_transformer.data.word_alignment import WordLinks
from keras_transformer.documents.markup import find_marks
from keras_transformer.symbols import SYMBOL


@pytest.mark.parametrize(
    ("source", "target", "masked", "outcome"),
    [
        ("no tag", "kein Tag", ("no tag", "kein Tag"), None),
        (
            "Click <b>Save</b> in %s.",
            "In %s auf <b>Speichern</b> klicken.",
            (
                "Click ⟨1⟩Save⟨/1⟩ in ⟨2/⟩.",
                "In ⟨2/⟩ auf ⟨1⟩Speichern⟨/1⟩ klicken.",
            ),
            "masked",
        ),
        (
            "<a>x</a> <a>y</a> ⟨3⟩",
            "⟨3⟩ <a>u</a> <a>v</a>",
            ("⟨1⟩x⟨/1⟩ ⟨2⟩y⟨/2⟩ ⟨3/⟩", "⟨3/⟩ ⟨1⟩u⟨/1⟩ ⟨2⟩v⟨/2⟩"),
            "masked",
        ),
        # Attributes may be translated.
        (
            '<a href="#" title="File">x</a><br/>',
            '<a href="#" title="Datei">u</a><br/>',
            ("⟨1⟩x⟨/1⟩⟨2/⟩", "⟨1⟩u⟨/1⟩⟨2/⟩"),
            "masked",
        ),
        # As written before as named.
        (
            '<a x="1">x</a> <a x="2">y</a>',
            '<a x="2">v</a> <a x="3">u</a>',
            ("⟨1⟩x⟨/1⟩ ⟨2⟩y⟨/2⟩", "⟨2⟩v⟨/2⟩ ⟨1⟩u⟨/1⟩"),
            "masked",
        ),
        ("<b>x</b> %s y", "<b>u</b> v", ("x y", "u v"), "different"),
        ("x y", "u <i>v</i>", ("x y", "u v"), "different"),
        ("%1 x", "%2 u", ("x", "u"), "different"),
        ("<b>x", "<b>u</b>", ("x", "u"), "different"),
        ("a" + " %1" * 17, "b" + " %1" * 17, ("a", "b"), "too_many"),
        ("a" + " %1" * 18, "b" + " %1" * 17, ("a", "b"), "different"),
        # To match all with all would take hours.
        ("a" + " %1" * 99_999, "b" + " %2" * 99_999, ("a", "b"), "too_many"),
        (
            "a " + "%1 " * 16,
            "b " + "%1 " * 16,
            tuple(
                f"{c} " + "".join(f"⟨{k}/⟩ " for k in range(1, 17))
                for c in "ab"
            ),
            "masked",
        ),
    ],
)
def test_both_sides_are_masked_alike(source, target, masked, outcome):
    assert mask_pair((source, target)) == (masked, outcome)


def test_own_regular_expressions_are_masked():
    pair = ("~File #x", "#x ~Datei")
    patterns = ("~(?=[A-Z])", r"#\w")
    expected = ("⟨1/⟩File ⟨2/⟩", "⟨2/⟩ ⟨1/⟩Datei")
    assert mask_pair(pair, patterns) == (expected, "masked")


WORDS = {f"{a}{b}": f"{b}{a}o" for a in "abcdefghijkl" for b in "mnopqrstuv"}


def sentences(count):
    """Words and what they become, in reverse."""
    generator = random.Random(3)
    for _ in range(count):
        words = generator.sample(list(WORDS), 6)
        target = [WORDS[word] for word in reversed(words)]
        yield " ".join(words), " ".join(target)


@pytest.fixture(scope="module")
def made():
    pairs = list(sentences(3000))
    masker = Masker((), 1, WordLinks.learn(pairs))
    return [(pair, masker(pair)) for pair in pairs]


def test_symbols_are_put_into_a_tenth_of_the_pairs(made):
    counts = [done for _, (_, done) in made]
    assert all(set(done) <= set(COUNTS) for done in counts)
    assert 0.07 < sum("injected" in done for done in counts) / 3000 < 0.13


def test_they_are_around_words_that_translate_each_other(made):
    kinds = set()
    for (source, target), (masked, done) in made:
        marks = [find_marks(side) for side in masked]
        if not done:
            assert masked == (source, target)
            continue
        structures = [
            sorted(side[m.start : m.end] for m in found)
            for side, found in zip(masked, marks, strict=True)
        ]
        assert structures[0] == structures[1] != []
        for side, found in zip(masked, marks, strict=True):
            for index, mark in enumerate(found):
                symbol = side[mark.start : mark.end]
                assert (mark.partner == index) == symbol.endswith("/⟩")
                kinds.add(symbol.strip("⟨123456789⟩"))
        for index, mark in enumerate(marks[0]):
            if mark.partner > index:
                inner = [
                    _between(side, masked[0][mark.start : mark.end])
                    for side in masked
                ]
                words, others = (text.split() for text in inner)
                if not any(re.search(SYMBOL, text) for text in inner):
                    assert sorted(WORDS[w] for w in words) == sorted(others)
    assert kinds == {"", "/"}


def _between(text, opening):
    return text.split(opening)[1].split(opening.replace("⟨", "⟨/"))[0]


def test_the_same_pair_has_the_same_symbols(made):
    pairs = [pair for pair, _ in made]
    again = Masker((), 1, WordLinks.learn(pairs))
    assert [again(pair) for pair in reversed(pairs)] == [
        result for _, result in reversed(made)
    ]
    other = Masker((), 2, WordLinks.learn(pairs))
    assert [other(pair) for pair in pairs] != [result for _, result in made]
