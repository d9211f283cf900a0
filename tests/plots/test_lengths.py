"""Pictures of a corpus."""

import numpy as np
import pytest

from keras_transformer.errors import InputError
from keras_transformer.plots import plot_lengths


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


def test_an_empty_corpus_is_refused():
    with pytest.raises(InputError, match="no sentence pair"):
        plot_lengths(np.zeros((0, 2), int))
    with pytest.raises(InputError, match="one of en, zh. Received: 'de'"):
        plot_lengths(np.ones((1, 2), int), language="de")
