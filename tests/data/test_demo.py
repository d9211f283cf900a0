import hashlib

import pytest

from keras_transformer.data.demo import load_demo_corpus, words_of
from keras_transformer.errors import InputError


@pytest.fixture(scope="module")
def corpus():
    return load_demo_corpus()


@pytest.fixture(scope="module")
def pairs(corpus):
    return corpus.train + corpus.dev + corpus.test


def digest(corpus):
    return hashlib.sha256(repr(tuple(corpus)).encode()).hexdigest()[:16]


def test_pairs_are_those_of_every_earlier_version(corpus):
    assert digest(corpus) == "00b9bbeaaf1674d7"
    small = load_demo_corpus(train_size=2000, dev_size=40, test_size=20)
    assert digest(small) == "5664f9ad268ba0a1"


def test_no_sentence_occurs_twice_on_either_side(pairs):
    for side in (0, 1):
        assert len({pair[side] for pair in pairs}) == len(pairs)


def test_held_out_words_and_characters_are_common_in_training(corpus):
    counts = {}
    for pair in corpus.train:
        for word in words_of(pair):
            counts[word] = counts.get(word, 0) + 1
    for pair in corpus.dev + corpus.test:
        for word in words_of(pair):
            assert counts.get(word, 0) >= 5, (word, pair)


def test_more_than_the_file_has_is_refused():
    with pytest.raises(InputError, match="asked for 23201 pairs"):
        load_demo_corpus(train_size=22_001)


@pytest.mark.parametrize("train_size", [50, -5000])
def test_held_out_part_that_leaves_words_rare_is_refused(train_size):
    with pytest.raises(InputError, match="more training pairs"):
        load_demo_corpus(train_size=train_size, dev_size=50, test_size=50)
