import math

from keras_transformer.plots import plot_beam_tree
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


def test_probabilities_and_the_score():
    written = texts(plot_beam_tree(TREE).axes[0])
    assert "0.50" in written
    assert "0.25" in written
    assert "<0.01" in written
    assert "0.99\nscore -0.50" in written


def test_a_token_that_is_no_text_is_escaped():
    tree = BeamTree([Node(0, 0, "\udcff\x01", 0.0, None, LIVE)], (0,), None)
    assert "\\udcff\\x01" in texts(plot_beam_tree(tree).axes[0])
