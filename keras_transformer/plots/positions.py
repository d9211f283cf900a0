"""The position encoding, as a heat map and as curves."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from keras_transformer.errors import InputError
from keras_transformer.layers.positional_embedding import sinusoids
from keras_transformer.plots.style import labels, line, new_figure, styled


@styled
def plot_positions_heatmap(
    length: int = 64,
    d_model: int = 64,
    *,
    language: str = "en",
) -> Figure:
    """Draws the encoding that is added to the embedding at each position.

    Args:
        length: positions shown.
        d_model: int, even, width D.
        language: "en" or "zh".

    Reference: Vaswani et al. 2017, section 3.5.
    """
    label = labels(language)
    values = sinusoids(length, d_model)
    figure = new_figure(6, 4.5)
    axes = figure.add_subplot()
    image = axes.imshow(
        values, aspect="auto", cmap="cividis", interpolation="none"
    )
    axes.set_xlabel(label("Dimension"))
    axes.set_ylabel(label("Position"))
    figure.colorbar(image, ax=axes, label=label("Value"))
    return figure


@styled
def plot_positions_curves(
    length: int = 100,
    d_model: int = 64,
    dimensions: Sequence[int] = (4, 5, 6, 7),
    *,
    language: str = "en",
) -> Figure:
    """Some dimensions of the position encoding along the positions.

    Args:
        length: positions shown.
        d_model: int, even, width D.
        dimensions: which, from 0.
        language: "en" or "zh".

    Raises:
        InputError: there is no such dimension.
    """
    label = labels(language)
    values = sinusoids(length, d_model)
    if not all(0 <= dimension < d_model for dimension in dimensions):
        raise InputError(
            f"dimensions must be from 0 to {d_model - 1}. "
            f"Received: {tuple(dimensions)}"
        )
    figure = new_figure(7, 3.2)
    axes = figure.add_subplot()
    for number, dimension in enumerate(dimensions):
        axes.plot(
            values[:, dimension],
            label=f"{label('dimension')} {dimension}",
            **line(number, len(values)),
        )
    axes.set_xlabel(label("Position"))
    axes.set_ylabel(label("Value"))
    figure.legend(loc="outside right upper")
    return figure
