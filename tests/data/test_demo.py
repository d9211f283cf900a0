import hashlib

import pytest

from keras_transformer.data.demo import load_demo_corpus
from keras_transformer.errors import InputError


def digest(corpus):
    return hashlib.sha256(repr(tuple(corpus)).encode()).hexdigest()[:16]


def test_pairs_are_those_of_every_earlier_version():
    assert digest(load_demo_corpus()) == "00b9bbeaaf1674d7"
    small = load_demo_corpus(train_size=2000, dev_size=40, test_size=20)
    assert digest(small) == "5664f9ad268ba0a1"


def test_more_than_the_file_has_is_refused():
    with pytest.raises(InputError, match="asked for 23201 pairs"):
        load_demo_corpus(train_size=22_001)


@pytest.mark.parametrize("train_size", [50, -5000])
def test_held_out_part_that_leaves_words_rare_is_refused(train_size):
    with pytest.raises(InputError, match="more training pairs"):
        load_demo_corpus(train_size=train_size, dev_size=50, test_size=50)
