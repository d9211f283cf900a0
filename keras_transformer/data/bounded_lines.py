"""Lines of files that may have one without end.

A line that has more bytes than a limit is read past in parts and never held:
what is read of a damaged file or a gzip bomb stays in bounded memory.
"""

import functools
from collections.abc import Iterator
from typing import BinaryIO

LINE_BYTES = 1 << 20  # of a line, its end not counted; the default
_SKIPPED = 1 << 16  # bytes of an over-long line that are read at a time
_COUNTED = 1 << 20  # bytes that are read at a time where lines are counted


def bounded_lines(file: BinaryIO, limit: int = LINE_BYTES) -> Iterator[bytes]:
    """Yields the lines of a file; of an over-long one only its beginning.

    Args:
        file: a binary file.
        limit: bytes of a line.

    Yields:
        lines with their ends, and `limit + 1` bytes without an end of a line
        that has more: see `is_over_long`.
    """
    for line in _pieces(file, limit):
        if is_over_long(line, limit):
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
        yield line
        begin += len(line)
        # Not before: who refuses such a line needn't wait for its end.
        if is_over_long(line, limit):
            begin += _skip_line(file)


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


def _pieces(file, limit) -> Iterator[bytes]:
    """Lines, or parts of `limit + 1` bytes of a line that has more."""
    return iter(functools.partial(file.readline, limit + 1), b"")


def _skip_line(file) -> int:
    """Reads to the end of a line; the number of bytes."""
    size = 0
    while part := file.readline(_SKIPPED):
        size += len(part)
        if part.endswith(b"\n"):
            break
    return size
