"""Lines of files that may have one without end.

A line that has more bytes than a limit is read past in parts and never held:
what is read of a damaged file or a gzip bomb stays in bounded memory.
"""

import functools
import itertools
from collections.abc import Iterable, Iterator
from typing import BinaryIO, NamedTuple

import numpy as np

LINE_BYTES = 1 << 20  # of a line, its end not counted; the default
_LINE_FEED = ord("\n")
_SKIPPED = 1 << 16  # bytes of an over-long line that are read at a time
_COUNTED = 1 << 20  # bytes that are read at a time where lines are counted


class Lines(NamedTuple):
    """Some whole lines of a file.

    Attributes:
        content: the lines, undecoded; empty ones in place of over-long ones.
        long: the numbers of these, from 0, ascending.
    """

    content: bytes
    long: tuple[int, ...] = ()


def bounded_lines(
    file: BinaryIO, limit: int = LINE_BYTES, skip: bool = True
) -> Iterator[bytes]:
    """Yields the lines of a file; of an over-long one only its beginning.

    Args:
        file: a binary file.
        limit: bytes of a line.
        skip: True reads past the rest of an over-long line. A caller that
            refuses such a line needn't wait for its end: a device has none.

    Yields:
        lines with their ends, and `limit + 1` bytes without an end of a line
        that has more: see `is_over_long`.
    """
    for line in _pieces(file, limit):
        if skip and is_over_long(line, limit):
            _skip_line(file)
        yield line


def is_over_long(line: bytes, limit: int = LINE_BYTES) -> bool:
    """True for the beginning of an over-long line of `bounded_lines`."""
    return len(line) > limit and not line.endswith(b"\n")


def shortened(line: bytes, limit: int = LINE_BYTES) -> bytes:
    """A line of `bounded_lines`, an over-long one cut after a character."""
    if not is_over_long(line, limit):
        return line
    end = limit
    while end and line[end] & 0xC0 == 0x80:  # Within a character of UTF-8.
        end -= 1
    return line[:end] + b"\n"


def lines_of_block(
    file: BinaryIO, begin: int, end: int | None, limit: int
) -> Iterator[bytes]:
    """Yields the lines that begin in a part of a file.

    Args:
        file: a binary file, at its beginning.
        begin: of the part, in bytes.
        end: of the part; None: that of the file.
        limit: bytes of a line.

    Yields:
        as `bounded_lines`.
    """
    if begin:
        # The line that begins before may end just there.
        file.seek(begin - 1)
        begin += _skip_line(file) - 1
    for line in _pieces(file, limit):
        if end is not None and begin >= end:
            return
        begin += len(line)
        if is_over_long(line, limit):
            begin += _skip_line(file)
        yield line


def count_lines_of_block(file: BinaryIO, begin: int, end: int | None) -> int:
    """The number of lines that begin in a part of a file; see above."""
    count, after_end = 0, begin == 0
    if begin:
        file.seek(begin - 1)
        after_end = file.read(1) == b"\n"
    while content := file.read(
        _COUNTED if end is None else max(0, min(_COUNTED, end - begin))
    ):
        begin += len(content)
        count += after_end + content.count(b"\n", 0, -1)
        after_end = content.endswith(b"\n")
    return count


def next_lines(file: BinaryIO, size: int, limit: int) -> Lines | None:
    """The next lines of a file, of so many bytes or somewhat more.

    Args:
        file: a binary file.
        size: bytes, at least, unless the file ends.
        limit: bytes of a line.

    Returns:
        whole lines; None at the end of the file.
    """
    content = file.read(size)
    if not content:
        return None
    if not content.endswith(b"\n"):
        begin = content.rfind(b"\n") + 1
        content += file.readline(max(0, limit - len(content) + begin) + 1)
        if is_over_long(content[begin:], limit):
            _skip_line(file)
            content += b"\n"
    return _without_long(content, limit)


def count_lines(file: BinaryIO, count: int, limit: int) -> Lines:
    """The next lines of a file, so many, unless the file ends."""
    pieces = list(itertools.islice(_pieces(file, limit), count))
    if max(map(len, pieces), default=0) <= limit:
        return Lines(b"".join(pieces))
    rest = _pieces(file, limit)
    return _joined(itertools.chain(pieces, rest), count, limit)


def _pieces(file, limit) -> Iterator[bytes]:
    """Lines, or parts of `limit + 1` bytes of a line that has more."""
    return iter(functools.partial(file.readline, limit + 1), b"")


def _joined(pieces: Iterable[bytes], count, limit) -> Lines:
    """So many lines of their pieces."""
    lines: list[bytes] = []
    long: list[int] = []
    inside = False
    for piece in pieces:
        if inside:  # An over-long line goes on.
            inside = not piece.endswith(b"\n")
        else:
            inside = is_over_long(piece, limit)
            if inside:
                long.append(len(lines))
            lines.append(b"\n" if inside else piece)
        if len(lines) == count and not inside:
            break
    return Lines(b"".join(lines), tuple(long))


def _skip_line(file) -> int:
    """Reads to the end of a line; the number of bytes."""
    size = 0
    while part := file.readline(_SKIPPED):
        size += len(part)
        if part.endswith(b"\n"):
            break
    return size


def _without_long(content, limit) -> Lines:
    """Whole lines, over-long ones emptied."""
    if len(content) <= limit:
        return Lines(content)
    ends = np.flatnonzero(np.frombuffer(content, np.uint8) == _LINE_FEED)
    if not content.endswith(b"\n"):
        ends = np.append(ends, len(content))
    lengths = np.diff(ends, prepend=-1) - 1
    long = np.flatnonzero(lengths > limit).tolist()
    if not long:
        return Lines(content)
    lines = content.split(b"\n")
    for number in long:
        lines[number] = b""
    return Lines(b"\n".join(lines), tuple(long))
