"""Cleaned text: a corpus in work files, while data is prepared."""

import dataclasses
import itertools
import pathlib
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from keras_transformer.config.data import DataConfig
from keras_transformer.data.cleaning import (
    Check,
    CleaningReport,
    clean_pairs,
)
from keras_transformer.data.corpus import Pair, read_pairs
from keras_transformer.languages import is_chinese
from keras_transformer.text.chinese import simplify

Progress = Callable[[str, int, int | None], None]

CHUNK = 4096  # pairs handled together


@dataclasses.dataclass
class CleanText:
    """Cleaned pairs in a TSV file, and what cleaning left out so far."""

    path: pathlib.Path
    pairs: int
    report: CleaningReport

    def chunks(self) -> Iterator[list[Pair]]:
        """The pairs in order, in lists of up to `CHUNK`."""
        return chunks(read_pairs([self.path]))

    def sources(self) -> Iterator[str]:
        return (source for source, _ in read_pairs([self.path]))

    def targets(self) -> Iterator[str]:
        return (target for _, target in read_pairs([self.path]))


def clean_corpus(
    pairs: Iterable[Pair],
    path: pathlib.Path,
    config: DataConfig,
    progress: Callable[[int], None],
    checks: Sequence[tuple[str, Check]],
    on_chunk: Callable[[list[Pair]], None],
) -> CleanText:
    """Cleans the text of a corpus, without looking at its tokens yet.

    Args:
        pairs: as they were read.
        path: the file to be written.
        config: languages, and whether Chinese is simplified.
        progress: called with the pairs read so far.
        checks: from `cleaning.text_checks`; what they refuse is left out.
        on_chunk: called with every list of kept pairs.
    """
    report = CleaningReport()
    cleaners = [
        _cleaner(language, config)
        for language in (config.source_language, config.target_language)
    ]
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        for chunk in chunks(pairs):
            kept = clean_pairs(chunk, *cleaners, report, checks)
            write_pairs(file, kept)
            on_chunk(kept)
            progress(report.read)
    return CleanText(path, report.kept, report)


def take_out(text: CleanText, chosen: np.ndarray, folder: pathlib.Path):
    """Moves chosen pairs of a cleaned text to one of their own.

    Args:
        text: read, and removed from disk.
        chosen: bool `(text.pairs,)`.
        folder: where the two files go.

    Returns:
        The text of the other pairs, and that of the chosen ones. A chosen
        pair no longer counts as read in the first.
    """
    rest_path, chosen_path = folder / "rest.tsv", folder / "chosen.tsv"
    start = 0
    with (
        open(rest_path, "w", encoding="utf-8", newline="\n") as rest_file,
        open(chosen_path, "w", encoding="utf-8", newline="\n") as chosen_file,
    ):
        for chunk in text.chunks():
            flags = chosen[start : start + len(chunk)]
            write_pairs(rest_file, itertools.compress(chunk, ~flags))
            write_pairs(chosen_file, itertools.compress(chunk, flags))
            start += len(chunk)
    text.path.unlink()
    count = int(chosen.sum())
    chosen_report = CleaningReport()
    chosen_report.read = count
    text.report.read -= count
    return (
        CleanText(rest_path, text.pairs - count, text.report),
        CleanText(chosen_path, count, chosen_report),
    )


def write_pairs(file, pairs: Iterable[Pair]):
    """Writes pairs as lines of a TSV file."""
    file.writelines(f"{source}\t{target}\n" for source, target in pairs)


def _cleaner(language, config):
    if is_chinese(language) and config.simplify_chinese:
        return lambda lines: list(simplify(lines))
    return lambda lines: lines


def chunks(pairs: Iterable[Pair]) -> Iterator[list[Pair]]:
    """The pairs in order, in lists of up to `CHUNK`."""
    pairs = iter(pairs)
    return iter(lambda: list(itertools.islice(pairs, CHUNK)), [])
