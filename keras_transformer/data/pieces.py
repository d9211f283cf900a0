"""Pieces: what a shard has of each partition, sorted text and its numbers."""

import itertools
import os
import pathlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from keras_transformer.constants import SIDES
from keras_transformer.data.corpus import Pair
from keras_transformer.data.ids import Ids
from keras_transformer.data.keys import shard_of
from keras_transformer.data.partitions import groups


class Piece(NamedTuple):
    """What a shard has of one partition, or of a dev file.

    Attributes:
        partition: its number.
        keys: int64 `(N,)`, ascending; by these the pieces of a shard are
            merged.
        lines: the pairs, without ends of lines.
        numbers: by side, the sentences as numbers of the partition's tokens;
            where text was split already.
    """

    partition: int
    keys: np.ndarray
    lines: Sequence[bytes]
    numbers: dict[str, Ids]


def write_pieces(folder: pathlib.Path, whole: Piece, shards: int) -> None:
    """Writes what is kept of a partition to pieces of the shards it is in.

    Args:
        folder: of the split's pieces.
        whole: of the partition; its keys are shuffle keys.
        shards: of the split.
    """
    runs = list(groups(shard_of(whole.keys, shards)))
    bounds = [start for _, start, _ in runs] + [len(whole.lines)]
    sides = {
        side: list(numbers.parts(bounds))
        for side, numbers in whole.numbers.items()
    }
    for index, (shard, start, end) in enumerate(runs):
        piece = Piece(
            whole.partition,
            whole.keys[start:end],
            whole.lines[start:end],
            {side: parts[index] for side, parts in sides.items()},
        )
        write_piece(folder, shard, piece)


def write_piece(folder: pathlib.Path, shard: int, piece: Piece) -> None:
    """Adds one piece to a shard: to a file for each process that writes.

    One for each piece would be millions in a large corpus whose weights bring
    copies of a partition's pairs to every shard.
    """
    path = folder / f"{shard:06d}" / str(os.getpid())
    path.parent.mkdir(parents=True, exist_ok=True)
    text = b"".join(line + b"\n" for line in piece.lines)
    sides = [side in piece.numbers for side in SIDES]
    arrays = [
        np.array([piece.partition, *sides], np.int64),
        piece.keys,
        np.frombuffer(text, np.uint8),
    ]
    for side in itertools.compress(SIDES, sides):
        numbers = piece.numbers[side]
        arrays += numbers.lengths.astype(np.int32), numbers.values
    with path.open("ab") as file:
        for array in arrays:
            np.save(file, array)


def read_pieces(folder: pathlib.Path, shard: int) -> list[Piece]:
    """The pieces of a shard, by partition."""
    pieces = []
    for path in (folder / f"{shard:06d}").glob("*"):
        with path.open("rb") as file:
            while file.peek(1):
                pieces.append(_read_piece(file))
    return sorted(pieces, key=lambda piece: piece.partition)


def _read_piece(file):
    partition, *sides = np.load(file).tolist()
    keys = np.load(file)
    lines = np.load(file).tobytes().split(b"\n")[:-1]
    numbers = {}
    for side in itertools.compress(SIDES, sides):
        lengths = np.load(file)
        numbers[side] = Ids(np.load(file), lengths)
    return Piece(partition, keys, lines, numbers)


def reading_order(pieces: Sequence[Piece]) -> np.ndarray:
    """The order of the pairs of all pieces, one after the other: `(N,)`."""
    keys = [np.empty(0, np.int64), *(piece.keys for piece in pieces)]
    return np.argsort(np.concatenate(keys), kind="stable")


def merged_lines(pieces: Sequence[Piece], order: np.ndarray) -> list[bytes]:
    """The lines of all pieces in `reading_order`."""
    lines = [line for piece in pieces for line in piece.lines]
    return [lines[i] for i in order.tolist()]


def read_pairs_of(folder: pathlib.Path, shard: int) -> Iterator[Pair]:
    """Yields the pairs of a shard, in order."""
    pieces = read_pieces(folder, shard)
    for line in merged_lines(pieces, reading_order(pieces)):
        source, target = line.decode().split("\t")
        yield source, target
