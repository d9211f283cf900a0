import numpy as np

from keras_transformer.layers import (
    causal_mask,
    decoder_mask,
    padding_mask,
    seen_source,
)

IDS = np.array([[2, 7, 3, 0], [2, 3, 0, 0]])


def test_padding_mask_keeps_real_tokens():
    expected = [[[True, True, True, False]], [[True, True, False, False]]]
    np.testing.assert_array_equal(padding_mask(IDS), expected)


def test_unseen_tokens_are_padding():
    for options, expected in (
        ({}, IDS),
        ({"start": False}, [[0, 7, 3, 0], [0, 3, 0, 0]]),
        ({"end": False}, [[2, 7, 0, 0], [2, 3, 0, 0]]),
    ):
        np.testing.assert_array_equal(seen_source(IDS, **options), expected)


def test_causal_mask_is_lower_triangular_for_any_ids():
    expected = np.broadcast_to(np.tril(np.ones((4, 4), bool)), (2, 4, 4))
    np.testing.assert_array_equal(causal_mask(IDS), expected)
    np.testing.assert_array_equal(causal_mask(np.zeros_like(IDS)), expected)


def test_causal_mask_of_long_texts_in_bytes():
    mask = np.array(causal_mask(np.zeros((1, 300), "uint8")))
    np.testing.assert_array_equal(mask[0], np.tril(np.ones((300, 300), bool)))


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
