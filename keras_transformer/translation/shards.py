"""Shards of a text: parts of its lines, each translated by itself.

A shard begins and ends where a window of `stream.stream_lines` does, so that
its lines are sorted into the same batches as those of the whole text, and its
translations are byte for byte a part of the whole text's.
"""

import array
import contextlib
import hashlib
import itertools
import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from keras_transformer.data.lines import (
    bounded_lines,
    decoded_lines,
    open_bytes,
)
from keras_transformer.errors import InputError


class Shard(NamedTuple):
    """Consecutive lines of a text.

    Attributes:
        number: from 0.
        line: lines of the text before it.
        lines: number of lines in the shard.
        spans: its first byte and the one after its end, uncompressed: in the
            text, and in the file of prefixes if there is one.
    """

    number: int
    line: int
    lines: int
    spans: Sequence[Sequence[int]]


class TextScan(NamedTuple):
    """Result of one reading of a text file.

    Attributes:
        lines: number of lines, a last one without a line end included.
        sha256: of the lines, uncompressed, hexadecimal; only the beginning of
            an over-long line counts, as the rest isn't read.
        offsets: bytes before each window of lines, and of the whole text.
    """

    lines: int
    sha256: str
    offsets: Sequence[int]


def scan_text(path: str | os.PathLike, window: int) -> TextScan:
    """Reads a text file to its end, line by line.

    Args:
        path: of the file, plain or compressed.
        window: lines of a window.

    Raises:
        InputError: a line isn't UTF-8, or a compressed file is damaged.
        OSError: the file can't be read.
    """
    sha256 = hashlib.sha256()
    offsets = array.array("q", [0])
    lines = 0
    with open_bytes(path) as file:
        for line in decoded_lines(bounded_lines(file), str(path)):
            sha256.update(line.encode())
            lines += 1
            if lines % window == 0:
                offsets.append(file.tell())
        if lines % window:
            offsets.append(file.tell())
    return TextScan(lines, sha256.hexdigest(), offsets)


def window_edges(windows: int, count: int) -> list[int]:
    """The number of windows before each of `count` about equal shards, and all.

    Some shards are empty if there are fewer windows.
    """
    return [windows * number // count for number in range(count + 1)]


def shard_lines(
    paths: Sequence[str], shard: Shard
) -> Iterator[str | tuple[str, ...]]:
    """Yields a shard's lines or, with prefixes, pairs without line ends.

    A compressed file is read from its beginning.

    Args:
        paths: of the text, and of the file of prefixes if there is one.
        shard: the shard.

    Raises:
        InputError: a line isn't UTF-8, or a file has changed.
        OSError: a file can't be read.
    """
    with contextlib.ExitStack() as stack:
        columns = [
            _column(stack.enter_context(open_bytes(path)), path, shard, span)
            for path, span in zip(paths, shard.spans, strict=True)
        ]
        if len(columns) == 1:
            yield from columns[0]
            return
        for texts in zip(*columns, strict=True):
            yield tuple(text.rstrip("\r\n") for text in texts)


def _column(file, path, shard, span):
    begin, end = span
    file.seek(begin)
    lines = itertools.islice(bounded_lines(file), shard.lines)
    yield from decoded_lines(lines, str(path), shard.line + 1)
    if file.tell() != end:
        raise InputError(
            f"{path}: changed since it was cut into shards. Accepted: the "
            "file as it was"
        )
