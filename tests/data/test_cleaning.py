import numpy as np
import pytest

from keras_transformer.config import DataConfig
from keras_transformer.data.cleaning import (
    CleaningReport,
    ScriptCheck,
    clean_pairs,
    keep_by_length,
    not_copied,
    script_hint,
    text_checks,
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
    pairs += [("\u200b", "b"), ("a", "\u3164 \U000e0020")]
    assert clean_pairs(pairs, unchanged, unchanged, report) == [("a", "b")]
    assert report.read == 6
    assert report.to_dict()["empty"] == 5


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
        "long_line": 0,
        "empty": 1,
        "wrong_script": 0,
        "copied": 0,
        "leaked": 0,
        "duplicate": 0,
        "shared_with_dev": 0,
        "not_sampled": 0,
        "over_long": 2,
        "length_ratio": 1,
        "repeated": 0,
    }


@pytest.mark.parametrize(
    ("ratio", "check"),
    [(0.0, True), (2.0, False)],
    ids=["no limit", "no check"],
)
def test_length_ratio_is_an_option(ratio, check):
    report = CleaningReport()
    config = DataConfig(max_length_ratio=ratio)
    lengths = np.array([1]), np.array([50])
    assert keep_by_length(*lengths, config, report, check_ratio=check).all()
    assert report.dropped.total() == 0


# Checks of text.


def test_no_text_is_looked_at_by_default():
    assert text_checks(DataConfig()) == []
    config = DataConfig(check_script=True, remove_copies=True)
    assert [name for name, _ in text_checks(config)] == [
        "wrong_script",
        "copied",
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
        ("<b>Open</b>", "<b>Open</b>", False),
        ("<BT> Open", "open", False),
        ("Hello", "Hello!", True),
        ("1999", "1999", True),
        ("10:30 ?", "10:30 ?", True),
    ],
)
def test_a_copy_is_equal_text_with_letters(source, target, kept):
    assert not_copied([(source, target)]).tolist() == [kept]


def test_no_pair_is_no_trouble():
    config = DataConfig(check_script=True, remove_copies=True)
    for _, check in text_checks(config):
        assert check([]).tolist() == []
        assert check([("a", "书")]).tolist() == [True]


def test_tags_say_nothing_about_script_and_copies():
    pairs = [("<BT> 你好", "hi"), ("<BT> hi", "hi")]
    assert ScriptCheck("zh", "en")(pairs).tolist() == [True, False]
    assert not_copied(pairs).tolist() == [True, False]


EN, ZH, RU = "a red cat", "一只红猫", "рыжий кот"


@pytest.mark.parametrize(
    ("source", "target", "pairs", "says"),
    [
        ("en", "zh", [(EN, ZH)], None),
        ("zh-TW", "en", [(ZH, EN)], None),
        ("en", "zh", [(ZH, EN)], "the columns are swapped"),
        ("ru", "en", [(EN, RU)] * 3 + [(RU, EN)], "the columns are swapped"),
        ("en", "ru", [(EN, RU)] * 3 + [(RU, EN)], None),
        ("en", "de", [(EN, ZH)], "targets are not in a script of de (LATIN)"),
        (
            "ru",
            "uk",
            [(EN, EN)],
            "sources are not in a script of ru (CYRILLIC)",
        ),
        # Of one script, of no letters, of two scripts, of unknown ones.
        ("de", "en", [(EN, "eine rote Katze")], None),
        ("en", "zh", [("1 + 1", "2"), ("", "")], None),
        ("sr", "en", [(EN, RU)], "targets are not in a script of en (LATIN)"),
        ("tlh", "zh", [(ZH, EN)], "targets are not in a script of zh (HAN)"),
        ("en", "zh", [("<BT> <QE> " + ZH, EN)], "the columns are swapped"),
        ("en", "zh", [], None),
    ],
)
def test_columns_in_scripts_of_other_languages(source, target, pairs, says):
    config = DataConfig(source_language=source, target_language=target)
    hint = script_hint(pairs, config)
    assert hint == says if says is None else says in hint
