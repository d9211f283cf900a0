"""Blocks: splits a corpus into byte chunks of about 4 MB.

One process reads files, plain or gzip, and hands blocks of whole lines to
those that make pairs of them.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from keras_transformer.data.bounded_lines import (
    LINE_BYTES,
    Lines,
    bounded_lines,
    count_lines,
    next_lines,
)
from keras_transformer.data.corpus import (
    BYTE_ORDER_MARK,
    CorpusFile,
    Pair,
    as_text,
    open_bytes,
    pair_of_columns,
    read_errors,
    refuse_old_line_ends,
    refuse_unequal_files,
)
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
        sources = self._lines(self.source, self.file.source)
        if self.target is not None:
            targets = self._lines(self.target, self.file.target)
            return list(zip(sources, targets, strict=True))
        return [
            pair_of_columns(line, f"{self.file.source}, line {number}")
            for number, line in enumerate(sources, self.first_line)
        ]

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
        InputError: as `CorpusFile.pairs`, but for what `Block.pairs` raises.
    """
    for corpus, file in enumerate(files):
        one = _table_blocks if file.target is None else _aligned_blocks
        yield from one(corpus, file, size, line_bytes)


def corpus_bytes(files: Iterable[CorpusFile]) -> int:
    """About so many bytes of text the files have, gzip unpacked."""
    paths = [path for file in files for path in file.paths]
    return sum(
        size_of(path) * (4 if path.suffix == ".gz" else 1) for path in paths
    )


def _table_blocks(corpus, file, size, line_bytes):
    number = 1
    for lines in _contents(file.source, size, line_bytes):
        yield Block(corpus, file, number, lines.content, None, lines.long)
        number += _count_lines(lines.content)


def _aligned_blocks(corpus, file, size, line_bytes):
    number = 1
    sources = _contents(file.source, size, line_bytes)
    with read_errors(file.target) as reading, open_bytes(file.target) as lines:
        for source in sources:
            count = _count_lines(source.content)
            target = count_lines(lines, count, line_bytes)
            target = _without_mark(target, number)
            read = _count_lines(target.content)
            reading.line = number + read - 1
            if read < count:
                count += sum(_count_lines(rest.content) for rest in sources)
                refuse_unequal_files(
                    file, number - 1 + count, number - 1 + read
                )
            long = tuple(sorted({*source.long, *target.long}))
            yield Block(
                corpus, file, number, source.content, target.content, long
            )
            number += count
        if rest := sum(1 for _ in bounded_lines(lines, line_bytes)):
            refuse_unequal_files(file, number - 1, number - 1 + rest)


def _contents(path, size, line_bytes) -> Iterator[Lines]:
    """The content of a file, cut at ends of lines; without a mark."""
    with read_errors(path) as reading, open_bytes(path) as file:
        while lines := next_lines(file, size, line_bytes):
            lines = _without_mark(lines, reading.line + 1)
            reading.line += _count_lines(lines.content)
            yield lines
            last = lines.content
        if reading.line == 1:
            refuse_old_line_ends(last, path)


def _without_mark(lines, number):
    if number > 1:
        return lines
    return lines._replace(content=lines.content.removeprefix(BYTE_ORDER_MARK))


def _count_lines(content):
    """Lines in some bytes; the last may have no end."""
    return content.count(b"\n") + (content[-1:] not in (b"\n", b""))
