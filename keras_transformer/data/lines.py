"""Lines of files of text, plain or packed, which may have one without end.

A line that has more bytes than a limit is read past in parts and never held:
what is read of a damaged file or a gzip bomb stays in bounded memory.
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

LINE_BYTES = 1 << 20  # of a line, its end not counted
_SKIPPED = 1 << 16  # bytes of an over-long line that are read at a time
_COUNTED = 1 << 20  # bytes that are read at a time where lines are counted
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# How packed files begin, by the endings of their names.
PACKED = {".gz": b"\x1f\x8b", ".xz": b"\xfd7zXZ"}
DAMAGED = (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError)
# How files begin that can't be read, and aren't UTF-8.
_OTHER_MAGIC = {
    b"BZh": "bzip2",
    b"PK\x03\x04": "zip",
    b"\x28\xb5\x2f\xfd": "zstd",
}


@contextlib.contextmanager
def open_bytes(path: str | os.PathLike) -> Iterator[BinaryIO]:
    """A readable binary file; packed ones are known by name or first bytes."""
    with _opened(path) as raw, unpacked(raw, path) as file:
        yield file


@contextlib.contextmanager
def unpacked(raw: Any, path: str | os.PathLike) -> Iterator[BinaryIO]:
    """What an open binary file has, see `open_bytes`."""
    packed = _packing(raw, path)
    if packed is None:
        yield raw
    else:
        unpack: Any = gzip.open if packed == ".gz" else lzma.open
        with unpack(raw, "rb") as file:
            try:
                yield file
            except EOFError as error:
                if packed == ".xz":  # As of gzip, but for its class.
                    raise lzma.LZMAError(str(error)) from None
                raise


def is_packed(path: str | os.PathLike) -> bool:
    """True if `open_bytes` unpacks a file. Raises as it does."""
    with _opened(path) as raw:
        return _packing(raw, path) is not None


def _opened(path):
    return path.open() if isinstance(path, RemotePath) else open_file(path)


def _packing(raw, path):
    """The ending of names of files that are packed so; None: it isn't."""
    head, name = raw.peek(8), os.fspath(path)
    for suffix, magic in PACKED.items():
        if head.startswith(magic):
            return suffix
    return next(filter(name.endswith, PACKED), None)


@dataclasses.dataclass
class Reading:
    """The progress of reading: the number of the last line."""

    line: int = 0


@contextlib.contextmanager
def read_errors(path: str | os.PathLike) -> Iterator[Reading]:
    """Words the errors of reading a file of a corpus.

    Yields:
        whose `line` is to be kept up by the reader.

    Raises:
        InputError: the file can't be read, or is a damaged packed file.
    """
    reading = Reading()
    try:
        yield reading
    except DAMAGED as error:
        where = f"{path}, after line {reading.line}"
        raise InputError(f"{where}: {damage(error, path)}") from None
    except OSError as error:
        problem = error.strerror or str(error)
        if isinstance(error, IsADirectoryError):
            problem = "is a folder. Accepted: a text file, plain, gzip or xz"
        raise InputError(f"{path}: {problem}") from None


def damage(error: Exception, path: str | os.PathLike) -> str:
    """What is wrong with a packed file, by one of `DAMAGED`."""
    is_xz = os.fspath(path).endswith(".xz") or isinstance(error, lzma.LZMAError)
    return f"damaged {'xz' if is_xz else 'gzip'} file ({error})"


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


def short_lines(
    lines: Iterable[bytes], path: str | os.PathLike, limit: int = LINE_BYTES
) -> Iterator[bytes]:
    """Yields lines of `bounded_lines`.

    Raises:
        InputError: one is over-long; the message has its number and `path`.
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


def as_text(line: bytes, path: str | os.PathLike, number: int) -> str:
    """A line as text, with its end.

    Args:
        line: of a file.
        path: of the file, for an error's message.
        number: of the line.

    Raises:
        InputError: it isn't UTF-8, or has NUL bytes: UTF-16 of Latin or
            Cyrillic letters is valid UTF-8 otherwise.
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
    """Refuses a file whose one line has CR in it, where lines should end.

    Raises:
        InputError: it has.
    """
    if b"\r" in only_line.rstrip(b"\r\n"):
        raise InputError(
            f"{path}: one line, with CR in it. Accepted: lines that end with "
            "LF or CR LF"
        )


def decoded_lines(
    file: Iterable[bytes], name: str, first: int | None = None
) -> Iterator[str]:
    """Yields lines as text, their ends included; over-long ones cut.

    What is beyond `LINE_BYTES` is far beyond any model's positions.

    Args:
        file: lines, as `bounded_lines` yields them.
        name: the file's, for an error's message.
        first: number of the first line of a part; None: a whole file is
            read.

    Raises:
        InputError: a line isn't text, see `as_text`, the only line has CR
            where lines should end, or a packed file is damaged.
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
