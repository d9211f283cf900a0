"""Pairs of corpus files, one after the other, whatever the size of a corpus."""

import dataclasses
import itertools
import os
import pathlib
from collections.abc import Iterable, Iterator

from keras_transformer.data.blocks import Part, read_part
from keras_transformer.data.bounded_lines import LINE_BYTES
from keras_transformer.data.corpus import CorpusFile, CorpusSpec, Pair
from keras_transformer.data.corpus_formats import Languages
from keras_transformer.errors import InputError, shown

_BLOCK_BYTES = 1 << 16  # held at a time

# What `sentence_pairs` takes. Two files are no tuple there, but one name.
_File = str | os.PathLike | CorpusFile
Pairs = _File | Iterable[_File] | Iterable[Pair]


def file_pairs(
    file: CorpusFile,
    line_bytes: int = LINE_BYTES,
    long: list[int] | None = None,
) -> Iterator[Pair]:
    """Yields (source, target) as written, without line ends.

    A blank line of a TSV file gives a pair of empty strings.

    Args:
        file: of a corpus.
        line_bytes: of a line; one with more is over-long.
        long: gets the numbers of pairs with over-long lines, in whose place
            empty ones are given; None: they are refused.

    Raises:
        InputError: a file can't be read, is damaged, isn't UTF-8, has a line
            of one column or an over-long one, or the two files differ in
            length.
    """
    part, refuse = Part(0, file), long is None
    for block in read_part(part, _BLOCK_BYTES, line_bytes, refuse):
        if long is not None:
            long.extend(block.first_line + n for n in block.long)
        yield from block.pairs()


def read_lines(path: str | os.PathLike) -> Iterator[str]:
    """Yields the lines of a file of one language. Raises as `file_pairs`."""
    part = Part(0, CorpusFile(pathlib.Path(path)))
    for block in read_part(part, _BLOCK_BYTES, refuse_long=True):
        yield from block.sources()


def read_pairs(
    specs: Iterable[CorpusSpec],
    line_bytes: int = LINE_BYTES,
    languages: Languages | None = None,
) -> Iterator[Pair]:
    """Yields the (source, target) pairs of several corpus files, in order.

    Args:
        specs: the files.
        line_bytes: of a line, at most.
        languages: see `CorpusFile.languages`.

    Raises:
        InputError: as `CorpusFile.parse` and `file_pairs`.
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
    """All pairs of sentences, given as such or as files.

    Args:
        given: (source, target) pairs of strings; or a corpus file, or
            several, each a path of a TSV file or `"SOURCE,TARGET"`.
        most: pairs, at most; None: any number.
        languages: see `CorpusFile.languages`.

    Raises:
        InputError: a file can't be read, something is no pair, or there are
            more.
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
                f"{name}: more than {most:,} pairs. Accepted: up to so many, "
                "such as a random sample"
            )
        yield pair
