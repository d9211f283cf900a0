import numpy as np
import pytest

from keras_transformer.config import DataConfig
from keras_transformer.data.cleaning import (
    CleaningReport,
    SeenPairs,
    clean_pairs,
    keep_by_length,
)


def unchanged(lines):
    return lines


def test_text_is_stripped_and_keeps_no_column_separator():
    report = CleaningReport()
    pairs = clean_pairs(
        [(" a\tb \r", "\u3000c\rd")], unchanged, unchanged, report
    )
    assert pairs == [("a b", "c d")]


def test_empty_sides_are_dropped_and_counted():
    report = CleaningReport()
    pairs = [("a", "b"), (" ", "b"), ("a", "\u3000"), ("", "")]
    assert clean_pairs(pairs, unchanged, unchanged, report) == [("a", "b")]
    assert report.read == 4
    assert report.to_dict()["empty"] == 3


def test_sides_are_cleaned_by_their_own_functions():
    report = CleaningReport()
    pairs = clean_pairs(
        [("a", "b")],
        lambda lines: [line.upper() for line in lines],
        lambda lines: [line * 2 for line in lines],
        report,
    )
    assert pairs == [("A", "bb")]


def test_only_the_first_of_equal_pairs_is_kept():
    report, seen = CleaningReport(), SeenPairs()
    first = [("a", "b"), ("a", "c"), ("a", "b ")]
    later = [("d", "b"), ("a", "c"), ("d", "b")]
    kept = clean_pairs(first, unchanged, unchanged, report, seen)
    kept += clean_pairs(later, unchanged, unchanged, report, seen)
    assert kept == [("a", "b"), ("a", "c"), ("d", "b")]
    assert report.to_dict()["duplicate"] == 3
    assert report.kept == 3


def test_duplicates_stay_where_nothing_remembers_them():
    report = CleaningReport()
    pairs = clean_pairs([("a", "b")] * 2, unchanged, unchanged, report)
    assert pairs == [("a", "b")] * 2


def test_seen_pairs_are_found_however_many_came_between():
    seen = SeenPairs()
    for start in range(0, 20_000, 100):
        pairs = [(str(n), "x") for n in range(start, start + 100)]
        assert seen.first_seen(pairs).all()
    old = [(str(n), "x") for n in range(0, 20_000, 7)]
    new = [(str(n), "y") for n in range(0, 20_000, 7)]
    assert not seen.first_seen(old).any()
    assert seen.first_seen(new).all()


def test_seen_pairs_take_eight_bytes_each():
    seen = SeenPairs()
    for start in range(0, 50_000, 1000):
        seen.first_seen([(str(n), "") for n in range(start, start + 1000)])
    assert sum(run.nbytes for run in seen._runs) == 8 * 50_000
    assert len(seen._runs) < 10


def test_a_pair_counts_under_the_first_reason_that_applies():
    config = DataConfig(max_length=10, max_length_ratio=2.0)
    report = CleaningReport()
    report.read = 7
    kept = keep_by_length(
        np.array([4, 0, 11, 30, 5, 2, 2]),
        np.array([4, 20, 11, 2, 10, 5, 4]),
        config,
        report,
    )
    np.testing.assert_array_equal(kept, [1, 0, 0, 0, 1, 0, 1])
    assert report.to_dict() == {
        "read": 7,
        "kept": 3,
        "empty": 1,
        "duplicate": 0,
        "over_long": 2,
        "length_ratio": 1,
    }


@pytest.mark.parametrize(
    "ratio, check", [(0.0, True), (2.0, False)], ids=["no limit", "no check"]
)
def test_length_ratio_is_an_option(ratio, check):
    report = CleaningReport()
    config = DataConfig(max_length_ratio=ratio)
    lengths = np.array([1]), np.array([50])
    assert keep_by_length(*lengths, config, report, check_ratio=check).all()
    assert report.dropped.total() == 0
