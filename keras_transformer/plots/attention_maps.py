"""Attention of a sentence as heat maps, and the masks that bound it."""

from collections.abc import Sequence

import numpy as np
from keras import ops
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from keras_transformer.constants import PAD_ID, SPECIAL_TOKENS, UNK_ID
from keras_transformer.errors import InputError
from keras_transformer.layers.masks import decoder_mask, padding_mask
from keras_transformer.plots.style import (
    BLUE,
    HEAT,
    PALE,
    labels,
    new_figure,
    styled,
    token_ticks,
)

_CELL = 0.19  # inches; a token's height
_SMALLEST = 1.3  # inches; of a map


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
    """Draws what each token attends to: layers top to bottom, heads beside.

    Args:
        weights: float `(L, N, T, S)`: layers, heads, queries, keys.
        row_tokens: T str, the queries.
        column_tokens: S str, the keys.
        layers: which are shown, from 1; None: all.
        row_label: what the queries are, "Query: token" or "Query: token
            being written".
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


@styled
def plot_masks(
    source_tokens: Sequence[str],
    target_tokens: Sequence[str],
    *,
    language: str = "en",
) -> Figure:
    """The three masks of one pair, queries from top to bottom.

    Args:
        source_tokens: S str, as the encoder reads them, with `<pad>`.
        target_tokens: T str, as the decoder reads them, with `<pad>`.
        language: "en" or "zh".
    """
    label = labels(language)
    source, target = list(source_tokens), list(target_tokens)
    panels = [
        ("Encoder self-attention", source, source, padding_mask(_ids(source))),
        ("Decoder self-attention", target, target, decoder_mask(_ids(target))),
        ("Cross-attention", target, source, padding_mask(_ids(source))),
    ]
    cell = 0.24
    width = 2 * len(source) + len(target)
    figure = new_figure(
        cell * width + 3.4, cell * max(len(source), len(target)) + 1.8
    )
    all_axes = figure.subplots(
        1,
        3,
        width_ratios=[len(columns) for _, _, columns, _ in panels],
    )
    colors = ListedColormap([PALE, BLUE])
    for axes, (title, rows, columns, mask) in zip(
        all_axes, panels, strict=True
    ):
        mask = ops.convert_to_numpy(mask)[0]
        mask = np.broadcast_to(mask, (len(rows), len(columns)))
        axes.pcolormesh(
            *(np.arange(size + 1) - 0.5 for size in mask.shape[::-1]),
            mask,
            cmap=colors,
            vmin=0,
            vmax=1,
            edgecolor="white",
            linewidth=1,
        )
        axes.invert_yaxis()
        axes.set_aspect("equal", anchor="N")
        token_ticks(axes, rows, columns)
        axes.set_title(label(title))
    figure.legend(
        handles=[
            Patch(facecolor=BLUE, label=label("visible")),
            Patch(facecolor=PALE, edgecolor="grey", label=label("hidden")),
        ],
        loc="outside lower center",
        ncols=2,
    )
    return figure


def _ids(tokens):
    """int32 `(1, S)`: which are padding is all that masks look at."""
    pad = SPECIAL_TOKENS[PAD_ID]
    ids = [PAD_ID if token == pad else UNK_ID for token in tokens]
    return np.array([ids], np.int32)
