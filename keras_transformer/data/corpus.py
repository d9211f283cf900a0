"""Corpus files: parallel text, TSV or pairs of files, plain or packed.

What has another format is read as lines of TSV, see `corpus_formats`.
"""

import contextlib
import dataclasses
import gzip
import lzma
import os
import pathlib
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO, NoReturn

from keras_transformer.data.corpus_formats import (
    Languages,
    as_table,
    corpus_format,
    languages_in,
)
from keras_transformer.errors import InputError
from keras_transformer.system.files import open_file
from keras_transformer.system.remote import RemotePath, any_path

Pair = tuple[str, str]  # source, target

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# How packed files begin, by the endings of their names.
_MAGIC = {".gz": b"\x1f\x8b", ".xz": b"\xfd7zXZ"}
DAMAGED = (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError)
# How files begin that can't be read, and aren't UTF-8.
_OTHER_MAGIC = {
    b"BZh": "bzip2",
    b"PK\x03\x04": "zip",
    b"\x28\xb5\x2f\xfd": "zstd",
}
ACCEPTED_LINE = "source<TAB>target, further columns are ignored"


@dataclasses.dataclass(frozen=True)
class CorpusFile:
    """One part of a corpus: a TSV file, or two files read line by line.

    Each file may be compressed with gzip or xz, may start with a UTF-8 byte
    order mark and may end its lines with CR LF. In place of the TSV file there
    may be one of a `corpus_format`.
    """

    source: pathlib.Path | RemotePath  # the TSV file without `target`
    target: pathlib.Path | RemotePath | None = None
    # of a format that has many; None: as the file says
    languages: Languages | None = None

    @classmethod
    def parse(cls, spec: "CorpusSpec") -> "CorpusFile":
        """The corpus file that a person names.

        Args:
            spec: a path of one file; `"SOURCE,TARGET"` or a tuple of two
                paths for two files; or a `CorpusFile`. A file whose own name
                has a comma is taken for a TSV file. Paths may be addresses,
                see `remote`.

        Raises:
            InputError: more or fewer than two files are named.
        """
        if isinstance(spec, CorpusFile):
            return spec
        if isinstance(spec, tuple):
            names = [os.fspath(part) for part in spec]
        else:
            name = os.fspath(spec)
            if "," not in name or os.path.exists(name):
                return cls(any_path(name))
            names = name.split(",")
        if len(names) != 2 or not all(names):
            raise InputError(
                f"{','.join(names)}: expected FILE.tsv or SOURCE,TARGET"
            )
        source, target = map(any_path, names)
        return cls(source, target)

    @property
    def paths(self) -> list[pathlib.Path | RemotePath]:
        """The one or two files on disk."""
        second = [] if self.target is None else [self.target]
        return [self.source, *second]

    @property
    def format(self) -> str | None:
        """See `corpus_format`."""
        return None if self.target else corpus_format(self.source)

    @contextlib.contextmanager
    def opened(self, path: pathlib.Path | RemotePath) -> Iterator[BinaryIO]:
        """One of `paths`, as a readable binary file of lines of text."""
        with open_bytes(path) as file:
            if self.format:
                yield as_table(file, path, self.languages)
            else:
                yield file

    def said_languages(self) -> tuple[str | None, str | None]:
        """The languages that the file itself says, None where it doesn't."""
        if not self.format:
            return None, None
        with read_errors(self.source), open_bytes(self.source) as file:
            return languages_in(file, self.source)

    def __str__(self) -> str:
        return ",".join(str(path) for path in self.paths)


CorpusSpec = str | os.PathLike | tuple | CorpusFile


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
        raise InputError(f"{path}: {unreadable(error)}") from None


def damage(error: Exception, path: str | os.PathLike) -> str:
    """What is wrong with a packed file, by one of `DAMAGED`."""
    is_xz = os.fspath(path).endswith(".xz") or isinstance(error, lzma.LZMAError)
    return f"damaged {'xz' if is_xz else 'gzip'} file ({error})"


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


def unreadable(error: OSError) -> str:
    """Why a file of a corpus can't be read, for an error message."""
    if isinstance(error, IsADirectoryError):
        return "is a folder. Accepted: a text file, plain, gzip or xz"
    return error.strerror or str(error)


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
    for suffix, magic in _MAGIC.items():
        if head.startswith(magic):
            return suffix
    return next(filter(name.endswith, _MAGIC), None)


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


def pair_of_columns(line: str, where: str) -> Pair:
    """The first two columns of a line of TSV; of a blank line two texts "".

    A CR in a column is part of its text.

    Raises:
        InputError: there is one column, or a CR with columns on both sides,
            which may be two rows; the message has `where`.
    """
    if "\r" in line and sum("\t" in row for row in line.split("\r")) > 1:
        raise InputError(
            f"{where}: CR between two rows. Accepted: lines that end with LF "
            "or CR LF"
        )
    columns = line.split("\t", 2)
    if len(columns) > 1:
        return columns[0], columns[1]
    if not line.strip():
        return "", ""
    raise InputError(f"{where}: one column. Accepted: {ACCEPTED_LINE}")


def refuse_unequal_files(
    file: CorpusFile, sources: int, targets: int
) -> NoReturn:
    """Refuses two files of so many lines.

    Raises:
        InputError: always.
    """
    raise InputError(
        f"{file.source} has {sources} lines and {file.target} has {targets}. "
        "Accepted: two files of equal length"
    )
