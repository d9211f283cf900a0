"""Requests, and results from what an export's signatures give."""

import pytest

from keras_transformer.constants import NO_SCORE
from keras_transformer.errors import InputError
from keras_transformer.translation.request import (
    Hypothesis,
    Translation,
    translations_of,
)


def test_rows_that_are_left_over_are_no_hypotheses():
    found = translations_of(
        ["one", "two", "three"],
        [["a", "b", "c"], ["d", "", ""], ["", "", ""]],
        [[-1.0, -2.0, -3.0], [-4.0, NO_SCORE, NO_SCORE], [NO_SCORE] * 3],
        [False, True, False],
        count=2,
    )
    assert found == [
        Translation("one", [Hypothesis("a", -1.0), Hypothesis("b", -2.0)]),
        Translation("two", [Hypothesis("d", -4.0)], truncated=True),
        Translation("three", [Hypothesis("", NO_SCORE)]),
    ]


@pytest.mark.parametrize(
    ("texts", "scores", "truncated"),
    [
        (["a"], ["x"], False),
        (["a"], [None], False),
        (["a"], [True], False),
        (["a"], [10**400], False),
        ([5], [0.0], False),
        (["\ud800"], [0.0], False),
        (["a", "b"], [0.0], False),
        ([], [], False),
        ("a", [0.0], False),
        (5, 5, False),
        (["a"], [0.0], "no"),
    ],
)
def test_what_a_server_may_answer_is_refused(texts, scores, truncated):
    with pytest.raises(InputError, match="answer to 'one' has .* Accepted:"):
        translations_of(["one"], [texts], [scores], [truncated])


@pytest.mark.parametrize(
    ("text", "line"),
    [("a b", "a b"), ("a\nb\r\nc", "a b c"), ("a\n", "a"), ("", "")],
)
def test_a_line_has_no_line_ends(text, line):
    assert Hypothesis(text, 0.0).line == line


def test_more_than_the_beam_has_is_refused():
    with pytest.raises(
        InputError, match="n-best must be 1 to 2, .* Received: 3"
    ):
        translations_of(["one"], [["a", "b"]], [[-1.0, -2.0]], count=3)
