"""Translating by a glossary, by whatever translates batches of texts."""

import re

import pytest

from keras_transformer.documents.glossary import Glossary
from keras_transformer.errors import InputError
from keras_transformer.translation.request import Hypothesis, Translation
from keras_transformer.translation.stream import one_by_one
from keras_transformer.translation.terms import require_terms, with_glossary

TERMS = {"cell": "Zelle", "Calc": ""}


def model(lines):
    """Takes the translations of terms, and no other word."""
    return [
        Translation(
            line, [Hypothesis(" ".join(re.findall("⟨=⟩(.*?)⟨", line)), 0)]
        )
        for line in lines
    ]


@pytest.mark.parametrize(
    "terms", [TERMS, Glossary(TERMS.items()), list(TERMS.items())]
)
def test_results_are_those_of_their_lines(terms):
    translate = with_glossary(one_by_one(model), terms)
    batches = [["a cell in Calc", "no"], [], ["<cell> Cell"]]
    found = [*translate(iter(batches))]
    assert [[r.source for r in results] for results in found] == batches
    texts = [[r.hypotheses[0].text for r in results] for results in found]
    assert texts == [["Zelle Calc", ""], [], ["Zelle"]]


def test_no_glossary_changes_nothing():
    translate_batches = one_by_one(model)
    assert with_glossary(translate_batches, None) is translate_batches


def test_model_without_terms_refuses_a_glossary():
    require_terms(True)
    with pytest.raises(InputError, match="learned of no terms.*--term-share"):
        require_terms(False)
