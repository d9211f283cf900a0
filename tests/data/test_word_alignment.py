"""Words of pairs of sentences that translate each other, and phrases."""

import numpy as np
import pytest

from keras_transformer.data import word_alignment
from keras_transformer.data.prepare import prepare
from keras_transformer.data.records import Ids
from keras_transformer.data.word_alignment import WordAligner, WordLinks
from scripts.tools.alignment_error_rate import alignment_error_rate
from tests.aligned_words import aligned_pairs, write_aligned_corpus
from tests.word_data import word_data


def sides_of(pairs):
    return [
        Ids(
            np.concatenate([np.array(ids, np.int32) for ids in side]),
            np.array([len(ids) for ids in side]),
        )
        for side in zip(*pairs, strict=True)
    ]


@pytest.fixture(scope="module")
def aligner():
    return WordAligner(*sides_of([p[:2] for p in aligned_pairs(1000)]))


def padded(ids):
    length = max(map(len, ids))
    rows = [[2, *row, 3] + [0] * (length - len(row)) for row in ids]
    return np.array(rows, np.int32)


def found_links(aligner, pairs):
    sources, targets, _ = zip(*pairs, strict=True)
    links = aligner(padded(sources), padded(targets)[:, :-1])
    assert links.dtype == bool
    return [{(s - 1, t - 1) for t, s in np.argwhere(row)} for row in links]


def test_links_are_those_of_the_language(aligner):
    pairs = list(aligned_pairs(100, seed=2))
    found = found_links(aligner, pairs)
    gold = [links for _, _, links in pairs]
    assert alignment_error_rate(found, gold) < 0.06
    assert min(s for links in found for s, _ in links) >= 0


def test_padding_changes_no_link(aligner):
    pairs = list(aligned_pairs(20, seed=3))
    alone = [found_links(aligner, [pair])[0] for pair in pairs]
    assert found_links(aligner, pairs) == alone


def test_what_was_never_seen_has_no_link(aligner):
    assert not aligner(np.array([[2, 900, 3]]), np.array([[2, 901]])).any()
    assert not aligner(np.array([[2, 3]]), np.array([[2]])).any()


def test_prepared_pairs_are_learned_from(tmp_path, monkeypatch):
    write_aligned_corpus(tmp_path, train=800)
    data = word_data(target_language="en", target_tokenizer="word")
    prepared = prepare([tmp_path / "train.tsv"], tmp_path / "data", data)
    tokenizers = prepared.source_tokenizer, prepared.target_tokenizer
    lines = (tmp_path / "gold.tsv").read_text().splitlines()
    *sides, _ = zip(*(line.split("\t") for line in lines), strict=True)
    ids = [
        tokenizer.tokenize(side).to_list()
        for tokenizer, side in zip(tokenizers, sides, strict=True)
    ]
    pairs = list(aligned_pairs(len(lines), seed=2))
    gold = [links for *_, links in pairs]
    found = [(*pair, None) for pair in zip(*ids, strict=True)]
    rate = alignment_error_rate(
        found_links(WordAligner.of(prepared), found), gold
    )
    assert rate < 0.08
    monkeypatch.setattr(word_alignment, "MOST_LINKS", 3000)
    less = found_links(WordAligner.of(prepared), found)
    assert rate < alignment_error_rate(less, gold) < 0.5


# Words, and the phrases that they make.


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
