"""The table of a label-smoothed target."""

from collections.abc import Sequence

import numpy as np
from keras import ops
from matplotlib.figure import Figure

from keras_transformer.constants import PAD_ID
from keras_transformer.layers.masks import token_weights
from keras_transformer.plots.style import (
    HEAT,
    ON_BRIGHT,
    ON_DEEP,
    labels,
    new_figure,
    styled,
)
from keras_transformer.training.loss import SmoothedCrossEntropy


@styled
def plot_smoothing_table(
    smoothing: float = 0.1,
    num_classes: int = 5,
    targets: Sequence[int] = (2, 1, 4, PAD_ID),
    *,
    language: str = "en",
) -> Figure:
    """Draws the targets that the loss compares with, with the numbers.

    Args:
        smoothing: float, the probability that is taken from the true token.
        num_classes: int, V, padding included.
        targets: ids of the true tokens, a row each.
        language: "en" or "zh".
    """
    label = labels(language)
    table = smoothed_targets(targets, num_classes, smoothing)
    rows, columns = table.shape
    figure = new_figure(0.75 * columns + 2.2, 0.5 * rows + 1.1)
    axes = figure.add_subplot()
    image = axes.imshow(
        table, cmap=HEAT, vmin=0, vmax=1, aspect="auto", interpolation="none"
    )
    for (row, column), value in np.ndenumerate(table):
        axes.text(
            column,
            row,
            f"{value:.3f}".rstrip("0").rstrip("."),
            ha="center",
            va="center",
            color=ON_BRIGHT if value > 0.6 else ON_DEEP,
        )
    names = [_name(i, label) for i in range(num_classes)]
    axes.set_xticks(range(columns), names)
    axes.set_yticks(range(rows), [_name(i, label) for i in targets])
    axes.set_xlabel(label("Vocabulary"))
    axes.set_ylabel(label("Target token"))
    figure.colorbar(image, ax=axes, label=label("probability"))
    return figure


def smoothed_targets(
    targets: Sequence[int] | np.ndarray, num_classes: int, smoothing: float
) -> np.ndarray:
    """The distributions that `SmoothedCrossEntropy` compares with.

    They are read off the loss: with logits that are 1 at token v and 0
    elsewhere it is `log(V - 1 + e)` less what the target gives to v.

    Args:
        targets: ids `(T,)`.
        num_classes: int, V.
        smoothing: float.

    Returns:
        float32 array `(T, V)`; 0 in the row of padding.
    """
    loss = SmoothedCrossEntropy(smoothing)
    labels = np.repeat(np.array(targets, np.int32)[:, None], num_classes, 1)
    logits = np.broadcast_to(
        np.eye(num_classes, dtype="float32"),
        (len(labels), num_classes, num_classes),
    )
    losses = ops.convert_to_numpy(loss.call(labels, logits))
    table = np.log(num_classes - 1 + np.e) - losses
    table = table * ops.convert_to_numpy(token_weights(labels))
    return np.round(table, 6).astype("float32") + 0.0


def _name(token, label):
    return f"{token}\n({label('padding')})" if token == PAD_ID else str(token)
