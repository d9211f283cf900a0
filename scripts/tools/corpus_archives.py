"""Reads sentence pairs out of a zip that nobody has looked into yet."""

import contextlib
import io
import itertools
import re
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TextIO

from scripts.tools.corpus_sites import Layout
from scripts.tools.resumable_download import DownloadError

# A sentence is short; a "line" beyond this is no text.
LONGEST_LINE = 1 << 20
LONGEST_LICENCE_BYTES = 1 << 16
# What would break the TSV or a line of it: controls and line separators.
_BREAKING = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_LICENCE_NAME = re.compile(r"(?i)_?(licen[cs]e|readme|about|copying)(\.\w+)?")


class DamagedArchiveError(Exception):
    """The archive is not what it should be; the message says how."""


@dataclass
class Counts:
    """Pairs written, and lines that are no pair."""

    written: int = 0
    skipped: int = 0


@contextlib.contextmanager
def open_archive(path: Path, max_gigabytes: float) -> Iterator[zipfile.ZipFile]:
    """Opens a zip after a look at its table of contents.

    Raises:
        DamagedArchiveError: if it is no zip, or a name leads out of it; also
            while it is read, if its content is damaged.
        DownloadError: if it says that it unpacks to more than
            `max_gigabytes`.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            _check_contents(archive, max_gigabytes)
            yield archive
    # zipfile raises RuntimeError for encryption, and NotImplementedError for
    # a compression it doesn't know.
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        RuntimeError,
    ) as error:
        raise DamagedArchiveError(f"the zip is damaged ({error})") from error


def _check_contents(archive: zipfile.ZipFile, max_gigabytes: float) -> None:
    # Nothing is unpacked to disk, so such a name could do no harm here; an
    # archive that has one is still not the one that was asked for.
    for member in archive.infolist():
        name = PurePosixPath(member.filename.replace("\\", "/"))
        if name.is_absolute() or ".." in name.parts or ":" in str(name)[:2]:
            raise DamagedArchiveError(
                f"the zip has a file outside of itself ('{member.filename}')"
            )
    gigabytes = sum(member.file_size for member in archive.infolist()) / 1e9
    if gigabytes > max_gigabytes:
        raise DownloadError(
            f"{archive.filename} unpacks to {gigabytes:.3g} GB, more than the "
            f"{max_gigabytes:g} GB of --max-gigabytes; raise it if you trust "
            "the archive"
        )


def write_pairs(
    archive: zipfile.ZipFile, layout: Layout, output: TextIO
) -> Counts:
    """Writes `source TAB target TAB attribution` lines; returns the counts."""
    counts = Counts()
    if layout.source_member == layout.target_member:
        rows = _columns(archive, layout)
    else:
        rows = _line_by_line(archive, layout)
    for row in rows:
        source, target, attribution = (_clean(text) for text in row)
        if source and target and "\ufffd" not in source + target:
            output.write(f"{source}\t{target}\t{attribution}\n")
            counts.written += 1
        else:
            counts.skipped += 1
    return counts


def licence_texts(archive: zipfile.ZipFile) -> dict[str, str]:
    """Returns the files that speak about terms, by name."""
    texts = {}
    for member in archive.infolist():
        name = PurePosixPath(member.filename).name
        if _LICENCE_NAME.fullmatch(name):
            with archive.open(member) as file:
                content = file.read(LONGEST_LICENCE_BYTES)
            texts[name] = content.decode("utf-8", "replace").strip()
    return texts


def _columns(archive, layout: Layout) -> Iterator[tuple[str, str, str]]:
    """Both sides on one line, tab between them; further columns joined."""
    for line in _lines(archive, layout.source_member):
        first, _, rest = line.partition("\t")
        second, _, attribution = rest.partition("\t")
        if layout.is_swapped:
            first, second = second, first
        yield first, second, attribution or layout.attribution


def _line_by_line(archive, layout: Layout) -> Iterator[tuple[str, str, str]]:
    """A file per side; line n of the one belongs to line n of the other."""
    pairs = itertools.zip_longest(
        _lines(archive, layout.source_member),
        _lines(archive, layout.target_member),
    )
    for number, (source, target) in enumerate(pairs, start=1):
        if source is None or target is None:
            shorter = layout.source_member
            if target is None:
                shorter = layout.target_member
            raise DamagedArchiveError(
                f"'{shorter}' in the zip has only {number - 1} lines, fewer "
                "than the other side"
            )
        yield source, target, layout.attribution


def _lines(archive: zipfile.ZipFile, name: str) -> Iterator[str]:
    """The lines of a member; bytes that are no UTF-8 become U+FFFD."""
    try:
        member = archive.open(name)
    except KeyError:
        present = ", ".join(archive.namelist()[:8]) or "nothing"
        raise DamagedArchiveError(
            f"the zip has no '{name}' (it has {present})"
        ) from None
    with (
        member,
        io.TextIOWrapper(
            member, encoding="utf-8-sig", errors="replace", newline="\n"
        ) as text,
    ):
        for number in itertools.count(1):
            line = text.readline(LONGEST_LINE)
            if not line:
                return
            if len(line) == LONGEST_LINE:
                raise DamagedArchiveError(
                    f"line {number} of '{name}' in the zip is longer than "
                    f"{LONGEST_LINE} characters"
                )
            yield line.removesuffix("\n")


def _clean(text: str) -> str:
    return _BREAKING.sub(" ", text).strip()
