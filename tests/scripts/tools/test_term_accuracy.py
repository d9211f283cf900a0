"""Measuring terms, at a size that measures nothing."""

import json

import pytest

import keras_transformer as kt
from scripts.tools import term_accuracy
from tests.toy_runs import untrained_run

FILES = "--texts", "helpcontent2"
INTERFACE = [
    ("~Cell Range", "~Zellbereich"),
    ("Page style...", "Seitenvorlage…"),
    ("The Page", "Die Seite"),
    ("Print", "Drucken"),
    ("Print", "Druck"),
    ("<b>Bold</b>", "<b>Fett</b>"),
    ("Tabs", "Tabs"),
]
HELP = [
    ("Select the <b>cell range</b> now", "Den <b>Zellbereich</b> markieren"),
    ("Each page style is here", "Jede der Seitenvorlagen ist hier"),
    ("A page style", "Etwas anderes"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Texts of files, and a glossary of the interface's."""
    folder = tmp_path_factory.mktemp("accuracy")

    def write(name, interface, pairs):
        rows = [(*pair, "sw/messages.po") for pair in interface]
        rows += [(*pair, "helpcontent2/x.po") for pair in pairs]
        lines = ["\t".join(row) + "\n" for row in rows]
        (folder / name).write_text("".join(lines))

    more = [(f"word {n} of a help", f"Wort {n} der Hilfe") for n in range(60)]
    write("train.tsv", INTERFACE, [*HELP[:1], *more])
    write("dev.tsv", [], HELP)
    split = ["split", "--train", folder / "train.tsv", "--dev"]
    split += [folder / "dev.tsv", *FILES, "--out", folder / "terms"]
    assert term_accuracy.main([str(each) for each in split]) == 0
    return folder


def read(folder, name):
    lines = (folder / "terms" / name).read_text().splitlines()
    return {tuple(line.split("\t")) for line in lines}


def test_split_holds_terms_out(folder):
    known, unseen = read(folder, "terms.tsv"), read(folder, "unseen.tsv")
    assert known | unseen == {
        ("cell range", "Zellbereich"),
        ("page style", "Seitenvorlage"),
    }
    assert len(unseen) == 1
    ((term, _),) = unseen
    train = read(folder, "train.tsv")
    assert not [pair for pair in train if term in pair[0].lower()]
    assert len(train) > 60


@pytest.mark.medium
def test_measure_tells_known_terms_from_unseen_ones(folder, capsys):
    data = kt.prepare(
        *(folder / "terms" / "train.tsv", folder / "data"),
        dev=0.1,
        terms=folder / "terms" / "terms.tsv",
        source_language="en",
        target_language="de",
        source_tokenizer="word",
        target_tokenizer="word",
        markup="symbols",
        term_share=0.3,
    )
    untrained_run(folder / "run", data.path)
    words = ["measure", "--run", folder / "run", "--dev", folder / "dev.tsv"]
    words += [*FILES, "--terms", folder / "terms"]
    words = [str(word) for word in words]
    capsys.readouterr()
    assert term_accuracy.main([*words, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["texts"] == 2
    for name in ("without", "with"):
        for kind in ("known", "unseen"):
            of = report[name][kind]
            assert of["terms"] == 1
            assert of["exact"] <= of["form"] <= 1
        assert {"bleu", "bleu_of_the_rest", "seconds"} <= report[name].keys()
    assert term_accuracy.main(words) == 0
    assert "any form" in capsys.readouterr().out
