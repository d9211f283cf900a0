"""Pictures of a corpus: lengths and padding."""

import numpy as np
import pytest

from keras_transformer.errors import InputError
from keras_transformer.plots import (
    padding_shares,
    plot_lengths,
    plot_padding_share,
)
from tests.plots.reading import texts, ticks


@pytest.fixture
def lengths():
    random = np.random.default_rng(1)
    sources = random.integers(1, 30, size=500)
    return np.stack([sources, sources + random.integers(0, 9, size=500)], 1)


def test_histograms_count_every_pair(lengths):
    axes = plot_lengths(lengths).axes[0]
    for side, patch in zip(lengths.T, axes.patches, strict=True):
        data = patch.get_data()
        assert data.values.sum() == 500
        width = data.edges[1] - data.edges[0]
        # Whole numbers lie inside of a bar, and equal ones together.
        places = ((side - data.edges[0]) // width).astype(int)
        np.testing.assert_array_equal(
            np.bincount(places, minlength=len(data.values)), data.values
        )
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    medians = np.median(lengths, axis=0)
    assert names == [
        f"source, median {medians[0]:g}",
        f"target, median {medians[1]:g}",
    ]


def test_padding_worked_by_hand():
    # Framed: (3, 2), (5, 4), (4, 3). In batches of 2 by source length the
    # first has sources of 3 and 4: 1 of 13 positions; so with targets.
    shares = padding_shares(np.array([[1, 1], [3, 3], [2, 2]]), 2, 1000)
    assert shares["sorted by source (notebook)"] == pytest.approx(
        (1 / 13, 1 / 10)
    )
    # All in one batch: 3 and 3 positions of 15 and of 12.
    assert shares["buckets by tokens"] == pytest.approx((3 / 15, 3 / 12))


@pytest.mark.parametrize("function", [plot_lengths, padding_shares])
def test_an_empty_corpus_is_refused(function):
    with pytest.raises(InputError, match="no sentence pair"):
        function(np.zeros((0, 2), int))


def test_buckets_pad_less_than_the_notebooks(lengths):
    both = {name: sum(v) for name, v in padding_shares(lengths, 16).items()}
    assert both["buckets"] < both["sorted by source (notebook)"]
    assert both["sorted by source (notebook)"] < both["in any order"]


def test_bars_say_the_percentages():
    figure = plot_padding_share(
        {"buckets": (0.031, 0.004), "in any order": (0.4, 0.5)}, language="zh"
    )
    axes = figure.axes[0]
    assert texts(axes) == ["3.1", "40.0", "0.4", "50.0"]
    assert ticks(axes.yaxis) == ["按长度分桶", "不排序"]
