import pytest

from keras_transformer.data import cleaning
from keras_transformer.data.cleaning import (
    Cleaner,
    CleaningReport,
    check_filters,
    text_filters,
)
from keras_transformer.errors import InputError
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


# Filters.


def passes(pair, name, source="en", target="de"):
    config = word_data(
        source_language=source, target_language=target, filters=(name,)
    )
    (check,) = text_filters(config).values()
    return check(pair)


@pytest.mark.parametrize(
    ("source", "target", "same"),
    [
        ("no number", "keine Zahl", True),
        ("in 1998", "im Jahr 1989", False),
        ("in 1998", "im Jahr 1998", True),
        # One side may say it in words; both may not say others.
        ("the 2nd of 3", "der zweite von 3", True),
        ("zwei", "2", True),
        ("the 2nd of 3", "der 1. von drei", False),
        # Separators and zeros.
        ("1,000.50 $", "1.000,50 $", True),
        ("1000000", "1 000 000", True),
        ("1000", "1\u202f000", True),
        ("1,234 francs", "1’234 Fr.", True),
        ("1,234 riyals", "١٬٢٣٤ ريال", True),
        ("1,234 yen", "１，２３４円", True),
        ("on 2024-01-05", "am 5.1.2024", True),
        ("at 10:30", "um 10.30", True),
        ("at 10:30", "um 11.30", False),
        # Of other scripts.
        ("in 1998", "١٩٩٨", True),
        ("in 1998", "１９８９", False),
        ("0", "00", True),
        # Of which the rest is a word.
        ("30,000 people", "3万人", True),
        ("1.5 million", "150万", True),
        ("2,000 people", "2 тыс. человек", True),
        ("the 2nd of 30,000", "1. 3万", False),
        ("3,000,000 people", "3百万人", True),
        ("2,500,000 people in 1998", "2,5 milhões de pessoas em 1989", False),
        ("5 miles", "8 миль", False),
        ("5 millimetres", "6 χιλιόμετρα", False),
        ("5 provinces", "6 tỉnh", False),
        # Of tags, placeholders and addresses.
        ('See <a id="1">it</a>', 'Siehe <a id="2">dies</a>', True),
        ("9" * 5000, "9" * 4999, False),
    ],
)
def test_numbers_of_both_sides_agree(source, target, same):
    assert passes((source, target), "numbers") == same
    assert passes((target, source), "numbers") == same


@pytest.mark.parametrize(
    "text",
    (
        "2,5 millones; 2,5 milhões; 2,5 mil; 2,5 mila; 2,5 miljoen; "
        "2,5 miljoner; 2,5 miljoonaa; 2,5 millió; 2,5 milyon; 2,5 mln; "
        "2,5 tisíce; 2,5 миллиона; 2,5 мільйона; 2,5 εκατομμύρια; 1,2 triệu; "
        "5 nghìn; 7 tỷ; 2,5 juta; 3 लाख; 2.5 करोड़; 5 हज़ार; 2.5 مليون; "
        "٢٫٥ مليون; ۲٫۵ میلیون; 2.5 ล้าน"
    ).split("; "),
)
def test_numbers_may_have_words_of_many_languages(text):
    assert passes(("2,500,000 people", text), "numbers")
    assert passes((text, "2,500,000 people"), "numbers")


GERMAN = "Dieses Paket enthält die Dokumentation der Bibliothek."
ENGLISH = "This package contains the documentation of the library."
FRENCH = "Ce paquet contient la documentation de la bibliothèque."


@pytest.mark.parametrize(
    ("pair", "languages", "kept"),
    [
        ((ENGLISH, GERMAN), "en de", True),
        ((ENGLISH, GERMAN), "eng de-AT", True),
        ((ENGLISH, FRENCH), "en de", False),
        ((GERMAN, GERMAN), "en de", False),
        (("<BT> " + ENGLISH, GERMAN), "en de", True),
        # Of one that isn't known, the other is.
        ((FRENCH, GERMAN), "tlh de", True),
        ((FRENCH, FRENCH), "tlh de", False),
        # Too short to tell, and names.
        (("yes", "oui"), "en de", True),
        (("GNU Emacs 29.1", "GNU Emacs 29.1"), "en de", True),
        ((ENGLISH, "这个软件包包含该库的文档，供开发者参考。"), "en zh", True),
        (
            (ENGLISH, "このパッケージにはライブラリの文書が含まれています。"),
            "en zh",
            False,
        ),
    ],
)
def test_another_language_is_dropped(pair, languages, kept):
    pytest.importorskip("py3langid")
    assert passes(pair, "language", *languages.split()) == kept


def test_a_language_that_cannot_be_told_is_refused(monkeypatch):
    pytest.importorskip("py3langid")
    unknown = word_data(
        source_language="tlh", target_language="qya", filters=("language",)
    )
    with pytest.raises(InputError, match="knows neither tlh nor qya"):
        check_filters(unknown)
    monkeypatch.setattr(cleaning, "_PACKAGE", "no_such_package")
    config = word_data(filters=("language",))
    with pytest.raises(InputError, match=r"Accepted: pip install '\.\[filters"):
        check_filters(config)
    check_filters(word_data(filters=("numbers",)))


@pytest.mark.parametrize("tag", ["", "<BT> ", "<2de> "])
def test_filters_do_not_look_at_tags(tag):
    clean = Cleaner(
        word_data(target_language="de", filters=("copies", "numbers"))
    )
    good = f"{tag}at two o'clock", "um 14 Uhr"
    report = CleaningReport()
    assert clean([good, (f"{tag}Berlin", "Berlin")], report) == [good]
    assert report.dropped["copied"] == 1
