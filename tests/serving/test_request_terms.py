"""The field "glossary" of a request: terms of its texts are annotated."""

import time

import numpy as np
import pytest

from keras_transformer.contract.status import ServingError
from keras_transformer.serving.server.admission import Limits
from keras_transformer.serving.server.request_terms import annotated_inputs

TEXTS = np.array([b"a cell", b"\xff cell", b"no"], object)
CELL = [["cell", "Zelle"]]


def texts_of(
    document,
    signature="serving_default",
    has_terms=True,
    placeholders=(),
    seconds=60,
    max_text_bytes=99,
):
    limits = Limits(max_text_bytes=max_text_bytes)
    deadline = time.monotonic() + seconds
    terms = has_terms, placeholders
    given = {"text": TEXTS}
    found = annotated_inputs(
        document, signature, given, *terms, limits, deadline
    )
    return found["text"].tolist()


@pytest.mark.parametrize("signature", ["serving_default", "greedy", "nbest"])
def test_terms_are_annotated(signature):
    annotated = "⟨t⟩cell⟨=⟩Zelle⟨/t⟩".encode()
    found = texts_of({"glossary": CELL}, signature)
    assert found == [b"a " + annotated, b"\xff " + annotated, b"no"]


def test_a_search_ends_with_the_request_s_time():
    with pytest.raises(ServingError) as error:
        texts_of({"glossary": CELL}, seconds=-1)
    assert error.value.code.name == "DEADLINE_EXCEEDED"


def test_no_term_is_within_markup():
    found = texts_of({"glossary": CELL}, placeholders=("a cel+",))
    assert found[0] == b"a cell"


@pytest.mark.parametrize(
    ("glossary", "options", "message"),
    [
        ("cell", {}, "glossary must be a list of pairs"),
        ({"cell": "Zelle"}, {}, "glossary must be a list of pairs"),
        (CELL * 1001, {}, "up to 1000"),
        ([["cell"]], {}, "glossary: term 1: "),
        ([["a " * 33, "b"]], {}, "a term of 33 words. Accepted: up to 32"),
        ([["cell", None]], {}, "glossary: term 1: "),
        (CELL, {"has_terms": False}, "has learned of terms"),
        (CELL, {"signature": "score"}, "Received: score"),
        (CELL, {"max_text_bytes": 5}, "has a text of 6 bytes; at most 5"),
        ([["a", "b" * 90]], {}, "has a text of 118 bytes; at most 99"),
    ],
)
def test_what_is_no_glossary_is_refused(glossary, options, message):
    with pytest.raises(ServingError, match=message) as error:
        texts_of({"glossary": glossary}, **options)
    assert error.value.code.name == "INVALID_ARGUMENT"
