"""MaskedPooling, against sums worked by hand and Keras' own pooling."""

import keras
import numpy as np
import pytest

from keras_transformer.layers import MaskedPooling
from tests.layers.checks import check_layer

RNG = np.random.default_rng(1)
X = RNG.normal(size=(3, 4, 8)).astype("float32")
MASK = np.array([[1, 1, 1, 1], [1, 1, 0, 0], [0, 0, 0, 0]], dtype="bool")
MODES = pytest.mark.parametrize("mode", ["mean", "max"])


@MODES
def test_keeps_the_layer_contract(mode):
    def make(dtype="float32"):
        return MaskedPooling(mode, dtype=dtype)

    check_layer(make, {"inputs": X}, weight_count=0, seed_count=0)
    check_layer(make, {"inputs": X, "mask": MASK}, 0, 0)


@MODES
def test_only_what_the_mask_keeps_counts(mode):
    pooled = np.array(MaskedPooling(mode)(X, mask=MASK))
    function = getattr(np, mode)
    np.testing.assert_allclose(pooled[0], function(X[0], axis=0), atol=1e-6)
    np.testing.assert_allclose(pooled[1], function(X[1, :2], 0), atol=1e-6)
    np.testing.assert_array_equal(pooled[2], 0.0)
    # Without a mask all does.
    expected = function(X, axis=1)
    np.testing.assert_allclose(MaskedPooling(mode)(X), expected, atol=1e-6)


@MODES
def test_texts_without_positions_give_zeros(mode):
    pooled = np.array(MaskedPooling(mode)(X[:, :0], mask=MASK[:, :0]))
    np.testing.assert_array_equal(pooled, np.zeros((3, 8)))


def test_float64_is_computed_in_float64():
    x = np.full((1, 3, 1), 1 + 1e-12)
    assert MaskedPooling(dtype="float64")(x) == 1 + 1e-12


@MODES
def test_implicit_masks_are_heeded_and_end_here(mode):
    ids = np.array([[4, 5, 0, 0], [0, 0, 0, 0]])
    x = keras.layers.Embedding(9, 8, mask_zero=True)(ids)
    pooled = MaskedPooling(mode)(x)
    expected = MaskedPooling(mode)(np.array(x), mask=ids != 0)
    np.testing.assert_allclose(pooled, expected, atol=1e-6)
    assert getattr(pooled, "_keras_mask", None) is None


def test_the_largest_of_very_small_numbers():
    x = np.full((1, 2, 3), -1e6, "float32")
    np.testing.assert_array_equal(MaskedPooling("max")(x), x[:, 0])


def test_long_texts_stay_finite_in_float16():
    x = np.full((1, 4096, 2), 100.0, dtype="float16")
    pooled = MaskedPooling(dtype="float16")(x)
    np.testing.assert_allclose(np.array(pooled, "float32"), 100.0)


def test_a_mask_of_other_axes_is_refused():
    says = r"\(batch, length\). Received: \(3, 1"
    with pytest.raises(ValueError, match=says):
        MaskedPooling()(X, mask=MASK[:, None])
