"""Heat maps of attention."""

import numpy as np
import pytest

from keras_transformer.errors import InputError
from keras_transformer.plots import plot_attention
from tests.plots.reading import ticks

ROWS = ["我", "们", "</s>"]
COLUMNS = ["<s>", "we", "$", "$"]


@pytest.fixture
def weights():
    return np.random.default_rng(1).dirichlet(np.ones(4), size=(2, 3, 3))


def maps(figure):
    return {axes.get_title(): axes for axes in figure.axes if axes.images}


def test_a_map_for_each_layer_and_head(weights):
    found = maps(plot_attention(weights, ROWS, COLUMNS))
    assert list(found) == [
        f"Layer {layer} · Head {head}" for layer in (1, 2) for head in (1, 2, 3)
    ]
    np.testing.assert_array_equal(
        found["Layer 2 · Head 3"].images[0].get_array(), weights[1, 2]
    )
    for axes in found.values():
        assert axes.images[0].get_clim() == (0, 1)
    # Tokens are on the outer axes.
    assert ticks(found["Layer 1 · Head 1"].yaxis) == ROWS
    assert ticks(found["Layer 1 · Head 2"].yaxis) == []
    assert ticks(found["Layer 1 · Head 1"].xaxis) == []
    assert ticks(found["Layer 2 · Head 3"].xaxis) == COLUMNS
    one = plot_attention(weights, ROWS, COLUMNS, layers=[2], language="zh")
    assert list(maps(one)) == [f"层 2 · 头 {head}" for head in (1, 2, 3)]


def test_tokens_and_layers_that_do_not_fit_are_refused(weights):
    with pytest.raises(InputError, match=r"\(layers, heads, 2, 4\)"):
        plot_attention(weights, ROWS[:2], COLUMNS)
    with pytest.raises(InputError, match="1 to 2. Received: 3"):
        plot_attention(weights, ROWS, COLUMNS, layers=[3])
