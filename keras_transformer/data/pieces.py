"""Pieces: what a shard has of each partition, sorted text and its numbers."""

import pathlib
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

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
    numbers: Mapping[str, Ids]


def write_pieces(folder: pathlib.Path, whole: Piece, shards: int):
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


def write_piece(folder: pathlib.Path, shard: int, piece: Piece):
    """Writes one piece of a shard: text, keys, and numbers by side."""
    path = folder / f"{shard:06d}" / f"{piece.partition:06d}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(line + b"\n" for line in piece.lines))
    path.with_suffix(".keys").write_bytes(piece.keys.tobytes())
    for side, numbers in piece.numbers.items():
        lengths = numbers.lengths.astype(np.int32)
        content = lengths.tobytes() + numbers.values.tobytes()
        path.with_suffix(f".{side}").write_bytes(content)


def read_pieces(folder: pathlib.Path, shard: int) -> list[Piece]:
    """The pieces of a shard."""
    folder = folder / f"{shard:06d}"
    paths = sorted(folder.glob("*.keys"))
    return [_read_piece(path.with_suffix("")) for path in paths]


def _read_piece(path):
    lines = path.read_bytes().split(b"\n")[:-1]
    numbers = {}
    for side in ("source", "target"):
        stored = path.with_suffix(f".{side}")
        if stored.exists():
            values = np.fromfile(stored, np.int32)
            numbers[side] = Ids(values[len(lines) :], values[: len(lines)])
    keys = np.fromfile(path.with_suffix(".keys"), np.int64)
    return Piece(int(path.name), keys, lines, numbers)


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
        yield tuple(line.decode().split("\t"))
