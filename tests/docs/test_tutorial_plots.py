"""Pictures of the tutorial: what they show, worked by hand."""

import numpy as np
import pytest

from tests.plots.reading import texts, ticks


@pytest.fixture
def plots(part):
    pytest.importorskip("matplotlib", reason="needs the extra [plots]")
    return part("tutorial_plots")


def test_smoothed_targets(plots):
    # 0.1 goes to the 3 tokens that are neither true nor padding.
    third = 0.1 / 3
    np.testing.assert_allclose(
        plots.smoothed_targets([2, 0, 1], 5, 0.1),
        [
            [0, third, 0.9, third, third],
            [0, 0, 0, 0, 0],
            [0, 0.9, third, third, third],
        ],
        atol=2e-6,
    )
    axes = plots.plot_smoothing_table(0.1, 4, targets=(1, 0)).axes[0]
    assert texts(axes) == ["0", "0.9", "0.05", "0.05", "0", "0", "0", "0"]
    assert ticks(axes.yaxis) == ["1", "0\n(padding)"]


def test_masks_of_a_padded_pair(plots):
    source = ["<s>", "good", "morning", "</s>", "<pad>"]
    figure = plots.plot_masks(source, ["<s>", "早", "安", "<pad>"])
    encoder, decoder, cross = (
        np.array(axes.collections[0].get_array()).astype(int)
        for axes in figure.axes
    )
    keys = [1, 1, 1, 1, 0]
    np.testing.assert_array_equal(encoder, [keys] * 5)
    np.testing.assert_array_equal(cross, [keys] * 4)
    np.testing.assert_array_equal(
        decoder, [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 0]]
    )


def test_rates_are_the_papers_with_the_peak(plots):
    steps, rates = plots.rates_of((512, 4000), 20_000)
    rate = dict(zip(steps.tolist(), rates.tolist(), strict=True))
    assert rate[1] == pytest.approx(512**-0.5 * 4000**-1.5)
    assert rate[4000] == pytest.approx((512 * 4000) ** -0.5)
    assert rate[4000] == max(rates)
    assert rate[20_000] == pytest.approx((512 * 20_000) ** -0.5)


def test_shares_of_padding(plots):
    # Framed: (3, 2), (5, 4), (4, 3). In batches of 2 by source length the
    # first has sources of 3 and 4: 1 of 13 positions; so with targets.
    shares = plots.padding_shares(np.array([[1, 1], [3, 3], [2, 2]]), 2, 1000)
    assert shares["sorted by source (notebook)"] == pytest.approx(
        (1 / 13, 1 / 10)
    )
    # All in one batch: 3 and 3 positions of 15 and of 12.
    assert shares["buckets by tokens"] == pytest.approx((3 / 15, 3 / 12))
