"""Blocks: splits a corpus into chunks of lines of about 4 MB.

One process reads files, plain or packed, and hands blocks to those that make
pairs of them; on a cluster, each worker reads parts of files.
"""

import contextlib
import itertools
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from keras_transformer.data.bounded_lines import (
    LINE_BYTES,
    is_over_long,
    lines_of_block,
)
from keras_transformer.data.corpus import (
    BYTE_ORDER_MARK,
    CorpusFile,
    Pair,
    as_text,
    pair_of_columns,
    read_errors,
    refuse_old_line_ends,
    refuse_unequal_files,
)
from keras_transformer.data.corpus_formats import PACKED
from keras_transformer.errors import InputError
from keras_transformer.system.remote import size_of

BLOCK_BYTES = 4 << 20


class Block(NamedTuple):
    """Some lines of a corpus, undecoded.

    Attributes:
        corpus: the index of the file in the corpus.
        file: what the lines are of.
        first_line: the number of the first one, from 1.
        source: lines of the TSV file, or of the file of sources.
        target: the lines of the other file that belong to them; None for a
            TSV file.
        long: the indices of pairs with a line that was over-long, of which
            an empty one is left.
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
            InputError: a line isn't UTF-8, or has one column.
        """
        sources = self.sources()
        if self.target is not None:
            targets = self._lines(self.target, self.file.target)
            return list(zip(sources, targets, strict=True))
        return [
            pair_of_columns(line, f"{self.file.source}, line {number}")
            for number, line in enumerate(sources, self.first_line)
        ]

    def sources(self) -> list[str]:
        """The lines of the TSV file, or of the file of sources, unended."""
        return self._lines(self.source, self.file.source)

    def _lines(self, content, path):
        try:
            text = as_text(content, path, 0)
        except InputError:
            # Line by line, to name the one that isn't.
            for number, line in enumerate(content.split(b"\n")):
                as_text(line, path, self.first_line + number)
            raise
        lines = text.split("\n")
        if not lines[-1]:
            lines.pop()  # After the last line's end.
        if b"\r" in content:
            return [line.removesuffix("\r") for line in lines]
        return lines


class Part(NamedTuple):
    """Some lines of a corpus that are read together.

    Attributes:
        corpus: its index.
        file: it.
        line: the number of the first line, from 0.
        begin: where the file of sources is read from, in bytes.
        end: before which the last line begins; None: the file's end.
        target: where the other file is read from, in bytes.
        skipped: lines that are passed over there.
    """

    corpus: int
    file: CorpusFile
    line: int = 0
    begin: int = 0
    end: int | None = None
    target: int = 0
    skipped: int = 0


def read_blocks(
    files: Iterable[CorpusFile],
    size: int = BLOCK_BYTES,
    line_bytes: int = LINE_BYTES,
) -> Iterator[Block]:
    """Yields the files' lines in blocks, in order.

    Args:
        files: of the corpus.
        size: bytes of source text in a block, at least, unless the file ends.
        line_bytes: of a line; those with more are emptied.

    Raises:
        InputError: a file can't be read or is damaged, or two files differ in
            length.
    """
    for corpus, file in enumerate(files):
        yield from read_part(Part(corpus, file), size, line_bytes)


def read_part(
    part: Part,
    size: int = BLOCK_BYTES,
    line_bytes: int = LINE_BYTES,
    refuse_long: bool = False,
) -> Iterator[Block]:
    """Yields the lines of a part in blocks.

    Args:
        part: of a corpus.
        size, line_bytes: see `read_blocks`.
        refuse_long: whether lines of more bytes are refused, not emptied.

    Raises:
        InputError: as `read_blocks`, or a line is refused.
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
                side = _not_long(side, path, line_bytes)
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
                        # The mark alone is an empty line.
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


def _not_long(lines, path, limit):
    """Yields lines; refuses one with more bytes, which may have no end."""
    for number, line in enumerate(lines, start=1):
        if is_over_long(line, limit):
            raise InputError(
                f"{path}, line {number}: more than {limit:,} bytes. "
                "Accepted: shorter lines"
            )
        yield line


def _some(lines, size):
    """Yields lists of lines, of so many bytes or somewhat more."""
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
    """A block of the lines of one file or two; over-long ones are emptied."""
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


def corpus_bytes(files: Iterable[CorpusFile]) -> int:
    """About so many bytes of text the files have, unpacked."""
    paths = [path for file in files for path in file.paths]
    return sum(
        size_of(path) * (4 if path.suffix in PACKED else 1) for path in paths
    )
