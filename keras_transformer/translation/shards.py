"""Shards of a text: parts of its lines, each translated by itself.

A shard begins and ends where a window of `stream.stream_lines` does, so that
its lines are sorted into the same batches as those of the whole text, and its
translations are byte for byte a part of the whole text's.
"""

import array
import codecs
import contextlib
import dataclasses
import hashlib
import itertools
import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from keras_transformer.data.bounded_lines import bounded_lines
from keras_transformer.data.corpus import open_bytes
from keras_transformer.errors import InputError
from keras_transformer.translation.text_files import chunks, decoded_lines

_LINE_FEED = ord("\n")


@dataclasses.dataclass(frozen=True)
class Shard:
    """Consecutive lines of a text.

    Attributes:
        number: from 0.
        line: how many lines of the text stand before it.
        lines: how many it has.
        begin, end: bytes of the text, uncompressed, before it and up to its
            end.
        prefix_begin, prefix_end: the same in the file of prefixes.
    """

    number: int
    line: int
    lines: int
    begin: int
    end: int
    prefix_begin: int = 0
    prefix_end: int = 0


class TextScan(NamedTuple):
    """What one reading of a text file tells.

    Attributes:
        lines: how many; the last one counts without a line end, too.
        sha256: of the text, uncompressed, hexadecimal.
        offsets: bytes before each window of lines, and of the whole text.
        undecodable: number of the first line that isn't UTF-8, None if all
            are.
    """

    lines: int
    sha256: str
    offsets: Sequence[int]
    undecodable: int | None


def scan_text(path: str | os.PathLike, window: int) -> TextScan:
    """Reads a text file to its end, some MiB at a time.

    Args:
        path: of the file, plain or gzip.
        window: lines of a window.

    Raises:
        InputError: the gzip file is damaged.
        OSError: the file can't be read.
    """
    import numpy as np

    sha256 = hashlib.sha256()
    decoder = codecs.getincrementaldecoder("utf-8")()
    offsets = array.array("q", [0])
    lines, size, undecodable, ended = 0, 0, None, True
    with open_bytes(path) as file:
        for chunk in chunks(file, str(path)):
            sha256.update(chunk)
            if undecodable is None:
                undecodable = _undecodable(decoder, chunk, lines)
            characters = np.frombuffer(chunk, np.uint8)
            ends = np.flatnonzero(characters == _LINE_FEED) + 1
            # The first of these lines that is the last of a window.
            first = window - 1 - lines % window
            offsets.extend((size + ends[first::window]).tolist())
            lines, size = lines + len(ends), size + len(chunk)
            ended = chunk.endswith(b"\n")
    if undecodable is None:
        undecodable = _undecodable(decoder, b"", lines, final=True)
    if offsets[-1] != size:
        offsets.append(size)
    return TextScan(
        lines + (not ended), sha256.hexdigest(), offsets, undecodable
    )


def _undecodable(decoder, chunk, lines, final=False):
    """The number of the first line that isn't UTF-8, None if all are.

    Args:
        decoder: incremental, with what the last chunk left.
        chunk: bytes.
        lines: how many ended before the chunk.
        final: whether nothing follows.
    """
    try:
        decoder.decode(chunk, final)
    except UnicodeDecodeError as error:
        return lines + error.object.count(b"\n", 0, error.start) + 1
    return None


def cut(
    text: TextScan, count: int, window: int, prefixes: TextScan | None = None
) -> list[Shard]:
    """Cuts a text into shards of about as many lines each.

    Args:
        text: the text's scan.
        count: shards, of which some are empty if there are fewer windows.
        window: lines of a window, as in the scan.
        prefixes: the scan of a file with as many lines.
    """
    windows = len(text.offsets) - 1
    shards = []
    for number in range(count):
        first = windows * number // count
        last = windows * (number + 1) // count
        line = min(first * window, text.lines)
        lines = min(last * window, text.lines) - line
        offsets = [text.offsets[first], text.offsets[last]]
        if prefixes:
            offsets += [prefixes.offsets[first], prefixes.offsets[last]]
        shards.append(Shard(number, line, lines, *offsets))
    return shards


class ShardReader:
    """Lines of shards, from a text that stays open. A context manager.

    A gzip file is decompressed from its beginning for each shard, as to go
    back is to begin anew.

    Args:
        path: of the text, plain or gzip.
        prefixes: of a file with a prefix for each line; None: there is none.

    Raises:
        OSError: a file can't be opened.
    """

    def __init__(
        self, path: str | os.PathLike, prefixes: str | os.PathLike | None = None
    ) -> None:
        self._paths = [path] if prefixes is None else [path, prefixes]
        with contextlib.ExitStack() as stack:
            self._files = [
                stack.enter_context(open_bytes(path)) for path in self._paths
            ]
            self._stack = stack.pop_all()

    def __enter__(self) -> "ShardReader":
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def lines(self, shard: Shard) -> Iterator[str | tuple[str, ...]]:
        """Yields a shard's lines; with prefixes pairs, without line ends.

        Raises:
            InputError: a line isn't UTF-8, or a file isn't what was cut.
        """
        spans = (
            (shard.begin, shard.end),
            (shard.prefix_begin, shard.prefix_end),
        )
        columns = [
            self._column(file, str(path), shard, *span)
            for file, path, span in zip(
                self._files, self._paths, spans, strict=False
            )
        ]
        if len(columns) == 1:
            yield from columns[0]
            return
        for texts in zip(*columns, strict=True):
            yield tuple(text.rstrip("\r\n") for text in texts)

    def check(self, shard: Shard) -> None:
        """Reads a shard's lines and does nothing with them.

        Raises:
            InputError: see `lines`; told before the shard's translation has
                taken its time.
        """
        for _ in self.lines(shard):
            pass

    def _column(self, file, name, shard, begin, end):
        lines = _lines_from(file, begin, shard.lines)
        yield from decoded_lines(lines, name, shard.line + 1)
        if file.tell() != end:
            raise InputError(
                f"{name}: changed since it was cut into shards. Accepted: the "
                "file as it was"
            )


def _lines_from(file, begin, count):
    """Yields so many lines of a binary file from a byte on."""
    file.seek(begin)
    yield from itertools.islice(bounded_lines(file), count)
