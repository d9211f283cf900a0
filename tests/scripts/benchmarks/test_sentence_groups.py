import itertools

import numpy as np

from keras_transformer.data.corpus import read_pairs
from scripts.benchmarks.sentence_groups import (
    choose_dev,
    pair_keys,
    sentence_groups,
)


def same_group(groups, first, second):
    return groups[first] == groups[second]


def test_pairs_that_share_a_side_are_one_group_transitively():
    groups = sentence_groups(
        pair_keys(
            [
                ("Hi.", "嗨。"),
                ("Run!", "跑！"),
                ("hi", "你好。"),
                ("Hello", "你好！"),
                ("Go", "走"),
                ("hello!", "您好"),
            ]
        )
    )
    assert same_group(groups, 0, 2)
    assert same_group(groups, 0, 5)
    assert len(set(groups.tolist())) == 3


def test_a_source_and_a_target_do_not_make_a_group():
    groups = sentence_groups(pair_keys([("ok", "a"), ("b", "ok")]))
    assert groups[0] != groups[1]


def test_a_long_chain_is_one_group():
    numbers = np.random.default_rng(0).permutation(2001)
    pairs = [
        (f"s{numbers[(n + 1) // 2]}", f"t{numbers[n // 2]}")
        for n in range(2000)
    ]
    groups = sentence_groups(pair_keys(pairs))
    assert len(set(groups.tolist())) == 1


def test_dev_is_whole_groups_and_not_more_than_its_share():
    groups = np.random.default_rng(0).integers(0, 300, 1000)
    chosen = choose_dev(groups, 0.1, seed=3)
    assert 95 <= chosen.sum() <= 100
    assert not set(groups[chosen]) & set(groups[~chosen])


def test_dev_follows_from_the_seed():
    groups = np.arange(1000)
    first = choose_dev(groups, 0.1, seed=3)
    np.testing.assert_array_equal(first, choose_dev(groups, 0.1, seed=3))
    assert (first != choose_dev(groups, 0.1, seed=4)).any()


def test_a_group_larger_than_dev_is_passed_over():
    groups = np.array([0] * 90 + list(range(1, 11)))
    chosen = choose_dev(groups, 0.05, seed=1)
    assert chosen.sum() == 5
    assert not chosen[:90].any()


def test_splitting_a_corpus_leaves_no_overlap(corpus_files):
    pairs = list(itertools.islice(read_pairs([corpus_files[0]]), 0, None, 5))
    keys = pair_keys(pairs)
    chosen = choose_dev(sentence_groups(keys), 0.05, seed=1)
    assert not np.isin(keys[chosen], keys[~chosen]).any()
    assert abs(chosen.mean() - 0.05) < 0.001
