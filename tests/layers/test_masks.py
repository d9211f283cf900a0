import keras
import numpy as np

from keras_transformer.layers import (
    causal_mask,
    decoder_mask,
    hide_start,
    padding_mask,
)

IDS = np.array([[2, 7, 3, 0], [2, 3, 0, 0]])


def test_padding_mask_keeps_real_tokens():
    expected = [[[True, True, True, False]], [[True, True, False, False]]]
    np.testing.assert_array_equal(padding_mask(IDS), expected)


def test_hide_start_leaves_padding():
    np.testing.assert_array_equal(hide_start(IDS), [[0, 7, 3, 0], [0, 3, 0, 0]])


def test_causal_mask_is_lower_triangular_for_any_ids():
    expected = np.broadcast_to(np.tril(np.ones((4, 4), bool)), (2, 4, 4))
    np.testing.assert_array_equal(causal_mask(IDS), expected)
    np.testing.assert_array_equal(causal_mask(np.zeros_like(IDS)), expected)


def test_decoder_mask_hides_future_and_padding():
    mask = np.array(decoder_mask(IDS))
    np.testing.assert_array_equal(
        mask[1],
        [
            [True, False, False, False],
            [True, True, False, False],
            [True, True, False, False],
            [True, True, False, False],
        ],
    )


def test_masks_are_built_where_the_length_is_unknown():
    ids = keras.KerasTensor((None, None), dtype="int32")
    assert decoder_mask(ids).shape == (None, None, None)
    assert padding_mask(ids).shape == (None, 1, None)
