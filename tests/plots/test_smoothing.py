import numpy as np
import pytest

from keras_transformer.plots import plot_smoothing_table
from keras_transformer.plots.smoothing import smoothed_targets
from tests.plots.reading import texts, ticks


def test_table_worked_by_hand():
    # 0.1 goes to the 3 tokens that are neither true nor padding.
    third = 0.1 / 3
    np.testing.assert_allclose(
        smoothed_targets([2, 0, 1], 5, 0.1),
        [
            [0, third, 0.9, third, third],
            [0, 0, 0, 0, 0],
            [0, 0.9, third, third, third],
        ],
        atol=2e-6,
    )


@pytest.mark.parametrize("smoothing", [0.1, 0.4])
def test_numbers_are_written_in_the_cells(smoothing):
    figure = plot_smoothing_table(smoothing, 4, targets=(1, 0))
    axes = figure.axes[0]
    half = f"{smoothing / 2:g}"
    true = f"{1 - smoothing:g}"
    assert texts(axes) == ["0", true, half, half, "0", "0", "0", "0"]
    assert ticks(axes.yaxis) == ["1", "0\n(padding)"]
    assert ticks(axes.xaxis) == ["0\n(padding)", "1", "2", "3"]
    assert axes.get_xlabel() == "Vocabulary"
