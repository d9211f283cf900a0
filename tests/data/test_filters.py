import pytest

from keras_transformer.data import filters
from keras_transformer.data.cleaning import Cleaner, CleaningReport
from keras_transformer.data.filters import check_filters, text_filters
from keras_transformer.errors import InputError
from tests.word_data import word_data


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
        # Of tags, placeholders and addresses.
        ('See <a id="1">it</a>', 'Siehe <a id="2">dies</a>', True),
        ("9" * 5000, "9" * 4999, False),
    ],
)
def test_numbers_of_both_sides_agree(source, target, same):
    assert passes((source, target), "numbers") == same
    assert passes((target, source), "numbers") == same


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
    monkeypatch.setattr(filters, "_PACKAGE", "no_such_package")
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
