"""Sources with the translations of their terms beside them."""

import collections
import pickle
import random
import re

import pytest

from keras_transformer.data.prepare import prepare
from keras_transformer.data.term_annotation import TermAnnotator
from keras_transformer.data.word_alignment import WordLinks
from keras_transformer.documents.glossary import Glossary
from keras_transformer.errors import InputError
from tests.data.conftest import contents, stored_ids
from tests.word_data import word_data

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
    "shard_size": 100,
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
