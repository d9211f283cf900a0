"""The tree of prefixes that a beam search grew for one sentence."""

import math
from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from keras_transformer.plots.style import (
    DARK,
    LIGHT,
    ORANGE,
    drawable,
    labels,
    new_figure,
    styled,
)
from keras_transformer.search.trace import (
    DROPPED,
    ENDED,
    BeamTree,
)

_BEST: dict[str, Any] = {"color": ORANGE, "linewidth": 2.5, "zorder": 3}
_OTHER: dict[str, Any] = {"color": LIGHT, "linewidth": 1.0, "zorder": 1}


@styled
def plot_beam_tree(tree: BeamTree, *, language: str = "en") -> Figure:
    """Draws the tree from left to right, the best translation as a thick line.

    Each node is a token, with the probability that the model gave it after
    the tokens before it. A box is where a hypothesis ended, with its score.
    A search often continues after it has found the best translation, as long
    as a live hypothesis could still win.

    Args:
        tree: result of `search.trace.trace_beam`; drawn until the best
            translation ended, without dropped hypotheses.
        language: "en" or "zh".
    """
    label = labels(language)
    nodes = tree.nodes
    shown = [
        index
        for index, node in enumerate(nodes)
        if node.step < len(tree.best) and node.fate != DROPPED
    ]
    rows = rows_of(tree, shown)
    last = max(nodes[index].step for index in shown)
    longest = max(len(nodes[index].token) for index in shown)
    figure = new_figure(
        max(5, (last + 1) * (0.55 + 0.08 * longest) + 0.8),
        max(2, 0.46 * (max(rows.values()) + 1) + 1.1),
    )
    axes = figure.add_subplot()
    for index in shown:
        _draw(axes, tree, index, rows, label)
    searched = max(node.step for node in nodes)
    axes.set_xlabel(f"{label('Step')} ({label('searched')}: {searched})")
    axes.set_xticks(range(last + 1))
    axes.set_xlim(-0.5, last + 0.6)
    axes.set_ylim(max(rows.values()) + 0.9, -0.5)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    figure.legend(handles=_legend(label), loc="outside lower center", ncols=3)
    return figure


def rows_of(tree: BeamTree, shown: Sequence[int]) -> dict[int, int]:
    """The row of each node: that of its first child, other children below.

    The best translation comes first, so it is a straight line at the top.

    Args:
        tree: the tree.
        shown: indices of its nodes, ascending.

    Returns:
        `{index: row}`, 0 on top.
    """
    children: dict = {index: [] for index in shown}
    for index in shown[1:]:
        children[tree.nodes[index].parent].append(index)
    rows: dict[int, int] = {}
    below = 0
    waiting = [shown[0]]
    while waiting:
        index = waiting.pop()
        parent = tree.nodes[index].parent
        if index and children[parent][0] == index:
            rows[index] = rows[parent]
        else:
            rows[index] = below
            below += 1
        children[index].sort(key=lambda child: child not in tree.best)
        waiting += reversed(children[index])
    return rows


def _draw(axes, tree, index, rows, label):
    node = tree.nodes[index]
    is_best = index in tree.best
    if index:
        axes.plot(
            [node.step - 1, node.step - 0.5, node.step - 0.5, node.step],
            [rows[node.parent]] * 2 + [rows[index]] * 2,
            **(_BEST if is_best else _OTHER),
        )
    axes.annotate(
        drawable(node.token),
        (node.step, rows[index]),
        ha="center",
        va="center",
        color=DARK,
        fontweight="bold" if is_best else "normal",
        bbox={
            "boxstyle": "square,pad=0.2"
            if node.fate == ENDED
            else "round,pad=0.15",
            "facecolor": "white",
            "edgecolor": DARK if node.fate == ENDED else "none",
        },
        zorder=4,
    )
    if index:
        axes.annotate(
            _number(tree.nodes, node, label),
            (node.step, rows[index]),
            xytext=(0, -8),
            textcoords="offset points",
            ha="center",
            va="top",
            fontsize=6.5,
            color="#555555",
            zorder=4,
        )


def _number(nodes, node, label):
    """The token's probability, and the score of a hypothesis that ends."""
    before = nodes[node.parent].log_probability
    share = math.exp(min(0.0, node.log_probability - before))
    probability = f"{share:.2f}" if share >= 0.01 else "<0.01"
    if node.score is None:
        return probability
    return f"{probability}\n{label('score')} {node.score:.2f}"


def _legend(label):
    box: dict[str, Any] = {
        "marker": "s",
        "linestyle": "",
        "markerfacecolor": "white",
    }
    return [
        Line2D([], [], label=label("best translation"), **_BEST),
        Line2D([], [], label=label("other hypotheses"), **_OTHER),
        Line2D([], [], label=label("ended"), markeredgecolor=DARK, **box),
    ]
