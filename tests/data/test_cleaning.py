import pytest

from keras_transformer.data.cleaning import Cleaner, CleaningReport, script_hint
from tests.word_data import word_data

LATIN = {"source_language": "en", "target_language": "de"}


def cleaned(pairs, check=True, **options):
    """The pairs that are left, and the counts of those that aren't."""
    report = CleaningReport()
    left = Cleaner(word_data(**options), check)(pairs, report)
    assert report.read == len(pairs)
    assert report.kept == len(left)
    return left, {name: n for name, n in report.dropped.items() if n}


def test_text_is_stripped_and_keeps_no_column_separator():
    left, _ = cleaned([(" a\tb \r", "\u3000c\rd")])
    assert left == [("a b", "c d")]


def test_empty_sides_are_dropped_and_counted():
    pairs = [("a", "b"), (" ", "b"), ("a", "\u3000"), ("", "")]
    pairs += [("\u200b", "b"), ("a", "\u3164 \U000e0020")]
    assert cleaned(pairs) == ([("a", "b")], {"empty": 5})


def test_a_pair_counts_under_the_first_check_that_drops_it():
    pairs = [("我", "我"), ("A", "a"), ("I see", "看"), (" ", "x")]
    pairs += [("I see", "看")]  # A duplicate, which only a database knows.
    options = {"filters": ("script", "copies")}
    left, dropped = cleaned(pairs, **options)
    assert left == [("I see", "看")] * 2
    assert dropped == {"empty": 1, "wrong_script": 2}
    left, dropped = cleaned(pairs, **LATIN, **options)
    assert dropped == {"empty": 1, "wrong_script": 3, "copied": 1}
    # Neither by default, nor in held-out pairs.
    assert cleaned(pairs)[1] == {"empty": 1}
    assert cleaned(pairs, check=False, **options)[1] == {"empty": 1}
    assert cleaned([], **options) == ([], {})


@pytest.mark.parametrize(
    ("languages", "source", "target", "kept"),
    [
        ("en zh", "I see it.", "我看见了。", True),
        ("en zh", "我看见了。", "我看见了。", False),
        ("en zh", "I see it.", "I see it.", False),
        ("en zh", "42", "42", True),
        # A language of no known script isn't checked.
        ("xx ru", "mitä", "мир", True),
        ("xx ru", "mitä", "world", False),
        ("ru xx", "a", "b", False),
        # Tags don't count.
        ("zh en", "<BT> 你好", "hi", True),
        ("zh en", "<BT> hi", "hi", False),
        # Nor does markup.
        ("en zh", '<link name="File">File</link>', "<link>文件</link>", True),
        ("en zh", "%PRODUCTNAME", "%PRODUCTNAME", True),
    ],
)
def test_either_side_in_a_wrong_script_is_dropped(
    languages, source, target, kept
):
    source_language, target_language = languages.split()
    left, dropped = cleaned(
        [(source, target)],
        filters=("script",),
        source_language=source_language,
        target_language=target_language,
    )
    assert bool(left) == kept
    assert dropped == ({} if kept else {"wrong_script": 1})


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
        ('<embed href="a"/>', '<embed href="a"/>', True),
        ("<b>Open</b>", "open", False),
    ],
)
def test_a_copy_is_equal_text_with_letters(source, target, kept):
    left, dropped = cleaned([(source, target)], filters=("copies",))
    assert bool(left) == kept
    assert dropped == ({} if kept else {"copied": 1})


def test_samples_are_some_of_the_dropped_pairs_in_any_order():
    pairs = [(f"Hello {n}", f"hello {n}") for n in range(20)]
    pairs += [("Hi", "你好"), ("Hi" * 300, "hi" * 300)]
    whole, backwards, parts = (CleaningReport() for _ in range(3))
    cleaner = Cleaner(word_data(filters=("copies",)))
    cleaner(pairs, whole)
    cleaner(pairs[::-1], backwards)
    for part in (pairs[5:], pairs[:5]):
        report = CleaningReport()
        cleaner(part, report)
        # As a worker's report comes, in lists.
        report.samples = {k: [*map(list, v)] for k, v in report.samples.items()}
        parts.add(report)
    samples = whole.shown_samples()
    assert samples == backwards.shown_samples() == parts.shown_samples()
    (copies,) = samples.values()
    dropped = {tuple(text[:200] for text in pair) for pair in pairs[:20]}
    dropped.add(("Hi" * 100, "hi" * 100))
    assert len(copies) == 5
    assert {*map(tuple, copies)} < dropped


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
        ("en", "de", [("1.27", EN)], "sources are not in a script of en"),
        ("en", "zh", [], None),
    ],
)
def test_columns_in_scripts_of_other_languages(source, target, pairs, says):
    config = word_data(source_language=source, target_language=target)
    hint = script_hint(pairs, config)
    assert hint == says if says is None else says in hint
