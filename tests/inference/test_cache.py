import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.inference import cache as caches
from keras_transformer.inference.cache import (
    MASKED,
    Cache,
    CacheWriter,
    empty_past,
)

# Layers, sentences, heads, beams, head width.
Y, B, N, K, H = 2, 2, 2, 3, 4


def filled(steps=2):
    """A cache of several beams whose numbers are all different."""

    def numbers(*shape):
        return tf.reshape(tf.range(np.prod(shape), dtype=tf.float32), shape)

    return Cache(
        past=numbers(2 * Y, B * N, steps, K * H),
        mask=numbers(B, 1, K, steps * K),
        source_keys=numbers(Y, B, N, H, 5),
        source_values=numbers(Y, B, N, 5, H),
        source_mask=numbers(B, 1, 1, 5),
    )


@pytest.mark.parametrize("groups", [1, 2])
def test_a_write_changes_one_step_of_one_layer(groups):
    past = empty_past([2 * Y, B * groups, 4, 8], tf.float32)
    writer = CacheWriter(past, tf.constant(2), groups)
    new = np.arange(1.0, 1 + B * 2 * groups * 8, dtype=np.float32)
    written = writer.write(past, 1, tf.constant(new)).numpy()
    by_sentence = new.reshape(B, 2, groups, 8)
    expected = np.zeros([2 * Y, B * groups, 4, 8], np.float32)
    expected[2, :, 2] = by_sentence[:, 0].reshape(B * groups, 8)
    expected[3, :, 2] = by_sentence[:, 1].reshape(B * groups, 8)
    np.testing.assert_array_equal(written, expected)


def test_caches_of_equal_shape_never_share_memory():
    @tf.function(autograph=False)
    def write_to_one():
        pasts = [empty_past([2, 2, 4, 8], tf.float32) for _ in range(3)]
        writer = CacheWriter(pasts[0], tf.constant(1), 1)
        written = writer.write(pasts[0], 0, tf.ones([2, 2, 8]))
        with tf.control_dependencies([written]):
            return written, tf.identity(pasts[1] + 0), tf.identity(pasts[2] + 0)

    for _ in range(2):
        written, *others = write_to_one()
        assert tf.reduce_sum(written) == 32.0
        for other in others:
            np.testing.assert_array_equal(other, 0.0)


def test_a_cache_that_grew_leaves_the_one_before_alone():
    @tf.function(input_signature=[tf.TensorSpec([], tf.int32)], autograph=False)
    def grow_and_write(steps):
        past = empty_past([2, 2, 4, 8], tf.float32)
        mask = tf.fill([1, 1, 4], MASKED)
        grown = caches.grow(Cache(past, mask, (), (), ()), steps)
        writer = CacheWriter(grown.past, tf.constant(1), 1)
        written = writer.write(grown.past, 0, tf.ones([2, 2, 8]))
        with tf.control_dependencies([written]):
            return written, past + 0

    written, before = grow_and_write(3)
    assert written.shape == (2, 2, 7, 8)
    np.testing.assert_array_equal(before, 0.0)


def test_unmask_step_unmasks_each_beams_own_slot():
    mask = caches.unmask_step(tf.fill([1, 1, 2, 6], MASKED), tf.constant(1))
    expected = np.full([1, 1, 2, 6], MASKED)
    expected[0, 0, 0, 2] = expected[0, 0, 1, 3] = 0.0
    np.testing.assert_array_equal(mask, expected)


def test_reorder_moves_whose_past_it_is_and_nothing_else():
    cache = filled()
    parents = np.array([[2, 0, 2], [1, 1, 0]])
    actual = caches.reorder(cache, tf.constant(parents))
    expected = np.take_along_axis(
        cache.mask.numpy(), parents[:, np.newaxis, :, np.newaxis], 2
    )
    np.testing.assert_array_equal(actual.mask, expected)
    for name in ("past", "source_keys", "source_values", "source_mask"):
        assert getattr(actual, name) is getattr(cache, name)


def test_reorder_of_one_beam_is_nothing():
    cache = filled()._replace(mask=tf.zeros([1, 1, 2]))
    assert caches.reorder(cache, tf.zeros([B, 1], tf.int32)) is cache


@pytest.mark.parametrize("sentences", [[1], [0], [1, 0], []])
def test_take_takes_every_tensor_of_a_sentence(sentences):
    cache = filled()
    actual = caches.take(cache, tf.constant(sentences, tf.int32), N)
    past = cache.past.numpy().reshape(2 * Y, B, N, 2, K * H)[:, sentences]
    np.testing.assert_array_equal(
        actual.past, past.reshape(2 * Y, len(sentences) * N, 2, K * H)
    )
    np.testing.assert_array_equal(actual.mask, cache.mask.numpy()[sentences])
    for name in ("source_keys", "source_values"):
        np.testing.assert_array_equal(
            getattr(actual, name), getattr(cache, name).numpy()[:, sentences]
        )
    np.testing.assert_array_equal(
        actual.source_mask, cache.source_mask.numpy()[sentences]
    )


def test_take_keeps_the_mask_that_sentences_share():
    cache = filled()._replace(mask=tf.zeros([1, 1, 2]))
    assert caches.take(cache, tf.constant([1]), N).mask is cache.mask


def test_grow_adds_steps_that_nobody_sees():
    cache = filled(steps=2)
    actual = caches.grow(cache, tf.constant(3))
    assert actual.past.shape == (2 * Y, B * N, 5, K * H)
    np.testing.assert_array_equal(actual.past[:, :, :2], cache.past)
    np.testing.assert_array_equal(actual.past[:, :, 2:], 0.0)
    assert actual.mask.shape == (B, 1, K, 5 * K)
    np.testing.assert_array_equal(actual.mask[..., : 2 * K], cache.mask)
    np.testing.assert_array_equal(actual.mask[..., 2 * K :], MASKED)
    assert actual.source_keys is cache.source_keys
