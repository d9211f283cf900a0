"""What the attention of a sentence pair may see."""

from collections.abc import Sequence

import numpy as np
from keras import ops
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from keras_transformer.constants import PAD_ID, SPECIAL_TOKENS, UNK_ID
from keras_transformer.layers.masks import decoder_mask, padding_mask
from keras_transformer.plots.style import (
    BLUE,
    PALE,
    new_figure,
    styled,
    token_ticks,
)
from keras_transformer.plots.words import labels

_HIDDEN, _VISIBLE = PALE, BLUE


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
    colors = ListedColormap([_HIDDEN, _VISIBLE])
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
            Patch(facecolor=_VISIBLE, label=label("visible")),
            Patch(facecolor=_HIDDEN, edgecolor="grey", label=label("hidden")),
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
