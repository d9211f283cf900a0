"""What scores don't show, counted on cases that a reader can count."""

import pytest

from keras_transformer.evaluation.analysis import (
    groups_by_length,
    is_spaceless,
    output_statistics,
    words,
)


def test_statistics_of_a_small_case():
    sources = ["Good morning.", "Tom.", "Yes", "no"]
    references = ["a b c d", "Tom", "e f", "g"]
    translations = ["a b a b a", "tom!", "YES", " "]
    one = output_statistics(sources, references, translations, "fr", "none")
    # Tokens: 5 + 1 + 1 of 4 + 1 + 2 + 1.
    assert one.length_ratio == 7 / 8
    # "a b" and "b a" stand two times each; nothing else has two tokens.
    assert one.repeated_2grams == 0.5
    assert one.repeated_4grams == 0
    assert one.empty == 1
    # The name is its own translation.
    assert one.copied == 1
    # Loops repeat.
    one = output_statistics(["x"], ["a"], ["a a a a a a a a"], "en")
    assert one.repeated_4grams == pytest.approx(4 / 5)
    assert one.length_ratio == 8
    # Chinese is counted by characters.
    one = output_statistics(["x"], ["我们喝茶"], ["喝茶"], "zh")
    assert one.length_ratio == 0.5


def test_words_of_a_language():
    assert words("Don't you, A-B 3?", "en") == ["don't", "you", "a", "b", "3"]
    assert words("我们喝tea。", "zh") == ["我", "们", "喝", "t", "e", "a"]
    assert words("…", "en") == []
    assert all(map(is_spaceless, ["zh", "ja", "th", "yue"]))
    assert not is_spaceless("ko")


@pytest.mark.parametrize(
    "text",
    [
        "हिन्दी में",  # Vowel signs and a virama.
        "தமிழ் மொழி",
        "שָׁלוֹם עוֹלָם",
        "مُحَمَّد رسول",
        "می\u200cروم خانه",  # A joiner between two parts of a word.
        "İstanbul'da yağmur",  # Its first letter in lower case has a mark.
    ],
)
def test_marks_are_part_of_a_word(text):
    found = words(text, "hi")
    assert len(found) == 2
    assert " ".join(found) == text.lower()


def test_groups_by_length_have_about_as_many_sentences():
    sources = [
        " ".join("w" * n) for n in [1] * 5 + [2] * 5 + list(range(3, 13))
    ]
    groups = groups_by_length(sources, "en")
    assert [(g.lowest, g.highest, len(g.indices)) for g in groups] == [
        (1, 1, 5),
        (2, 2, 5),
        (3, 6, 4),
        (7, 9, 3),
        (10, 12, 3),
    ]
    assert sorted(i for g in groups for i in g.indices) == list(range(20))
    (only,) = groups_by_length(["a b"] * 9, "en")
    assert (only.lowest, only.highest) == (2, 2)


@pytest.mark.parametrize(
    ("counts", "sizes"),
    [
        ([600, 8, 8, 184, 200], [600, 200, 200]),
        ([500, 1, 1, 1, 400, 100], [500, 403, 100]),
    ],
)
def test_one_large_group_leaves_no_tiny_ones(counts, sizes):
    sources = [
        " ".join("w" * length)
        for length, count in enumerate(counts, start=1)
        for _ in range(count)
    ]
    groups = groups_by_length(sources, "en")
    assert [len(group.indices) for group in groups] == sizes
