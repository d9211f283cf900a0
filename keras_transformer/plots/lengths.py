"""Sentence lengths of a corpus."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from keras_transformer.errors import InputError
from keras_transformer.plots.style import (
    BLUE,
    ORANGE,
    labels,
    new_figure,
    styled,
)

_SIDES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("source", {"color": BLUE, "fill": True, "alpha": 0.45}),
    ("target", {"color": ORANGE, "hatch": "///", "linewidth": 1.5}),
)


@styled
def plot_lengths(lengths: np.ndarray, *, language: str = "en") -> Figure:
    """Histograms of source and target lengths, one over the other.

    Args:
        lengths: int `(P, 2)`, source and target tokens of each pair, see
            `PreparedData.lengths`.
        language: "en" or "zh".

    Raises:
        InputError: there is no pair.
    """
    lengths = np.asarray(lengths)
    if not len(lengths):
        raise InputError("no sentence pair, hence no lengths to show")
    label = labels(language)
    figure = new_figure(7, 3.4)
    axes = figure.add_subplot()
    edges = _edges(lengths.max())
    for (side, look), values in zip(_SIDES, lengths.T, strict=True):
        counts, _ = np.histogram(values, edges)
        median = f"{label('median')} {np.median(values):g}"
        axes.stairs(counts, edges, label=f"{label(side)}, {median}", **look)
    axes.set_xlabel(label("Length (tokens)"))
    axes.set_ylabel(label("Sentence pairs"))
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.legend()
    return figure


def _edges(longest):
    """Edges of at most about 60 bars around whole numbers."""
    width = -(-(int(longest) + 1) // 60)
    return np.arange(-0.5, longest + width + 0.5, width)
