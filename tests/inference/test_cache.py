import numpy as np
import tensorflow as tf

from keras_transformer.inference import cache as caches
from keras_transformer.inference.cache import (
    MASKED,
    Cache,
    CacheWriter,
    empty_past,
)


def test_caches_of_equal_shape_never_share_memory():
    @tf.function(autograph=False)
    def write_to_one():
        pasts = [empty_past([2, 2, 4, 8], tf.float32) for _ in range(3)]
        writer = CacheWriter(pasts[0], tf.constant(1), 1, 1)
        writer.write(0, tf.ones([2, 2, 8]))
        with tf.control_dependencies([writer.past]):
            return (
                writer.past,
                tf.identity(pasts[1] + 0),
                tf.identity(pasts[2] + 0),
            )

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
        writer = CacheWriter(grown.past, tf.constant(1), 1, 1)
        writer.write(0, tf.ones([2, 2, 8]))
        with tf.control_dependencies([writer.past]):
            return writer.past, past + 0

    written, before = grow_and_write(3)
    assert written.shape == (2, 2, 7, 8)
    np.testing.assert_array_equal(before, 0.0)
