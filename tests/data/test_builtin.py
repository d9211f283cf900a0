import hashlib
import os
import subprocess
import sys

import pytest

from keras_transformer.data.builtin import generate_corpus
from keras_transformer.data.builtin.corpus import draw_pairs, units
from keras_transformer.data.builtin.draw import Draw
from keras_transformer.errors import InputError


@pytest.fixture(scope="module")
def corpus():
    return generate_corpus()


@pytest.fixture(scope="module")
def pairs(corpus):
    return corpus.train + corpus.dev + corpus.test


def digest_in_fresh_process(hash_seed):
    code = (
        "import hashlib, sys\n"
        "from keras_transformer.data.builtin import generate_corpus\n"
        "corpus = generate_corpus(seed=5)\n"
        "text = repr(tuple(corpus)).encode()\n"
        "assert 'tensorflow' not in sys.modules\n"
        "print(hashlib.sha256(text).hexdigest())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONHASHSEED": str(hash_seed)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_same_seed_gives_same_corpus_in_every_process():
    here = repr(tuple(generate_corpus(seed=5))).encode()
    digests = {digest_in_fresh_process(0), digest_in_fresh_process(12345)}
    assert digests == {hashlib.sha256(here).hexdigest()}


def test_other_seed_gives_other_corpus():
    assert generate_corpus(seed=1) != generate_corpus(seed=2)


def test_draws_do_not_change_with_the_python_version():
    draw = Draw(42)
    assert [draw.below(1000) for _ in range(6)] == [639, 25, 275, 223, 736, 676]
    assert Draw(1).shuffled("abcdef") == list("bcfdea")


def test_sizes_are_as_asked(corpus):
    assert [len(part) for part in corpus] == [22_000, 600, 600]
    small = generate_corpus(train_size=3000, dev_size=20, test_size=10)
    assert [len(part) for part in small] == [3000, 20, 10]


def test_no_sentence_occurs_twice_on_either_side(pairs):
    for side in (0, 1):
        assert len({pair[side] for pair in pairs}) == len(pairs)


def test_held_out_words_and_characters_are_common_in_training(corpus):
    counts = {}
    for pair in corpus.train:
        for unit in units(pair):
            counts[unit] = counts.get(unit, 0) + 1
    for pair in corpus.dev + corpus.test:
        for unit in units(pair):
            assert counts.get(unit, 0) >= 5, (unit, pair)


def test_sentence_lengths_are_those_of_short_real_sentences(pairs):
    lengths = [len(english.split()) for english, _ in pairs]
    assert min(lengths) == 2
    assert max(lengths) <= 20
    assert 7 <= sum(lengths) / len(lengths) <= 9


def test_constructions_are_balanced():
    counts = {}
    for name, _ in draw_pairs(Draw(3), 22_000):
        counts[name] = counts.get(name, 0) + 1
    assert len(counts) > 80
    assert max(counts.values()) < 0.02 * 22_000


def test_more_than_the_grammar_has_is_refused(monkeypatch):
    from keras_transformer.data.builtin import corpus, requests

    monkeypatch.setattr(corpus, "CONSTRUCTIONS", (requests.dont,))
    with pytest.raises(InputError, match="asked for 5000 pairs"):
        list(draw_pairs(Draw(0), 5000))


def test_held_out_part_that_leaves_words_rare_is_refused():
    with pytest.raises(InputError, match="more training pairs"):
        generate_corpus(train_size=50, dev_size=50, test_size=50)
