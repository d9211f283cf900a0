import numpy as np
import pytest

from keras_transformer.data.ids import Ids
from keras_transformer.data.keys import pair_keys, shard_of
from keras_transformer.data.partitions import (
    add_to_partitions,
    partition_folder,
    take_partition,
)
from keras_transformer.data.pieces import (
    Piece,
    read_pairs_of,
    read_pieces,
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
        numbers = Ids(keys[::-1].astype(np.int32), np.ones(len(keys), int))
        piece = Piece(partition, keys, lines, {"target": numbers})
        write_pieces(folder, piece, shards)
        assert not list(partition_folder(tmp_path, partition).iterdir())
    keys = pair_keys(PAIRS).shuffle
    order = np.argsort(keys)
    owners = shard_of(keys[order], shards)
    numbers = []
    for shard in range(shards):
        wanted = [PAIRS[i] for i in order[owners == shard].tolist()]
        pieces = list(read_pieces(folder, shard))
        assert list(read_pairs_of(folder, shard)) == wanted
        numbers += [n for p in pieces for n in p.numbers["target"].values]
    parts = shard_of(keys[order], partitions)
    stored = [keys[order][parts == n][::-1] for n in range(partitions)]
    assert numbers == np.concatenate(stored).astype(np.int32).tolist()


def test_an_empty_partition_has_nothing(tmp_path):
    partition_folder(tmp_path, 0).mkdir()
    keys, lines = take_partition(tmp_path, 0)
    assert keys.shape == (0,)
    assert lines == []
    write_pieces(tmp_path / "train", Piece(0, keys, lines, {}), 3)
    assert list(read_pieces(tmp_path / "train", 0)) == []


def test_a_shard_has_one_file_of_all_pieces(tmp_path):
    for partition in (5, 2):
        keys = np.array([partition, partition + 10])
        lines = [b"a\tb", f"{partition}\t\x00".encode()]
        ids = Ids(np.arange(3, dtype=np.int32), np.array([1, 2]))
        piece = Piece(partition, keys, lines, {"source": ids})
        write_pieces(tmp_path, piece, 1)
    (path,) = (tmp_path / "000000").iterdir()
    assert [piece.partition for piece in read_pieces(tmp_path, 0)] == [2, 5]
    assert path.stat().st_size < 2000
