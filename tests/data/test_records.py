import hashlib

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.data import records
from keras_transformer.data.records import SplitWriter, parse, serialize

PAIRS = [([5, 6, 7], [8]), ([], [9, 10]), ([11], [])]


def read(folder, description):
    """(source, target) ids of every record, shard after shard."""
    names = [str(folder / shard["name"]) for shard in description["shards"]]
    pairs = []
    for record in tf.data.TFRecordDataset(names):
        source, target = parse(record[tf.newaxis])
        pairs.append((source.to_list()[0], target.to_list()[0]))
    return pairs


def test_records_give_back_their_ids():
    source, target = parse([serialize(*pair) for pair in PAIRS])
    assert source.dtype == target.dtype == tf.int32
    assert source.to_list() == [pair[0] for pair in PAIRS]
    assert target.to_list() == [pair[1] for pair in PAIRS]


def test_split_has_shards_lengths_and_their_description(tmp_path):
    pairs = [([n] * (n % 5), [n, n + 1]) for n in range(250)]
    with SplitWriter(tmp_path, "train", len(pairs), 100, seed=1) as writer:
        for start in range(0, 250, 50):
            sources, targets = zip(*pairs[start : start + 50], strict=True)
            writer.write(sources, targets)
        description = writer.finish()
    assert [shard["name"] for shard in description["shards"]] == [
        f"train-0000{n}-of-00003.tfrecord" for n in range(3)
    ]
    assert description["pairs"] == 250
    found = read(tmp_path, description)
    assert sorted(found) == sorted(pairs)
    lengths = np.load(tmp_path / description["lengths"]["name"])
    assert lengths.dtype == np.int32
    assert lengths.tolist() == [[len(s), len(t)] for s, t in found]
    for shard in description["shards"]:
        content = (tmp_path / shard["name"]).read_bytes()
        assert shard["bytes"] == len(content)
        assert shard["sha256"] == hashlib.sha256(content).hexdigest()
        assert 50 < shard["pairs"] < 120


def test_a_shard_is_a_sample_of_the_whole_corpus(tmp_path):
    with SplitWriter(tmp_path, "train", 1000, 500, seed=1) as writer:
        writer.write([[n] for n in range(1000)], [[n] for n in range(1000)])
        description = writer.finish()
    first = read(tmp_path, description)[: description["shards"][0]["pairs"]]
    assert 400 < np.mean([source[0] for source, _ in first]) < 600


def test_same_seed_writes_the_same_shards(tmp_path):
    digests = []
    for seed in (1, 1, 2):
        with SplitWriter(tmp_path, "train", 100, 50, seed) as writer:
            writer.write([[n] for n in range(100)], [[n] for n in range(100)])
            description = writer.finish()
        digests.append([shard["sha256"] for shard in description["shards"]])
    assert digests[0] == digests[1] != digests[2]


def test_number_of_open_files_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "MAXIMUM_SHARDS", 4)
    with SplitWriter(tmp_path, "train", 1000, 10, seed=1) as writer:
        writer.write([[1]], [[2]])
        assert len(writer.finish()["shards"]) == 4


def test_failing_disk_is_not_hidden(tmp_path):
    with pytest.raises(tf.errors.OpError):
        with SplitWriter(tmp_path / "none", "train", 10, 10, seed=1) as writer:
            writer.write([[1]], [[2]])
            writer.finish()
