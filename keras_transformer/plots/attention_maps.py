"""Attention of a sentence as heat maps."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from keras_transformer.errors import InputError
from keras_transformer.plots.style import (
    HEAT,
    labels,
    new_figure,
    styled,
    token_ticks,
)

_CELL = 0.19  # inches per token
_SMALLEST = 1.3  # inches per map


@styled
def plot_attention(
    weights: np.ndarray,
    row_tokens: Sequence[str],
    column_tokens: Sequence[str],
    *,
    layers: Sequence[int] | None = None,
    row_label: str = "Query: token",
    language: str = "en",
) -> Figure:
    """Draws attention maps: layers from top to bottom, heads side by side.

    Args:
        weights: float `(L, N, T, S)`: layers, heads, queries, keys.
        row_tokens: T str, the queries.
        column_tokens: S str, the keys.
        layers: to show, from 1; None: all.
        row_label: of the queries, "Query: token" or "Query: token being
            written".
        language: "en" or "zh".

    Raises:
        InputError: the tokens don't fit the weights, or there is no such
            layer.
    """
    label = labels(language)
    weights = np.asarray(weights)
    shape = len(row_tokens), len(column_tokens)
    if weights.ndim != 4 or weights.shape[2:] != shape:
        raise InputError(
            "weights must have the shape (layers, heads, "
            f"{len(row_tokens)}, {len(column_tokens)}), as there are tokens. "
            f"Received: {weights.shape}"
        )
    shown = _shown(layers, len(weights))
    heads = weights.shape[1]
    figure, panels = _panels(len(shown), heads, shape, [*row_tokens])
    for row, layer in enumerate(shown):
        for head in range(heads):
            axes = panels[row, head]
            image = axes.imshow(
                weights[layer - 1, head],
                cmap=HEAT,
                vmin=0,
                vmax=1,
                aspect="auto",
                interpolation="none",
            )
            token_ticks(
                axes,
                list(row_tokens) if head == 0 else None,
                list(column_tokens) if row == len(shown) - 1 else None,
            )
            axes.set_title(
                f"{label('Layer')} {layer} · {label('Head')} {head + 1}",
                fontsize=8,
            )
    figure.supxlabel(label("Key: token read"), fontsize=9)
    figure.supylabel(label(row_label), fontsize=9)
    figure.colorbar(
        image,
        ax=panels,
        label=label("attention weight"),
        shrink=min(1, 3 / figure.get_figheight()),
    )
    return figure


def _shown(layers, count):
    """The layers to show, from 1."""
    if layers is None:
        return list(range(1, count + 1))
    for layer in layers:
        if not 1 <= layer <= count:
            raise InputError(f"layer must be 1 to {count}. Received: {layer}")
    return list(layers)


def _panels(rows, columns, shape, row_tokens):
    height = max(_SMALLEST, _CELL * shape[0])
    width = max(_SMALLEST, _CELL * shape[1])
    margin = 1.6 + 0.08 * max(map(len, row_tokens), default=0)
    figure = new_figure(
        columns * (width + 0.1) + margin, rows * (height + 0.3) + 1.3
    )
    return figure, figure.subplots(rows, columns, squeeze=False)
