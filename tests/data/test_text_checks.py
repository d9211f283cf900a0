import random

import pytest

from keras_transformer.config import DataConfig
from keras_transformer.data.text_checks import (
    ScriptCheck,
    SideLimits,
    not_copied,
    text_checks,
)


def test_only_duplicates_are_looked_for_by_default():
    assert [name for name, _ in text_checks(DataConfig())] == ["duplicate"]
    config = DataConfig(
        check_script=True,
        remove_copies=True,
        remove_duplicates=False,
        max_sources_per_target=3,
    )
    assert [name for name, _ in text_checks(config)] == [
        "wrong_script",
        "copied",
        "repeated_side",
    ]


def test_either_side_in_a_wrong_script_is_dropped():
    check = ScriptCheck("en", "zh")
    pairs = [
        ("I see it.", "我看见了。"),
        ("我看见了。", "我看见了。"),
        ("I see it.", "I see it."),
        ("42", "42"),
    ]
    assert check(pairs).tolist() == [True, False, False, True]


def test_a_language_of_no_known_script_is_not_checked():
    pairs = [("mitä", "мир"), ("mitä", "world")]
    assert ScriptCheck("xx", "ru")(pairs).tolist() == [True, False]
    assert ScriptCheck("ru", "xx")([("a", "b")]).tolist() == [False]


@pytest.mark.parametrize(
    ("source", "target", "kept"),
    [
        ("Hello", "hello", False),
        ("New York", "  new  york", False),
        ("STRASSE", "straße", False),
        ("你好", "你好", False),
        ("Hello", "Hello!", True),
        ("1999", "1999", True),
        ("10:30 ?", "10:30 ?", True),
    ],
)
def test_a_copy_is_equal_text_with_letters(source, target, kept):
    assert not_copied([(source, target)]).tolist() == [kept]


def test_a_side_is_kept_only_so_often():
    pairs = [("a", "x"), ("b", "x"), ("a", "y"), ("c", "x"), ("a", "z")]
    assert SideLimits(2, None)(pairs).tolist() == [1, 1, 1, 1, 0]
    assert SideLimits(None, 1)(pairs).tolist() == [1, 0, 1, 0, 1]
    assert SideLimits(2, 2)(pairs).tolist() == [1, 1, 1, 0, 0]


def test_a_pair_that_one_limit_drops_does_not_count_for_the_other():
    limits = SideLimits(1, 1)
    # (a, y) falls to its source, and so leaves y to (b, y).
    assert limits([("a", "x"), ("a", "y"), ("b", "y")]).tolist() == [1, 0, 1]


def test_limits_hold_across_chunks_whatever_their_size():
    random.seed(2)
    pairs = [
        (str(random.randrange(40)), str(random.randrange(60)))
        for _ in range(1000)
    ]
    whole = SideLimits(5, 3)(pairs).tolist()
    limits, parts = SideLimits(5, 3), []
    for start in range(0, 1000, 7):
        parts += limits(pairs[start : start + 7]).tolist()
    assert parts == whole
    kept = [pair for pair, keep in zip(pairs, whole, strict=True) if keep]
    for side, limit in ((0, 5), (1, 3)):
        texts = [pair[side] for pair in kept]
        assert max(map(texts.count, texts)) == limit


def test_no_pair_is_no_trouble():
    config = DataConfig(
        check_script=True, remove_copies=True, max_targets_per_source=1
    )
    for _, check in text_checks(config):
        assert check([]).tolist() == []
        assert check([("a", "书")]).tolist() == [True]
