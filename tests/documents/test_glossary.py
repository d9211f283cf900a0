"""Glossaries: read, found in texts, annotated, and judged."""

import random
import re
import time

import pytest

from keras_transformer.documents.glossary import (
    Glossary,
    annotated,
    annotated_where_missing,
    has_form,
    with_wanted_terms,
    words_of,
)
from keras_transformer.documents.markup import mask_text
from keras_transformer.errors import InputError


def annotate(terms, text):
    return annotated(text, Glossary(terms).find(text))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A non-cell, 2 e-mails.", ["A", "non-cell", ",", "2", "e-mails", "."]),
        ("打开 File吧", ["打", "开", "File", "吧"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("l'été d’une", ["l", "'", "été", "d", "’", "une"]),
        (
            "C++, C#-x #5 a#1 ab# a+b",
            "C++ , C# - x # 5 a # 1 ab # a + b".split(),
        ),
        ("用C++写", ["用", "C++", "写"]),
        ("Zell\xadbe\xadreich", ["Zell\xadbe\xadreich"]),
        ("⟨1⟩a⟨/1⟩ <b x='c'>d", ["⟨1⟩", "a", "⟨/1⟩", "<b x='c'>", "d"]),
        ("", []),
    ],
)
def test_words(text, words):
    assert [text[w.start : w.end] for w in words_of(text)] == words


TERMS = [
    ("cell", "Zelle"),
    ("işlem", "process"),
    ("cell range", "Zellbereich"),
    ("OK", "OK-Knopf"),
    ("Impress", ""),
    ("save as...", "Speichern unter…"),
    ("文件", "file"),
    ("Excel 表格", "sheet"),
    ("C++", ""),
    ("C", "Ce"),
    ("user's e-mail", "Post"),
]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A cell.", "A ⟨t⟩cell⟨=⟩Zelle⟨/t⟩."),
        ("Cell", "⟨t⟩Cell⟨=⟩Zelle⟨/t⟩"),
        ("İşlem", "⟨t⟩İşlem⟨=⟩process⟨/t⟩"),
        (
            "a cell  range cell",
            "a ⟨t⟩cell  range⟨=⟩Zellbereich⟨/t⟩ ⟨t⟩cell⟨=⟩Zelle⟨/t⟩",
        ),
        ("cell\nrange", "⟨t⟩cell⟨=⟩Zelle⟨/t⟩\nrange"),
        ("cells, non-cell, cell-like", "cells, non-cell, cell-like"),
        ("cell.txt, my.cell, my_cell", "cell.txt, my.cell, my_cell"),
        ("OK, ok", "⟨t⟩OK⟨=⟩OK-Knopf⟨/t⟩, ok"),
        ("In Impress", "In ⟨t⟩Impress⟨=⟩Impress⟨/t⟩"),
        ("Save As... it", "⟨t⟩Save As...⟨=⟩Speichern unter…⟨/t⟩ it"),
        ("打开文件夹", "打开⟨t⟩文件⟨=⟩file⟨/t⟩夹"),
        ("打开Excel表格", "打开⟨t⟩Excel表格⟨=⟩sheet⟨/t⟩"),
        ("In C++, C#", "In ⟨t⟩C++⟨=⟩C++⟨/t⟩, C#"),
        (
            "User’s e\u2011mail, us\xader's e-mail",
            "⟨t⟩User’s e\u2011mail⟨=⟩Post⟨/t⟩, ⟨t⟩us\xader's e-mail⟨=⟩Post⟨/t⟩",
        ),
        ("⟨1⟩cell⟨/1⟩ ⟨2/⟩", "⟨1⟩⟨t⟩cell⟨=⟩Zelle⟨/t⟩⟨/1⟩ ⟨2/⟩"),
        ("cell ⟨1/⟩ range", "⟨t⟩cell⟨=⟩Zelle⟨/t⟩ ⟨1/⟩ range"),
        ("<cell cell=1>{cell}", "<cell cell=1>{cell}"),
        ("", ""),
    ],
)
def test_terms_of_a_text(text, expected):
    assert annotate(TERMS, text) == expected


def test_file(tmp_path):
    path = tmp_path / "terms.tsv"
    content = (
        "\ufeffcell\tZelle\ta note\tmore\r\n\n Cell  Range \tBereich\nX\t\n"
    )
    path.write_text(content, encoding="utf-8", newline="")
    glossary = Glossary.read(path)
    assert len(glossary) == 3
    found = glossary.find("Cell Range X cell")
    assert [term.target for term in found] == ["Bereich", "", "Zelle"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\tb\nc\n", "line 2: .'c'.. Accepted: SOURCE, tab, TARGET"),
        (b"\tb\n", "line 1: "),
        (b"a\tb\na\tb\na\tc\n", "line 3: 'a' is 'c' here, 'b' before"),
        ("a\t⟨t⟩\n".encode(), "line 1: .*without ⟨ and ⟩"),
        (b"a" * 201 + b"\tb", "line 1: .*up to 200 characters"),
        (b"\n \n", "no term in it"),
        (b"a\tb\n\xff\tc\n", "line 2: not UTF-8"),
    ],
)
def test_bad_file_is_refused_in_a_line(tmp_path, content, message):
    path = tmp_path / "terms.tsv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=f"terms.tsv.*{message}") as error:
        Glossary.read(path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("terms", [[("a",)], ["ab"], [("a", 1)], [None]])
def test_bad_pairs_are_refused(terms):
    with pytest.raises(InputError, match="term 1: "):
        Glossary(terms)


def test_ten_thousand_terms_take_less_than_a_translation():
    draw = random.Random(1)
    words = [f"word{number}" for number in range(20_000)]
    glossary = Glossary(
        (" ".join(draw.sample(words, draw.randint(1, 3))), "x")
        for _ in range(10_000)
    )
    texts = [" ".join(draw.choices(words, k=20)) for _ in range(200)]
    started = time.monotonic()
    found = sum(len(glossary.find(text)) for text in texts)
    assert found > 200
    # Some 0.1 ms a text; a look at each term would take 2 s.
    assert time.monotonic() - started < 1


@pytest.mark.parametrize(
    ("text", "term", "form", "exact"),
    [
        ("Die Zelle ist", "Zelle", True, True),
        ("die zelle", "Zelle", True, True),
        ("Die Zellen sind", "Zelle", True, False),
        ("in Zellbereichen", "Zelle", False, False),
        ("Er öffnet es", "öffnen", True, False),
        ("die Daten", "Datei", False, False),
        ("den neuen Feldern", "neues Feld", False, False),
        ("dem neuen Feld", "neue Feld", True, False),
        ("Feld, neue", "neue Feld", False, False),
        ("打开文件夹", "文件", True, True),
        ("wahr und falsch", "UND", False, False),
        ("die Funktion UND", "UND", True, True),
        ("l’E\u2011Mail", "l'E-Mail", True, True),
        ("die Ze\xadlle", "Zelle", True, True),
        ("İşlem tamam", "işlem", True, True),
        ("", "Zelle", False, False),
    ],
)
def test_forms(text, term, form, exact):
    assert has_form(text, term) == form
    assert has_form(text, term, exact=True) == exact


def test_no_term_is_in_markup_of_ones_own():
    glossary = Glossary([("cell", "Zelle"), ("file", "Datei")])
    text = "See [[cell range]] in ~File of a cell."
    found = glossary.find(text, (r"\[\[.*?\]\]", r"~\w"))
    assert [text[one.start : one.end] for one in found] == ["cell"]
    assert found[0].start == text.rindex("cell")


def test_letters_may_be_decomposed():
    glossary = Glossary([("cafe\u0301", "Kaffeehaus")])
    for text in ("a caf\u00e9", "a cafe\u0301"):
        assert [one.target for one in glossary.find(text)] == ["Kaffeehaus"]


CELL, CALC, CASE = (
    f"⟨t⟩{term}⟨=⟩{wanted}⟨/t⟩"
    for term, wanted in (("cell", "Zelle"), ("Calc", "Calc"), ("Fall", "case"))
)


@pytest.mark.parametrize(
    ("source", "translation", "expected"),
    [
        (f"{CELL} in {CALC}", "⟨1⟩Zellen⟨/1⟩ in ⟨2⟩Calc⟨/2⟩", None),
        (
            f"{CELL} in {CALC}",
            "⟨2⟩Tabellen ⟨/2⟩der ⟨1⟩Feld⟨/1⟩",
            "Calc der Zelle",
        ),
        # A capital stays where the text begins.
        (f"<b>{CASE}</b> a", "⟨1⟩⟨2⟩Matter⟨/2⟩⟨/1⟩ a", "Case a"),
        (f"a {CASE}", "a ⟨1⟩Matter⟨/1⟩", "a case"),
        # There is no place for it.
        (f"a {CELL} b", "x⟨1⟩⟨/1⟩y", None),
        (f"a {CELL} {CALC}", "x ⟨1⟩y ⟨2⟩Calc⟨/2⟩ z⟨/1⟩", None),
        # Of a search that knows nothing of symbols.
        (f"a {CELL} b", "x Feld y", None),
    ],
)
def test_terms_are_put_where_a_model_wrote_others(
    source, translation, expected
):
    (masked,) = mask_text(source)
    found = with_wanted_terms(masked, translation)
    plain = re.sub("⟨.*?⟩", "", translation)
    assert re.sub("⟨.*?⟩", "", found) == (expected or plain)


def test_only_terms_that_are_missing_stay_annotated():
    text = "a ⟨t⟩cell⟨=⟩Zelle⟨/t⟩ in ⟨t⟩Base⟨=⟩Base⟨/t⟩"
    assert annotated_where_missing(text) == "a cell in Base"
    assert annotated_where_missing(text, "Zellen in Base") == "a cell in Base"
    one = "a cell in ⟨t⟩Base⟨=⟩Base⟨/t⟩"
    assert annotated_where_missing(text, "Zellen in Basis") == one


@pytest.mark.parametrize("blank", ["", " ", "\u3000"])
def test_what_asks_for_no_word_is_no_annotation(blank):
    text = f"a ⟨t⟩cell⟨=⟩{blank}⟨/t⟩"
    assert annotated_where_missing(text, "Zellen") == text
    (masked,) = mask_text(text)
    found = masked.unmasked(with_wanted_terms(masked, masked.text))
    assert found.rstrip() == "a cell"
