"""Readers of lines from text files, plain or compressed, in bounded memory.

The rest of a line beyond a limit is skipped in parts and never held in memory,
so that damaged files and gzip bombs can be read safely.
"""

import contextlib
import dataclasses
import functools
import gzip
import itertools
import lzma
import os
import zlib
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from keras_transformer.errors import InputError
from keras_transformer.system.files import open_file
from keras_transformer.system.remote import RemotePath

LINE_BYTES = 1 << 20  # maximum length of a line without its end
_SKIPPED = 1 << 16  # bytes of an over-long line that are read at a time
_COUNTED = 1 << 20  # bytes that are read at a time to count lines
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# Magic numbers of compressed files, by suffix.
PACKED = {".gz": b"\x1f\x8b", ".xz": b"\xfd7zXZ"}
DAMAGED = (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError)
# Magic numbers of files that aren't supported, for error messages.
_OTHER_MAGIC = {
    b"BZh": "bzip2",
    b"PK\x03\x04": "zip",
    b"\x28\xb5\x2f\xfd": "zstd",
}


@contextlib.contextmanager
def open_bytes(path: str | os.PathLike) -> Iterator[BinaryIO]:
    """Opens a binary file, and decompresses it by its name or first bytes."""
    with _opened(path) as raw, unpacked(raw, path) as file:
        yield file


@contextlib.contextmanager
def unpacked(raw: Any, path: str | os.PathLike) -> Iterator[BinaryIO]:
    """Decompresses an open binary file, see `open_bytes`."""
    packed = _packing(raw, path)
    if packed is None:
        yield raw
    else:
        unpack: Any = gzip.open if packed == ".gz" else lzma.open
        with unpack(raw, "rb") as file:
            try:
                yield file
            except EOFError as error:
                if packed == ".xz":  # So that it differs from gzip's error.
                    raise lzma.LZMAError(str(error)) from None
                raise


def is_packed(path: str | os.PathLike) -> bool:
    """True if `open_bytes` decompresses a file. Raises the same errors."""
    with _opened(path) as raw:
        return _packing(raw, path) is not None


def _opened(path):
    return path.open() if isinstance(path, RemotePath) else open_file(path)


def _packing(raw, path):
    """The suffix of a file's compression format; None: not compressed."""
    head, name = raw.peek(8), os.fspath(path)
    for suffix, magic in PACKED.items():
        if head.startswith(magic):
            return suffix
    return next(filter(name.endswith, PACKED), None)


@dataclasses.dataclass
class Reading:
    """The progress of reading: the number of the last line read."""

    line: int = 0


@contextlib.contextmanager
def read_errors(path: str | os.PathLike) -> Iterator[Reading]:
    """Turns errors of reading a corpus file into an `InputError`.

    Yields:
        a `Reading`, whose `line` the reader should update.

    Raises:
        InputError: the file can't be read, or is a damaged compressed file.
    """
    reading = Reading()
    try:
        yield reading
    except DAMAGED as error:
        # Lines are counted by blocks: 0 says nothing.
        where = (reading.line and f", after line {reading.line}") or ""
        raise InputError(f"{path}{where}: {damage(error, path)}") from None
    except OSError as error:
        problem = error.strerror or str(error)
        if isinstance(error, IsADirectoryError):
            problem = "is a folder. Accepted: a text file, plain, gzip or xz"
        raise InputError(f"{path}: {problem}") from None


def damage(error: Exception, path: str | os.PathLike) -> str:
    """Describes the damage of a compressed file, from an error of `DAMAGED`."""
    is_xz = os.fspath(path).endswith(".xz") or isinstance(error, lzma.LZMAError)
    return f"damaged {'xz' if is_xz else 'gzip'} file ({error})"


def bounded_lines(file: BinaryIO, limit: int = LINE_BYTES) -> Iterator[bytes]:
    """Yields the lines of a file, and only the beginning of an over-long one.

    Args:
        file: a binary file.
        limit: maximum bytes of a line.

    Yields:
        lines with their ends; for an over-long line its first `limit + 1`
        bytes, without a line end, see `is_over_long`.
    """
    for line in _pieces(file, limit):
        if is_over_long(line, limit):
            _skip_line(file)
        yield line


def is_over_long(line: bytes, limit: int = LINE_BYTES) -> bool:
    """True for the beginning of an over-long line of `bounded_lines`."""
    return len(line) > limit and not line.endswith(b"\n")


def shortened(line: bytes, limit: int = LINE_BYTES) -> bytes:
    """Cuts an over-long line of `bounded_lines` at a character boundary."""
    if not is_over_long(line, limit):
        return line
    end = limit
    while end and line[end] & 0xC0 == 0x80:  # within a UTF-8 character
        end -= 1
    return line[:end] + b"\n"


def short_lines(
    lines: Iterable[bytes], path: str | os.PathLike, limit: int = LINE_BYTES
) -> Iterator[bytes]:
    """Yields lines of `bounded_lines`, but refuses over-long ones.

    Raises:
        InputError: a line is over-long; the message has its number and `path`.
    """
    for number, line in enumerate(lines, start=1):
        if is_over_long(line, limit):
            raise InputError(
                f"{path}, line {number}: more than {limit:,} bytes. "
                "Accepted: shorter lines"
            )
        yield line


def lines_of_block(
    file: BinaryIO, begin: int, end: int | None, limit: int
) -> Iterator[bytes]:
    """Yields the lines that begin in a part of a file.

    Args:
        file: a binary file, at its beginning.
        begin: the part's first byte.
        end: the byte after the part; None: the end of the file.
        limit: maximum bytes of a line.

    Yields:
        see `bounded_lines`.
    """
    if begin:
        # A line may begin exactly here, if the byte before is a line end.
        file.seek(begin - 1)
        begin += _skip_line(file) - 1
    for line in _pieces(file, limit):
        if end is not None and begin >= end:
            return
        yield line
        begin += len(line)
        # After the yield: a caller that refuses over-long lines needn't wait.
        if is_over_long(line, limit):
            begin += _skip_line(file)


def count_lines_of_block(file: BinaryIO, begin: int, end: int | None) -> int:
    """Counts the lines that begin in a part of a file; see `lines_of_block`."""
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
    """Yields lines, and parts of `limit + 1` bytes of longer lines."""
    return iter(functools.partial(file.readline, limit + 1), b"")


def _skip_line(file) -> int:
    """Skips to the end of a line, and returns the number of bytes."""
    size = 0
    while part := file.readline(_SKIPPED):
        size += len(part)
        if part.endswith(b"\n"):
            break
    return size


def as_text(line: bytes, path: str | os.PathLike, number: int) -> str:
    """Decodes a line, including its end.

    Args:
        line: of a file.
        path: of the file, for an error's message.
        number: of the line.

    Raises:
        InputError: the line isn't UTF-8, or has NUL bytes, without which
            UTF-16 of Latin or Cyrillic letters could pass as UTF-8.
    """
    where = f"{path}, line {number}"
    problem = f"{where}: NUL bytes, as UTF-16 has"
    try:
        text = line.decode("utf-8")
        if "\0" not in text:
            return text
    except UnicodeDecodeError as error:
        if b"\0" not in line:
            problem = (
                f"{where}: invalid UTF-8 (byte 0x{line[error.start]:02x} at "
                f"position {error.start + 1})"
            )
    for magic, kind in _OTHER_MAGIC.items():
        if number == 1 and line.startswith(magic):
            problem = f"{path}: compressed as {kind}"
    raise InputError(f"{problem}. Accepted: text in UTF-8, plain, gzip or xz")


def refuse_old_line_ends(only_line: bytes, path: str | os.PathLike) -> None:
    """Refuses a file with a single line if it contains CR, an old line end.

    Raises:
        InputError: there is a CR within the line.
    """
    if b"\r" in only_line.rstrip(b"\r\n"):
        raise InputError(
            f"{path}: one line, with CR in it. Accepted: lines that end with "
            "LF or CR LF"
        )


def decoded_lines(
    file: Iterable[bytes], name: str, first: int | None = None
) -> Iterator[str]:
    """Yields lines as text, including their ends; over-long lines are cut.

    `LINE_BYTES` is far more than the positions of any model.

    Args:
        file: lines, as `bounded_lines` yields them.
        name: name of the file, for an error's message.
        first: number of the first line if only a part is read; None: the
            whole file is read.

    Raises:
        InputError: a line isn't text, see `as_text`; a single line contains CR,
            see `refuse_old_line_ends`; or a compressed file is damaged.
    """
    lines, last = iter(file), b""
    for number in itertools.count(first or 1):
        try:
            line = next(lines, None)
        except DAMAGED as error:
            where = f"{name}, line {number}"
            raise InputError(f"{where}: {damage(error, name)}") from None
        if line is None:
            if first is None and number == 2:
                refuse_old_line_ends(last, name)
            return
        last = line
        line = shortened(line)
        if number == 1:
            line = line.removeprefix(BYTE_ORDER_MARK)
        yield as_text(line, name, number)
