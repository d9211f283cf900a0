import numpy as np
import pytest

from keras_transformer.config import DataConfig
from keras_transformer.data.cleaning import (
    REASONS,
    CleaningReport,
    clean_pairs,
    keep_by_length,
)
from keras_transformer.data.length_ratio import UsualRatios


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


def test_checks_see_in_turn_what_is_left():
    seen = []

    def check(number):
        def keep(pairs):
            seen.append((number, list(pairs)))
            return np.array([source != str(number) for source, _ in pairs])

        return keep

    report = CleaningReport()
    checks = [("copied", check(1)), ("duplicate", check(2))]
    pairs = [("1", "x"), ("2", "x"), (" ", "x"), ("3", "x")]
    kept = clean_pairs(pairs, unchanged, unchanged, report, checks)
    assert kept == [("3", "x")]
    assert seen == [
        (1, [("1", "x"), ("2", "x"), ("3", "x")]),
        (2, [("2", "x"), ("3", "x")]),
    ]
    assert (report.read, report.kept) == (4, 1)
    counts = report.to_dict()
    assert counts["empty"] == counts["copied"] == counts["duplicate"] == 1


def test_duplicates_stay_where_nothing_remembers_them():
    report = CleaningReport()
    pairs = clean_pairs([("a", "b")] * 2, unchanged, unchanged, report)
    assert pairs == [("a", "b")] * 2


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
        "wrong_script": 0,
        "copied": 0,
        "leaked": 0,
        "duplicate": 0,
        "repeated_side": 0,
        "over_long": 2,
        "length_ratio": 1,
        "ratio_outlier": 0,
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


def test_an_outlier_is_what_no_other_check_drops():
    usual = UsualRatios(median=1.0, lowest=0.5, highest=2.0)
    report = CleaningReport()
    kept = keep_by_length(
        np.array([4, 4, 4, 5, 0, 1, 2, 20]),
        np.array([4, 8, 9, 2, 5, 10, 5, 1]),
        DataConfig(max_length=10, max_length_ratio=5.0),
        report,
        usual=usual,
    )
    np.testing.assert_array_equal(kept, [1, 1, 0, 0, 0, 0, 0, 0])
    assert report.dropped == {
        **dict.fromkeys(REASONS, 0),
        "empty": 1,
        "over_long": 1,
        "length_ratio": 1,
        "ratio_outlier": 3,
    }
