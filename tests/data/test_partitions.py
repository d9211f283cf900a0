import numpy as np
import pytest

from keras_transformer.data.keys import pair_keys, shard_of
from keras_transformer.data.partitions import (
    add_to_partitions,
    partition_folder,
    read_pieces,
    take_partition,
    write_pieces,
)

# All that may stand in cleaned text: no tab, no end of line.
PAIRS = [
    (f"a {n} \x0b\x85\u2028", f"ü\x00\"'{'目' * (n % 7)}{n}")
    for n in range(900)
]


@pytest.mark.parametrize("partitions", [1, 3, 40])
@pytest.mark.parametrize("shards", [1, 4, 33])
def test_text_comes_out_in_the_order_of_its_keys(tmp_path, partitions, shards):
    for partition in range(partitions):
        partition_folder(tmp_path, partition).mkdir()
    for start in range(0, 900, 100):
        pairs = PAIRS[start : start + 100]
        keys = pair_keys(pairs).shuffle
        add_to_partitions(tmp_path, partitions, pairs, keys)
    folder = tmp_path / "train"
    for partition in range(partitions):
        keys, lines = take_partition(tmp_path, partition)
        assert (shard_of(keys, partitions) == partition).all()
        write_pieces(folder, partition, lines, keys, shards)
        assert not list(partition_folder(tmp_path, partition).iterdir())
    keys = pair_keys(PAIRS).shuffle
    order = np.argsort(keys)
    owners = shard_of(keys[order], shards)
    for shard in range(shards):
        wanted = [PAIRS[i] for i in order[owners == shard].tolist()]
        chunks = list(read_pieces(folder, shard))
        assert [pair for chunk in chunks for pair in chunk] == wanted


def test_an_empty_partition_has_nothing(tmp_path):
    partition_folder(tmp_path, 0).mkdir()
    keys, lines = take_partition(tmp_path, 0)
    assert keys.shape == (0,) and lines == []
    write_pieces(tmp_path / "train", 0, lines, keys, 3)
    assert list(read_pieces(tmp_path / "train", 0)) == []
