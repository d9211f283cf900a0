import math

import pytest

from keras_transformer.plots import plot_beam_tree
from keras_transformer.plots.beam_tree import rows_of
from keras_transformer.search.trace import DROPPED, ENDED, LIVE, BeamTree, Node
from tests.plots.reading import texts

HALF = math.log(0.5)
NODES = [
    Node(0, 0, "<s>", 0.0, None, LIVE),
    Node(1, 0, "a", HALF, None, LIVE),
    Node(1, 0, "好", 2 * HALF, None, LIVE),
    Node(1, 0, "c", -9.0, None, DROPPED),
    Node(2, 2, "</s>", 2 * HALF - 0.01, -0.5, ENDED),
    Node(2, 1, "$", HALF - 7, None, LIVE),
    Node(3, 5, "late", HALF - 8, None, LIVE),
]
TREE = BeamTree(NODES, (0, 2, 4), None)


def drawn(figure):
    """The tokens with their places, and what is written below them."""
    tokens = {}
    for text in figure.axes[0].texts:
        if text.get_text() in {node.token for node in NODES}:
            tokens[text.get_text()] = text.xy
    return tokens


def test_steps_run_to_the_right_and_the_best_along_the_top():
    tokens = drawn(plot_beam_tree(TREE))
    assert tokens == {
        "<s>": (0, 0),
        "好": (1, 0),
        "</s>": (2, 0),
        "a": (1, 1),
        "$": (2, 1),
    }


def test_no_two_nodes_share_a_place():
    shown = range(len(NODES))
    rows = rows_of(TREE, list(shown))
    places = {(NODES[place].step, rows[place]) for place in shown}
    assert len(places) == len(NODES)


def test_probabilities_and_the_score():
    written = texts(plot_beam_tree(TREE).axes[0])
    assert "0.50" in written
    assert "0.25" in written
    assert "<0.01" in written
    assert "0.99\nscore -0.50" in written


def test_the_best_is_a_thick_line():
    axes = plot_beam_tree(TREE).axes[0]
    assert axes.get_xlabel() == "Step (searched: 3)"
    lines = axes.lines
    widths = [line.get_linewidth() for line in lines]
    assert sorted(widths) == [1.0, 1.0, 2.5, 2.5]


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", ["best translation", "other hypotheses", "ended"]),
        ("zh", ["最佳译文", "其他候选", "结束"]),
    ],
)
def test_legend(language, words):
    figure = plot_beam_tree(TREE, language=language)
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend == words


def test_a_tree_of_the_root_alone():
    figure = plot_beam_tree(BeamTree(NODES[:1], (0,), None))
    assert texts(figure.axes[0]) == ["<s>"]


def test_a_token_that_is_no_text_is_escaped():
    tree = BeamTree([Node(0, 0, "\udcff\x01", 0.0, None, LIVE)], (0,), None)
    assert "\\udcff\\x01" in texts(plot_beam_tree(tree).axes[0])
