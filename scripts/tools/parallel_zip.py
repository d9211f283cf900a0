"""Sentence pairs out of a downloaded zip, which may hold anything."""

import contextlib
import io
import itertools
import re
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from keras_transformer.errors import InputError

# A sentence is short; a "line" beyond this is no text.
_LONGEST_LINE = 1 << 20
_LONGEST_LICENCE_BYTES = 1 << 16
# What would break the TSV or a line of it: controls and line separators.
_BREAKING = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_LICENCE_NAME = re.compile(r"(?i)_?(licen[cs]e|readme|about|copying)(\.\w+)?")


class DamagedZipError(Exception):
    """The zip is not what it should be; the message says how."""


@dataclass(frozen=True)
class Layout:
    """How the pairs lie in a zip.

    Attributes:
        source_member: the file with the source sentences.
        target_member: the file with the target sentences; the same file if
            both stand on one line, tab between them.
        is_swapped: in one file, the target stands before the source.
        attribution: the third column, where the zip has none.
    """

    source_member: str
    target_member: str
    is_swapped: bool = False
    attribution: str = ""


@contextlib.contextmanager
def open_zip(path: Path, max_gigabytes: float) -> Iterator[zipfile.ZipFile]:
    """Opens a zip after a look at its table of contents.

    Raises:
        DamagedZipError: it is no zip, or a name leads out of it; also while
            it is read, if its content is damaged.
        InputError: it says that it unpacks to more than `max_gigabytes`.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            _check_contents(archive, max_gigabytes)
            yield archive
    # zipfile raises RuntimeError for encryption, and its subclass
    # NotImplementedError for a compression it doesn't know.
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
        raise DamagedZipError(f"the zip is damaged ({error})") from error


def _check_contents(archive, max_gigabytes):
    # Nothing is unpacked to disk, so such a name could do no harm here; a
    # zip that has one is still not the one that was asked for.
    for member in archive.infolist():
        name = PurePosixPath(member.filename.replace("\\", "/"))
        if name.is_absolute() or ".." in name.parts or ":" in str(name)[:2]:
            raise DamagedZipError(
                f"the zip has a file outside of itself ('{member.filename}')"
            )
    gigabytes = sum(member.file_size for member in archive.infolist()) / 1e9
    if gigabytes > max_gigabytes:
        raise InputError(
            f"{archive.filename} unpacks to {gigabytes:.3g} GB, more than the "
            f"{max_gigabytes:g} GB of --max-gigabytes; raise it if you trust "
            "the archive"
        )


def read_rows(
    archive: zipfile.ZipFile, layout: Layout
) -> Iterator[tuple[str, str, str] | None]:
    """Source, target and attribution of each line; None for what is no pair.

    Raises:
        DamagedZipError: a file is missing, or shorter than the other side.
    """
    read = _pairs_by_file
    if layout.source_member == layout.target_member:
        read = _pairs_by_line
    for row in read(archive, layout):
        row = tuple(_BREAKING.sub(" ", text).strip() for text in row)
        is_pair = row[0] and row[1] and "\ufffd" not in row[0] + row[1]
        yield row if is_pair else None


def licence_texts(archive: zipfile.ZipFile) -> dict[str, str]:
    """The files that speak about terms, by name."""
    texts = {}
    for member in archive.infolist():
        name = PurePosixPath(member.filename).name
        if _LICENCE_NAME.fullmatch(name):
            with archive.open(member) as file:
                content = file.read(_LONGEST_LICENCE_BYTES)
            texts[name] = content.decode("utf-8", "replace").strip()
    return texts


def _pairs_by_line(archive, layout):
    """Both sides on one line, tab between them; further columns joined."""
    for line in _lines(archive, layout.source_member):
        first, _, rest = line.partition("\t")
        second, _, attribution = rest.partition("\t")
        if layout.is_swapped:
            first, second = second, first
        yield first, second, attribution or layout.attribution


def _pairs_by_file(archive, layout):
    """A file per side; line n of the one belongs to line n of the other."""
    names = layout.source_member, layout.target_member
    lines = itertools.zip_longest(*(_lines(archive, name) for name in names))
    for number, pair in enumerate(lines):
        if None in pair:
            raise DamagedZipError(
                f"'{names[pair.index(None)]}' in the zip has only {number} "
                "lines, fewer than the other side"
            )
        yield *pair, layout.attribution


def _lines(archive, name) -> Iterator[str]:
    """The lines of a member; bytes that are no UTF-8 become U+FFFD."""
    try:
        member = archive.open(name)
    except KeyError:
        present = ", ".join(archive.namelist()[:8]) or "nothing"
        raise DamagedZipError(
            f"the zip has no '{name}' (it has {present})"
        ) from None
    options = {"encoding": "utf-8-sig", "errors": "replace", "newline": "\n"}
    with member, io.TextIOWrapper(member, **options) as text:
        for number in itertools.count(1):
            line = text.readline(_LONGEST_LINE)
            if not line:
                return
            if len(line) == _LONGEST_LINE:
                raise DamagedZipError(
                    f"line {number} of '{name}' in the zip is longer than "
                    f"{_LONGEST_LINE} characters"
                )
            yield line.removesuffix("\n")
