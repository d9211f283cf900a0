import random

import pytest

from keras_transformer.text import chinese as opencc_text
from keras_transformer.text.normalization import Simplifier


@pytest.fixture(scope="module")
def simplifier():
    return Simplifier()


def _in_graph(simplifier, lines):
    return [line.decode() for line in simplifier(lines).numpy()]


def test_traditional_becomes_simplified(simplifier):
    lines = ["漢語 abc", "計畫瞭解乾隆", "", "简体"]
    expected = ["汉语 abc", "计划了解乾隆", "", "简体"]
    assert list(opencc_text.simplify(lines)) == expected
    assert _in_graph(simplifier, lines) == expected


def test_graph_equals_opencc_on_real_sentences(simplifier, sentence_pairs):
    sentences = [chinese for _, chinese in sentence_pairs]
    simplified = list(opencc_text.simplify(sentences))
    assert _in_graph(simplifier, sentences) == simplified
    # Text that is simplified already stays as it is.
    assert _in_graph(simplifier, simplified) == simplified


def test_graph_equals_opencc_on_random_phrases(simplifier):
    phrases = list(opencc_text.simplified("TSPhrases.txt"))
    characters = list(opencc_text.simplified("TSCharacters.txt"))
    generator = random.Random(0)
    lines = [
        "，".join(generator.choices(phrases, k=2))
        + "".join(generator.choices(characters, k=5))
        for _ in range(2000)
    ]
    ours, theirs = _in_graph(simplifier, lines), opencc_text.simplify(lines)
    different = sum(a != b for a, b in zip(ours, theirs, strict=True))
    # Overlapping phrases, which hardly ever meet.
    assert different <= 2


def test_opencc_is_asked_wherever_it_would_change_something(sentence_pairs):
    convert = opencc_text._converter().convert
    lines = [chinese for _, chinese in sentence_pairs[:2000]]
    for name in ("TSPhrases.txt", "TSCharacters.txt"):
        entries = opencc_text.simplified(name)
        lines += [f"{key}，{value}{key}" for key, value in entries.items()]
    assert list(opencc_text.simplify(lines)) == [*map(convert, lines)]
