import numpy as np
import pytest

from keras_transformer.errors import InputError
from keras_transformer.layers import sinusoids
from keras_transformer.plots import (
    plot_positions_curves,
    plot_positions_heatmap,
)

WORDS = {
    "en": ["Dimension", "Position", "Value"],
    "zh": ["维度", "位置", "取值"],
}


def test_heatmap_shows_the_encoding(language):
    figure = plot_positions_heatmap(length=12, d_model=8, language=language)
    axes, bar = figure.axes
    np.testing.assert_array_equal(axes.images[0].get_array(), sinusoids(12, 8))
    words = [axes.get_xlabel(), axes.get_ylabel(), bar.get_ylabel()]
    assert words == WORDS[language]


def test_curves_are_columns_that_differ_without_colour():
    figure = plot_positions_curves(length=20, d_model=8, dimensions=(2, 3, 7))
    lines = figure.axes[0].lines
    for line, dimension in zip(lines, (2, 3, 7), strict=True):
        np.testing.assert_array_equal(
            line.get_ydata(), sinusoids(20, 8)[:, dimension]
        )
        assert line.get_label() == f"dimension {dimension}"
    assert len({line.get_linestyle() for line in lines}) == 3
    assert len({line.get_marker() for line in lines}) == 3
    with pytest.raises(InputError, match="from 0 to 3. Received: \\(4,\\)"):
        plot_positions_curves(d_model=4, dimensions=(4,))
    with pytest.raises(InputError, match="one of en, zh. Received: 'de'"):
        plot_positions_curves(language="de")
