"""Pairs with symbols in place of markup, in words, and around terms."""

import collections
import pickle
import random
import re

import pytest

from keras_transformer.data.masking import (
    COUNTS,
    Masker,
    TermAnnotator,
    mask_pair,
)
from keras_transformer.data.prepare import prepare
from keras_transformer.data.word_alignment import WordLinks
from keras_transformer.documents.glossary import Glossary
from keras_transformer.documents.markup import find_marks
from keras_transformer.errors import InputError
from keras_transformer.symbols import SYMBOL
from tests.data.conftest import contents, stored_ids
from tests.word_data import word_data


@pytest.mark.parametrize(
    ("source", "target", "masked", "outcome"),
    [
        ("no tag", "kein Tag", ("no tag", "kein Tag"), None),
        (
            "Click <b>Save</b> in %s.",
            "In %s auf <b>Speichern</b> klicken.",
            (
                "Click ⟨1⟩Save⟨/1⟩ in ⟨2/⟩.",
                "In ⟨2/⟩ auf ⟨1⟩Speichern⟨/1⟩ klicken.",
            ),
            "masked",
        ),
        (
            "<a>x</a> <a>y</a> ⟨3⟩",
            "⟨3⟩ <a>u</a> <a>v</a>",
            ("⟨1⟩x⟨/1⟩ ⟨2⟩y⟨/2⟩ ⟨3/⟩", "⟨3/⟩ ⟨1⟩u⟨/1⟩ ⟨2⟩v⟨/2⟩"),
            "masked",
        ),
        # Attributes may be translated.
        (
            '<a href="#" title="File">x</a><br/>',
            '<a href="#" title="Datei">u</a><br/>',
            ("⟨1⟩x⟨/1⟩⟨2/⟩", "⟨1⟩u⟨/1⟩⟨2/⟩"),
            "masked",
        ),
        # As written before as named.
        (
            '<a x="1">x</a> <a x="2">y</a>',
            '<a x="2">v</a> <a x="3">u</a>',
            ("⟨1⟩x⟨/1⟩ ⟨2⟩y⟨/2⟩", "⟨2⟩v⟨/2⟩ ⟨1⟩u⟨/1⟩"),
            "masked",
        ),
        ("<b>x</b> %s y", "<b>u</b> v", ("x y", "u v"), "different"),
        ("x y", "u <i>v</i>", ("x y", "u v"), "different"),
        ("%1 x", "%2 u", ("x", "u"), "different"),
        ("<b>x", "<b>u</b>", ("x", "u"), "different"),
        ("a" + " %1" * 17, "b" + " %1" * 17, ("a", "b"), "too_many"),
        ("a" + " %1" * 18, "b" + " %1" * 17, ("a", "b"), "different"),
        # To match all with all would take hours.
        ("a" + " %1" * 99_999, "b" + " %2" * 99_999, ("a", "b"), "too_many"),
        (
            "a " + "%1 " * 16,
            "b " + "%1 " * 16,
            tuple(
                f"{c} " + "".join(f"⟨{k}/⟩ " for k in range(1, 17))
                for c in "ab"
            ),
            "masked",
        ),
    ],
)
def test_both_sides_are_masked_alike(source, target, masked, outcome):
    assert mask_pair((source, target)) == (masked, outcome)


def test_own_regular_expressions_are_masked():
    pair = ("~File #x", "#x ~Datei")
    patterns = ("~(?=[A-Z])", r"#\w")
    expected = ("⟨1/⟩File ⟨2/⟩", "⟨2/⟩ ⟨1/⟩Datei")
    assert mask_pair(pair, patterns) == (expected, "masked")


WORDS = {f"{a}{b}": f"{b}{a}o" for a in "abcdefghijkl" for b in "mnopqrstuv"}


def sentences(count):
    """Words and what they become, in reverse."""
    generator = random.Random(3)
    for _ in range(count):
        words = generator.sample(list(WORDS), 6)
        target = [WORDS[word] for word in reversed(words)]
        yield " ".join(words), " ".join(target)


@pytest.fixture(scope="module")
def made():
    pairs = list(sentences(3000))
    masker = Masker((), 1, WordLinks.learn(pairs))
    return [(pair, masker(pair)) for pair in pairs]


def test_symbols_are_put_into_a_tenth_of_the_pairs(made):
    counts = [done for _, (_, done) in made]
    assert all(set(done) <= set(COUNTS) for done in counts)
    assert 0.07 < sum("injected" in done for done in counts) / 3000 < 0.13


def test_they_are_around_words_that_translate_each_other(made):
    kinds = set()
    for (source, target), (masked, done) in made:
        marks = [find_marks(side) for side in masked]
        if not done:
            assert masked == (source, target)
            continue
        structures = [
            sorted(side[m.start : m.end] for m in found)
            for side, found in zip(masked, marks, strict=True)
        ]
        assert structures[0] == structures[1] != []
        for side, found in zip(masked, marks, strict=True):
            for index, mark in enumerate(found):
                symbol = side[mark.start : mark.end]
                assert (mark.partner == index) == symbol.endswith("/⟩")
                kinds.add(symbol.strip("⟨123456789⟩"))
        for index, mark in enumerate(marks[0]):
            if mark.partner > index:
                inner = [
                    _between(side, masked[0][mark.start : mark.end])
                    for side in masked
                ]
                words, others = (text.split() for text in inner)
                if not any(re.search(SYMBOL, text) for text in inner):
                    assert sorted(WORDS[w] for w in words) == sorted(others)
    assert kinds == {"", "/"}


def _between(text, opening):
    return text.split(opening)[1].split(opening.replace("⟨", "⟨/"))[0]


def test_the_same_pair_has_the_same_symbols(made):
    pairs = [pair for pair, _ in made]
    again = Masker((), 1, WordLinks.learn(pairs))
    assert [again(pair) for pair in reversed(pairs)] == [
        result for _, result in reversed(made)
    ]
    other = Masker((), 2, WordLinks.learn(pairs))
    assert [other(pair) for pair in pairs] != [result for _, result in made]


# Terms.

NOTHING = WordLinks(None)
GLOSSARY = Glossary([("cell", "Zelle"), ("range", "Bereich"), ("Calc", "")])


def annotate(pair, share=0.999, links=NOTHING, glossary=GLOSSARY, seed=1):
    return TermAnnotator(share, seed, links, glossary)(pair)


@pytest.mark.parametrize(
    ("pair", "source", "target"),
    [
        (
            ("A cell", "Eine Zelle"),
            "A ⟨1⟩⟨t⟩cell⟨=⟩Zelle⟨/t⟩⟨/1⟩",
            "Eine ⟨1⟩Zelle⟨/1⟩",
        ),
        (
            ("Cell", "Zellen"),
            "⟨1⟩⟨t⟩Cell⟨=⟩Zelle⟨/t⟩⟨/1⟩",
            "⟨1⟩Zellen⟨/1⟩",
        ),
        (("A cell", "Ein Feld"), "A cell", "Ein Feld"),
        (
            ("In Calc", "In Calc"),
            "In ⟨1⟩⟨t⟩Calc⟨=⟩Calc⟨/t⟩⟨/1⟩",
            "In ⟨1⟩Calc⟨/1⟩",
        ),
        (
            ("⟨1/⟩ ⟨2⟩cell⟨/2⟩ range", "⟨2⟩Zelle⟨/2⟩ Bereich ⟨1/⟩"),
            "⟨1/⟩ ⟨2⟩⟨3⟩⟨t⟩cell⟨=⟩Zelle⟨/t⟩⟨/3⟩⟨/2⟩ "
            "⟨4⟩⟨t⟩range⟨=⟩Bereich⟨/t⟩⟨/4⟩",
            "⟨2⟩⟨3⟩Zelle⟨/3⟩⟨/2⟩ ⟨4⟩Bereich⟨/4⟩ ⟨1/⟩",
        ),
        # Symbols are numbered as the source has them.
        (
            ("range of ⟨1⟩a⟨/1⟩ cell", "Zelle: ⟨1⟩der⟨/1⟩ Bereich"),
            "⟨1⟩⟨t⟩range⟨=⟩Bereich⟨/t⟩⟨/1⟩ of ⟨2⟩a⟨/2⟩ "
            "⟨3⟩⟨t⟩cell⟨=⟩Zelle⟨/t⟩⟨/3⟩",
            "⟨3⟩Zelle⟨/3⟩: ⟨2⟩der⟨/2⟩ ⟨1⟩Bereich⟨/1⟩",
        ),
        # Each place of the target is of one term.
        (
            ("cell cell", "Zelle"),
            "⟨1⟩⟨t⟩cell⟨=⟩Zelle⟨/t⟩⟨/1⟩ cell",
            "⟨1⟩Zelle⟨/1⟩",
        ),
        (("a dog", "ein Hund"), "a dog", "ein Hund"),
    ],
)
def test_terms_of_both_sides_are_annotated(pair, source, target):
    rewritten, counts = annotate(pair)
    assert rewritten == (source, target)
    listed = source.count("⟨=⟩")
    expected = {"pairs": 1, "listed": listed, "drawn": 0} if listed else {}
    assert counts == expected


def test_terms_past_the_last_number_have_no_symbols():
    singles = " ".join(f"⟨{n}/⟩" for n in range(1, 16))
    (source, target), _ = annotate(
        (f"cell {singles} range", f"Zelle {singles} Bereich")
    )
    assert source.startswith("⟨1⟩⟨t⟩cell⟨=⟩Zelle⟨/t⟩⟨/1⟩ ⟨2/⟩")
    assert source.endswith("⟨16/⟩ ⟨t⟩range⟨=⟩Bereich⟨/t⟩")
    assert target.startswith("⟨1⟩Zelle⟨/1⟩ ⟨2/⟩")
    assert target.endswith("⟨16/⟩ Bereich")


def test_phrases_of_the_corpus_are_drawn_beside_them():
    words = ["red", "green", "blue", "cell"]
    learned = WordLinks.learn([(word, f"{word}o") for word in words] * 5)
    links = WordLinks(learned._aligner, learned._numbers)
    pair = "red green blue cell", "redo greeno blueo cello Zelle"
    found = collections.Counter()
    for seed in range(50):
        (source, target), counts = annotate(pair, links=links, seed=seed)
        assert re.sub("⟨.*?⟩", "", target) == pair[1]
        assert target.count("⟨/") == source.count("⟨=⟩")
        assert counts["listed"] == 1
        assert counts["drawn"] == source.count("⟨=⟩") - 1 <= 3
        assert "⟨t⟩cell⟨=⟩Zelle⟨/t⟩" in source
        found[source] += 1
    # Each seed draws others.
    assert len(found) > 5
    assert any("⟨t⟩red green⟨=⟩redo greeno⟨/t⟩" in source for source in found)


def test_a_share_of_the_pairs_has_terms_and_it_stays_so():
    annotator = TermAnnotator(0.25, 3, NOTHING, GLOSSARY)
    pairs = [(f"cell {n}", f"Zelle {n}") for n in range(2000)]
    rewritten = [annotator(pair)[0] for pair in pairs]
    share = sum(a != b for a, b in zip(pairs, rewritten, strict=True)) / 2000
    assert 0.2 < share < 0.3
    again = pickle.loads(pickle.dumps(annotator))
    assert [again(pair)[0] for pair in reversed(pairs)] == rewritten[::-1]


OPTIONS = {
    "target_language": "fr",
    "target_tokenizer": "word",
    "markup": "symbols",
    "term_share": 0.5,
}


def records(prepared, split):
    """The source tokens of a split's pairs, joined."""
    tokens = prepared.source_tokenizer.tokens()
    sources, _ = stored_ids(prepared, split)
    return [" ".join(tokens[i] for i in ids) for ids in sources.to_list()]


@pytest.fixture(scope="module")
def term_data(tmp_path_factory):
    """Data of 400 pairs whose words are those of the target, backwards."""
    folder = tmp_path_factory.mktemp("terms")
    names = ["cat", "dog", "bird", "fish", "cow", "duck", "goat"]
    draw = random.Random(1)
    with (folder / "train.tsv").open("w") as file:
        for n in range(400):
            words = draw.sample(names, 4) + [str(n)]
            file.write(
                f"{' '.join(words)}\t{' '.join(w[::-1] for w in words)}\n"
            )
    (folder / "terms.tsv").write_text("cat dog\tgod tac\nbird\tdrib\n")

    def make(name, **options):
        return prepare(
            folder / "train.tsv",
            folder / name,
            word_data(**OPTIONS),
            0.1,
            terms=folder / "terms.tsv",
            **options,
        )

    return make


def test_prepared_sources_have_terms_and_tokens_of_both_sides(term_data):
    prepared = term_data("here", workers=1)
    report = prepared.report["terms"]
    sources = records(prepared, "train")
    annotated = [source for source in sources if "⟨t⟩" in source]
    assert len(annotated) == report["pairs"]
    assert 0.4 < report["pairs"] / len(sources) < 0.6
    found = re.findall("⟨t⟩ (.*?) ⟨=⟩ (.*?) ⟨/t⟩", " ".join(sources))
    assert len(found) == report["listed"] + report["drawn"]
    assert report["listed"] > 50
    assert report["drawn"] > 50
    assert all(
        sorted(target.split()) == sorted(word[::-1] for word in source.split())
        for source, target in found
        if source.isalpha()
    )
    assert "⟨t⟩" not in " ".join(records(prepared, "dev"))
    assert "drib" in prepared.source_tokenizer.tokens()


@pytest.mark.medium
def test_workers_make_the_same_data(term_data):
    both = [term_data(f"by{n}", workers=n) for n in (1, 2)]
    one, other = (contents(prepared.path) for prepared in both)
    assert one == other


@pytest.mark.parametrize(
    ("options", "terms", "message"),
    [
        ({"markup": "keep"}, None, "term_share.*markup is symbols"),
        (
            {"term_share": 0.0},
            "terms.tsv",
            "terms.tsv: terms need data.term_share",
        ),
        ({}, "none.tsv", "none.tsv"),
    ],
)
def test_what_terms_need(tmp_path, options, terms, message):
    (tmp_path / "a.tsv").write_text("a\tb\n")
    (tmp_path / "terms.tsv").write_text("a\tb\n")
    with pytest.raises(InputError, match=message) as error:
        prepare(
            tmp_path / "a.tsv",
            tmp_path / "data",
            word_data(**(OPTIONS | options)),
            terms=terms and tmp_path / terms,
        )
    assert "\n" not in str(error.value)
    assert not (tmp_path / "data").exists()
