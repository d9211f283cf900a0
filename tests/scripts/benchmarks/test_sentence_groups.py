import numpy as np

from scripts.benchmarks.sentence_groups import (
    choose_dev,
    pair_keys,
    sentence_groups,
)


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
    assert groups[0] == groups[2] == groups[5]
    assert len(set(groups.tolist())) == 3


def test_dev_is_whole_groups_and_not_more_than_its_share():
    groups = np.random.default_rng(0).integers(0, 300, 1000)
    chosen = choose_dev(groups, 0.1, seed=3)
    assert 95 <= chosen.sum() <= 100
    assert not set(groups[chosen]) & set(groups[~chosen])
