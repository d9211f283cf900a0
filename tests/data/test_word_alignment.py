"""Words of pairs of sentences that translate each other."""

import numpy as np
import pytest

from keras_transformer.data import word_alignment
from keras_transformer.data.prepare import prepare
from keras_transformer.data.records import Ids
from keras_transformer.data.word_alignment import WordAligner
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
