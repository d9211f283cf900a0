"""Partitions: the text of a corpus in files by range of shuffle key.

Text passes through here while a corpus is prepared, so that it never has to be
in memory: what a block has is added to the files of all partitions; then each
partition by itself is sorted, and what is kept of it goes to the shards that
its range meets.
"""

import os
import pathlib
from collections.abc import Iterator, Sequence

import numpy as np

from keras_transformer.data.corpus import Pair
from keras_transformer.data.keys import shard_of

CHUNK = 4096  # pairs handled together
# Of a partition's text; a few times as much in memory while it is sorted.
PARTITION_BYTES = 16 << 20
_KEY_DIGITS = 16


def add_to_partitions(
    folder: pathlib.Path,
    partitions: int,
    pairs: Sequence[Pair],
    shuffle_keys: np.ndarray,
) -> None:
    """Adds pairs to the files of their partitions, this process' own.

    Args:
        folder: with a folder for each partition, see `partition_folder`.
        partitions: how many.
        pairs: cleaned.
        shuffle_keys: int64 `(N,)`.
    """
    lines = [
        f"{key:0{_KEY_DIGITS}x}\t{source}\t{target}\n"
        for key, (source, target) in zip(
            shuffle_keys.tolist(), pairs, strict=True
        )
    ]
    lines.sort()
    owners = shard_of(np.sort(shuffle_keys), partitions)
    for partition, start, end in groups(owners):
        path = partition_folder(folder, partition) / str(os.getpid())
        with path.open("ab") as file:
            file.write("".join(lines[start:end]).encode())


def partition_folder(folder: pathlib.Path, partition: int) -> pathlib.Path:
    """Where the files of a partition are."""
    return folder / f"partition-{partition:06d}"


def take_partition(
    folder: pathlib.Path, partition: int
) -> tuple[np.ndarray, list[bytes]]:
    """Reads a partition and removes its files.

    Returns:
        The shuffle keys of its pairs, int64 `(N,)`, ascending; and each pair
        as a line, without an end.
    """
    paths = sorted(partition_folder(folder, partition).iterdir())
    lines = []
    for path in paths:
        lines += path.read_bytes().split(b"\n")[:-1]
    lines.sort()
    digits = b"".join([line[:_KEY_DIGITS] for line in lines])
    keys = np.frombuffer(bytes.fromhex(digits.decode()), ">u8")
    for path in paths:
        path.unlink()
    return (
        keys.astype(np.int64),
        [line[_KEY_DIGITS + 1 :] for line in lines],
    )


def groups(owners: np.ndarray) -> Iterator[tuple[int, int, int]]:
    """Yields (owner, start, end) of each run in int `(N,)`, ascending."""
    numbers, starts = np.unique(owners, return_index=True)
    ends = np.append(starts, len(owners))[1:].tolist()
    yield from zip(numbers.tolist(), starts.tolist(), ends, strict=True)
