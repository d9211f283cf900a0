import numpy as np
import tensorflow as tf

from keras_transformer.search.loop import (
    output_capacity,
    same_shapes,
    write_tokens,
)


def test_the_capacity_is_for_the_longest():
    assert output_capacity(tf.constant([3, 9, 4])) == 9


def test_the_capacity_is_never_0():
    assert output_capacity(tf.constant([0, 0])) == 1
    assert output_capacity(tf.zeros([0], tf.int32)) == 1


def test_write_tokens_changes_one_position():
    ids = tf.zeros([2, 2, 3], tf.int32)
    written = write_tokens(ids, tf.constant([[5, 6], [7, 8]]), 1)
    np.testing.assert_array_equal(
        written, [[[0, 5, 0], [0, 6, 0]], [[0, 7, 0], [0, 8, 0]]]
    )


def test_same_shapes_restores_what_is_known():
    known = []

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, None, 4]),
            tf.TensorSpec([None, 3, 4]),
        ],
        autograph=False,
    )
    def function(new, old):
        (restored,) = same_shapes([new], [old])
        known.append(restored.shape.as_list())
        return restored

    function(tf.zeros([2, 3, 4]), tf.zeros([2, 3, 4]))
    assert known == [[None, 3, 4]]
