import errno
import hashlib

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.data.records import (
    Ids,
    join_lengths,
    parse,
    serialize,
    write_shard,
)

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


def test_sentences_are_left_out():
    rows = [[1, 2], [], [300], [4, 5, 6]]
    some = ids(rows).only(np.array([True, True, False, True]))
    assert some.values.tolist() == [1, 2, 4, 5, 6]
    assert some.lengths.tolist() == [2, 0, 3]
    none = ids(rows).only(np.zeros(4, bool))
    assert len(none.values) == len(none.lengths) == 0
    assert list(serialize(none, none)) == []


def test_records_of_tensorflow_are_read_too():
    written = [example(*pair).SerializeToString() for pair in PAIRS]
    source, target = parse(written)
    assert source.to_list() == [pair[0] for pair in PAIRS]
    assert target.to_list() == [pair[1] for pair in PAIRS]


def test_a_shard_has_its_pairs_in_order(tmp_path):
    pairs = [([n] * (n % 5), [n, n + 1]) for n in range(250)]
    batches = [
        [ids([pair[side] for pair in pairs[start:end]]) for side in (0, 1)]
        for start, end in [(0, 100), (100, 100), (100, 250)]
    ]
    path = tmp_path / "a.tfrecord"
    lengths = write_shard(path, batches)
    assert lengths.dtype == np.int32
    assert lengths.tolist() == [[n % 5, 2] for n in range(250)]
    stored = tf.data.TFRecordDataset([str(path)]).batch(1000)
    source, target = parse(stored.get_single_element())
    read = zip(source.to_list(), target.to_list(), strict=True)
    assert list(read) == pairs


def test_an_empty_shard_is_written(tmp_path):
    path = tmp_path / "a.tfrecord"
    assert write_shard(path, []).shape == (0, 2)
    assert path.stat().st_size == 0


def test_lengths_of_all_shards_are_one_file(tmp_path):
    tables = [
        np.arange(2 * n, dtype=np.int32).reshape(n, 2) for n in (3, 0, 5000)
    ]
    paths = [tmp_path / f"{n}.npy" for n in range(3)]
    for path, table in zip(paths, tables, strict=True):
        np.save(path, table)
    described = join_lengths(tmp_path, "train", paths)
    content = (tmp_path / described["name"]).read_bytes()
    assert described["name"] == "train.lengths.npy"
    assert described["sha256"] == hashlib.sha256(content).hexdigest()
    joined = np.load(tmp_path / described["name"], mmap_mode="r")
    assert joined.dtype == np.int32
    np.testing.assert_array_equal(joined, np.concatenate(tables))


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
