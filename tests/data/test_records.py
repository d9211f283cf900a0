import errno

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.data.records import Ids, parse, serialize, write_shard

PAIRS = [([5, 6, 7], [8]), ([], [9, 10]), ([11], [])]


def ids(rows):
    return Ids.of(tf.ragged.constant(rows, tf.int32, ragged_rank=1))


def records(pairs):
    return list(serialize(*map(ids, zip(*pairs, strict=True))))


def example(source_ids, target_ids):
    """A record as TensorFlow's own classes write it."""
    record = tf.train.Example()
    features = record.features.feature
    features["source_ids"].int64_list.value.extend(source_ids)
    features["target_ids"].int64_list.value.extend(target_ids)
    return record


@pytest.mark.parametrize("length", [0, 40, 3000])
def test_records_are_examples_of_tensorflow(length):
    random = np.random.default_rng(length)
    sides = [random.integers(0, 2**bits, length).tolist() for bits in (7, 22)]
    edges = [0, 1, 127, 128, 16383, 16384, 2**21 - 1, 2**21, 2**31 - 1]
    pairs = [sides, sides[::-1], (edges, []), ([], edges)]
    for record, pair in zip(records(pairs), pairs, strict=True):
        assert tf.train.Example.FromString(record) == example(*pair)


def test_records_of_tensorflow_are_read_too():
    written = [example(*pair).SerializeToString() for pair in PAIRS]
    source, target = parse(written)
    assert source.to_list() == [pair[0] for pair in PAIRS]
    assert target.to_list() == [pair[1] for pair in PAIRS]


def test_failing_disk_is_an_error_of_the_system(tmp_path):
    # That of TensorFlow's couldn't come back from a worker process.
    with pytest.raises(OSError, match="No such file") as caught:
        write_shard(tmp_path / "none" / "a", [(ids([[1]]), ids([[2]]))])
    assert caught.value.errno == errno.EIO
    batch = [
        Ids(np.full(9999 * length, 1, np.int32), np.full(9999, length))
        for length in (100, 1)
    ]
    with pytest.raises(OSError, match="the disk is full") as caught:
        write_shard("/dev/full", [batch])
    assert caught.value.errno == errno.ENOSPC
