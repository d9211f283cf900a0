"""Corpora: parallel text in files, read in pairs, or in blocks of about 4 MB.

One process reads files, plain or compressed, and hands blocks to the workers
that split them into pairs; on a cluster, each worker reads parts of files.
Other formats than TSV and two plain files are converted to lines of TSV, see
`corpus_formats`.
"""

import contextlib
import dataclasses
import itertools
import os
import pathlib
from collections.abc import Iterable, Iterator
from typing import BinaryIO, NamedTuple, NoReturn

from keras_transformer.data.corpus_formats import (
    Languages,
    as_table,
    corpus_format,
    languages_in,
)
from keras_transformer.data.lines import (
    BYTE_ORDER_MARK,
    LINE_BYTES,
    PACKED,
    as_text,
    is_over_long,
    lines_of_block,
    open_bytes,
    read_errors,
    refuse_old_line_ends,
    short_lines,
)
from keras_transformer.errors import InputError, shown
from keras_transformer.system.remote import RemotePath, any_path, size_of

Pair = tuple[str, str]  # source, target

BLOCK_BYTES = 4 << 20
_HELD_BYTES = 1 << 16  # of a block, if pairs are read one after the other


@dataclasses.dataclass(frozen=True)
class CorpusFile:
    """One part of a corpus: a TSV file, or two files read line by line.

    Each file may be compressed with gzip or xz, may start with a UTF-8 byte
    order mark and may end its lines with CR LF. The TSV file may also be a file
    of a `corpus_format`.
    """

    source: pathlib.Path | RemotePath  # the TSV file if `target` is None
    target: pathlib.Path | RemotePath | None = None
    # for formats with many languages; None: as the file declares
    languages: Languages | None = None

    @classmethod
    def parse(cls, spec: "CorpusSpec") -> "CorpusFile":
        """Parses a user's specification of a corpus file.

        Args:
            spec: a path of one file; `"SOURCE,TARGET"` or a tuple of two
                paths for two files; or a `CorpusFile`. An existing file whose
                name has a comma is taken for a TSV file. Paths may be
                addresses, see `remote`.

        Raises:
            InputError: a tuple, or a string with a comma, doesn't name two
                files.
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
        """Opens one of `paths` as a binary file of lines of text."""
        with open_bytes(path) as file:
            if self.format:
                yield as_table(file, path, self.languages)
            else:
                yield file

    def said_languages(self) -> tuple[str | None, str | None]:
        """The languages that the file declares; None for an undeclared one."""
        if not self.format:
            return None, None
        with read_errors(self.source), open_bytes(self.source) as file:
            return languages_in(file, self.source)

    def __str__(self) -> str:
        return ",".join(str(path) for path in self.paths)


CorpusSpec = str | os.PathLike | tuple | CorpusFile
# Arguments of `sentence_pairs`, where a tuple is a pair of sentences, so that
# two files must be given as one string.
_File = str | os.PathLike | CorpusFile
Pairs = _File | Iterable[_File] | Iterable[Pair]


class Block(NamedTuple):
    """Some lines of a corpus, undecoded.

    Attributes:
        corpus: the index of the file in the corpus.
        file: the file that the lines belong to.
        first_line: the number of the first line, from 1.
        source: lines of the TSV file, or of the file of sources.
        target: the corresponding lines of the other file; None for a TSV file.
        long: the indices of pairs with an over-long line, which was replaced by
            an empty one.
    """

    corpus: int
    file: CorpusFile
    first_line: int
    source: bytes
    target: bytes | None = None
    long: tuple[int, ...] = ()

    def pairs(self) -> list[Pair]:
        """The pairs as written, without line ends.

        Raises:
            InputError: a line isn't UTF-8, or has only one column.
        """
        sources = self.sources()
        if self.target is not None:
            targets = self._lines(self.target, self.file.target)
            return list(zip(sources, targets, strict=True))
        return [
            _pair_of_columns(line, f"{self.file.source}, line {number}")
            for number, line in enumerate(sources, self.first_line)
        ]

    def sources(self) -> list[str]:
        """The lines of the TSV file or file of sources, without line ends."""
        return self._lines(self.source, self.file.source)

    def _lines(self, content, path):
        try:
            text = as_text(content, path, 0)
        except InputError:
            # Decodes each line, to name the invalid one.
            for number, line in enumerate(content.split(b"\n")):
                as_text(line, path, self.first_line + number)
            raise
        lines = text.split("\n")
        if not lines[-1]:
            lines.pop()  # The empty string after the last line end.
        if b"\r" in content:
            return [line.removesuffix("\r") for line in lines]
        return lines


class Part(NamedTuple):
    """Some lines of a corpus that are read together.

    Attributes:
        corpus: the index of the file in the corpus.
        file: the corpus file.
        line: the number of the first line, from 0.
        begin: offset in bytes from which the file of sources is read.
        end: offset before which the last line begins; None: the file's end.
        target: offset in bytes from which the other file is read.
        skipped: lines that are skipped in the other file.
    """

    corpus: int
    file: CorpusFile
    line: int = 0
    begin: int = 0
    end: int | None = None
    target: int = 0
    skipped: int = 0


def read_blocks(
    files: Iterable[CorpusFile], size: int = BLOCK_BYTES
) -> Iterator[Block]:
    """Yields the files' lines in blocks, in order.

    Args:
        files: of the corpus.
        size: minimum bytes of source text in a block, except for the last.

    Raises:
        InputError: a file can't be read or is damaged, or two files differ in
            length.
    """
    for corpus, file in enumerate(files):
        yield from read_part(Part(corpus, file), size)


def read_part(
    part: Part,
    size: int = BLOCK_BYTES,
    line_bytes: int = LINE_BYTES,
    refuse_long: bool = False,
) -> Iterator[Block]:
    """Yields the lines of a part in blocks.

    Args:
        part: of a corpus.
        size: see `read_blocks`.
        line_bytes: maximum bytes of a line; longer ones are emptied.
        refuse_long: whether longer lines are refused instead.

    Raises:
        InputError: see `read_blocks`, or a line is refused.
    """
    _, file, number, begin, end, target, skipped = part
    ends = [(begin, end), (target, None)]
    with contextlib.ExitStack() as stack:
        readings, sides = [], []
        for path, (first, last) in zip(file.paths, ends, strict=False):
            readings.append(stack.enter_context(read_errors(path)))
            opened = stack.enter_context(file.opened(path))
            side = lines_of_block(opened, first, last, line_bytes)
            if refuse_long:
                side = short_lines(side, path, line_bytes)
            sides.append(side)
        sources, *others = sides
        for other in others:
            next(itertools.islice(other, skipped, skipped), None)
        for lines in _some(sources, size):
            count = number + len(lines)
            some = [lines]
            for other in others:
                some.append(list(itertools.islice(other, len(lines))))
                if len(some[-1]) < len(lines):
                    count += sum(1 for _ in sources)
                    refuse_unequal_files(file, count, number + len(some[-1]))
            if number == 0:
                for each in some:
                    if not is_over_long(each[0], line_bytes):
                        # A line of only the mark is an empty line.
                        each[0] = each[0].removeprefix(BYTE_ORDER_MARK) or b"\n"
            yield _block(part, number, some, line_bytes)
            number = count
            for reading in readings:
                reading.line = number
        if end is None:
            for other in others:
                if rest := sum(1 for _ in other):
                    refuse_unequal_files(file, number, number + rest)
            if number == 1:
                for path, (line,) in zip(file.paths, some, strict=True):
                    refuse_old_line_ends(line, path)


def _some(lines, size):
    """Yields lists of lines with at least `size` bytes each."""
    part, read = [], 0
    for line in lines:
        part.append(line)
        read += len(line)
        if read >= size:
            yield part
            part, read = [], 0
    if part:
        yield part


def _block(part, number, sides, limit):
    """Builds a block of lines of one or two files; empties over-long lines."""
    long: set[int] = set()
    for lines in sides:
        if max(map(len, lines)) > limit:
            for n, line in enumerate(lines):
                if is_over_long(line, limit):
                    lines[n] = b"\n"
                    long.add(n)
    contents = [b"".join(lines) for lines in sides]
    target = contents[1] if len(contents) > 1 else None
    long_lines = tuple(sorted(long))
    return Block(
        part.corpus, part.file, number + 1, contents[0], target, long_lines
    )


def _pair_of_columns(line: str, where: str) -> Pair:
    """The first two columns of a line of TSV; ("", "") for a blank line.

    A CR in a column is part of its text.

    Raises:
        InputError: there is only one column, or a CR with columns on both
            sides, which may separate two rows; the message has `where`.
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
    raise InputError(
        f"{where}: one column. Accepted: "
        "source<TAB>target, further columns are ignored"
    )


def refuse_unequal_files(
    file: CorpusFile, sources: int, targets: int
) -> NoReturn:
    """Refuses two files with different numbers of lines.

    Raises:
        InputError: always.
    """
    raise InputError(
        f"{file.source} has {sources} lines and {file.target} has {targets}. "
        "Accepted: two files of equal length"
    )


def corpus_bytes(files: Iterable[CorpusFile]) -> int:
    """Estimates the bytes of text in the files when decompressed."""
    paths = [path for file in files for path in file.paths]
    return sum(
        size_of(path) * (4 if path.suffix in PACKED else 1) for path in paths
    )


def file_pairs(
    file: CorpusFile,
    line_bytes: int = LINE_BYTES,
    long: list[int] | None = None,
) -> Iterator[Pair]:
    """Yields (source, target) as written, without line ends.

    A blank line of a TSV file gives a pair of empty strings.

    Args:
        file: of a corpus.
        line_bytes: maximum bytes of a line; longer ones are over-long.
        long: receives the numbers of pairs with over-long lines, which are
            replaced by empty ones; None: over-long lines are refused.

    Raises:
        InputError: a file can't be read, is damaged, isn't UTF-8, has a line
            of one column or an over-long one, or the two files differ in
            length.
    """
    part, refuse = Part(0, file), long is None
    for block in read_part(part, _HELD_BYTES, line_bytes, refuse):
        if long is not None:
            long.extend(block.first_line + n for n in block.long)
        yield from block.pairs()


def read_lines(path: str | os.PathLike) -> Iterator[str]:
    """Yields the lines of a file of one language. Raises as `file_pairs`."""
    part = Part(0, CorpusFile(pathlib.Path(path)))
    for block in read_part(part, _HELD_BYTES, refuse_long=True):
        yield from block.sources()


def read_pairs(
    specs: Iterable[CorpusSpec],
    line_bytes: int = LINE_BYTES,
    languages: Languages | None = None,
) -> Iterator[Pair]:
    """Yields the (source, target) pairs of several corpus files, in order.

    Args:
        specs: the files.
        line_bytes: maximum bytes of a line.
        languages: see `CorpusFile.languages`.

    Raises:
        InputError: see `CorpusFile.parse` and `file_pairs`.
    """
    files = [
        dataclasses.replace(CorpusFile.parse(spec), languages=languages)
        for spec in specs
    ]
    return itertools.chain.from_iterable(
        file_pairs(file, line_bytes) for file in files
    )


def sentence_pairs(
    given: Pairs, most: int | None = None, languages: Languages | None = None
) -> list[Pair]:
    """A list of sentence pairs, given as pairs or as files.

    Args:
        given: (source, target) pairs of strings; or one or more corpus files,
            each a path of a TSV file or `"SOURCE,TARGET"`.
        most: maximum number of pairs; None: no limit.
        languages: see `CorpusFile.languages`.

    Raises:
        InputError: a file can't be read, an item isn't a pair of strings, or
            there are more than `most` pairs.
    """
    is_file = isinstance(given, _File)
    several: list = [given] if is_file else list(_at_most(given, most, "pairs"))
    if all(isinstance(spec, _File) for spec in several):
        names = ", ".join(map(str, several))
        pairs = read_pairs(several, languages=languages)
        return list(_at_most(pairs, most, names))
    for pair in several:
        is_pair = isinstance(pair, tuple | list) and len(pair) == 2
        if not is_pair or not all(isinstance(text, str) for text in pair):
            raise InputError(
                f"{shown(pair)}: no pair of sentences. Accepted: "
                '("source", "target"), or files such as "dev.tsv"'
            )
        if all(map(os.path.isfile, pair)):
            raise InputError(
                f'{shown(pair)}: two files. Accepted: "{",".join(pair)}"'
            )
    return [(source, target) for source, target in several]


def _at_most(pairs, most, name):
    for number, pair in enumerate(pairs):
        if number == most:
            raise InputError(
                f"{name}: more than {most:,} pairs. Accepted: at most these, "
                "such as a random sample"
            )
        yield pair
