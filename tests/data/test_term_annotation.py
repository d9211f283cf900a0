"""Sources with the translations of their terms beside them."""

import collections
import pickle

import pytest

from keras_transformer.data.term_annotation import TermAnnotator
from keras_transformer.data.word_links import WordLinks
from keras_transformer.documents.glossary import Glossary

NOTHING = WordLinks({}, ())
GLOSSARY = Glossary([("cell", "Zelle"), ("range", "Bereich"), ("Calc", "")])


def annotate(pair, share=0.999, links=NOTHING, glossary=GLOSSARY, seed=1):
    return TermAnnotator(share, seed, links, glossary)(pair)


@pytest.mark.parametrize(
    ("pair", "source"),
    [
        (("A cell", "Eine Zelle"), "A ⟨t⟩cell⟨=⟩Zelle⟨/t⟩"),
        (("Cell", "Zellen"), "⟨t⟩Cell⟨=⟩Zelle⟨/t⟩"),
        (("A cell", "Ein Feld"), "A cell"),
        (("In Calc", "In Calc"), "In ⟨t⟩Calc⟨=⟩Calc⟨/t⟩"),
        (
            ("⟨1⟩cell⟨/1⟩ range", "⟨1⟩Zelle⟨/1⟩ Bereich"),
            "⟨1⟩⟨t⟩cell⟨=⟩Zelle⟨/t⟩⟨/1⟩ ⟨t⟩range⟨=⟩Bereich⟨/t⟩",
        ),
        (("a dog", "ein Hund"), "a dog"),
    ],
)
def test_terms_of_both_sides_are_annotated(pair, source):
    rewritten, counts = annotate(pair)
    assert rewritten == (source, pair[1])
    listed = source.count("⟨=⟩")
    expected = {"pairs": 1, "listed": listed, "drawn": 0} if listed else {}
    assert counts == expected


def test_phrases_of_the_corpus_are_drawn_beside_them():
    words = ["red", "green", "blue", "cell"]
    links = WordLinks({(word, f"{word}o"): 0.5 for word in words}, ())
    pair = "red green blue cell", "redo greeno blueo cello Zelle"
    found = collections.Counter()
    for seed in range(50):
        (source, target), counts = annotate(pair, links=links, seed=seed)
        assert target == pair[1]
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
