"""Streams lines through a batch translator, in order and in bounded memory.

A glossary's terms are annotated within the lines, so that runs, exports and
servers, which translate text to text, need no further input.
"""

import collections
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from keras_transformer.blank import is_blank
from keras_transformer.config.data import DataConfig
from keras_transformer.documents.glossary import Glossary, Terms, annotated
from keras_transformer.errors import InputError
from keras_transformer.translation.request import Translation

# Batches that are sorted by length together.
BATCHES_A_WINDOW = 50
# Characters per sentence, padding included, that a batch may hold on average.
# Batches of longer lines are smaller.
CHARACTERS_A_SENTENCE = 256

# A text, or texts that belong together: a sentence and its prefix.
Line = TypeVar("Line", bound=str | tuple[str, ...])
Result = TypeVar("Result")
Translate = Callable[[list[Line]], Sequence[Result]]
TranslateBatches = Callable[[Iterator[list[Line]]], Iterator[Sequence[Result]]]


def one_by_one(
    translate: Translate[Line, Result],
) -> TranslateBatches[Line, Result]:
    """A function for `stream_lines` that translates in this process.

    Args:
        translate: function from a list of lines, none blank, to their results;
            see `details.detailed_translator`.
    """

    def translate_batches(batches):
        for batch in batches:
            yield translate(batch) if batch else []

    return translate_batches


def stream_lines(
    lines: Iterable[Line],
    translate_batches: TranslateBatches[Line, Result],
    batch_size: int = 64,
    window: int | None = None,
    blank: Callable[[Line], Any] = lambda line: "",
    progress: Callable[[int], None] | None = None,
) -> Iterator[Result]:
    """Translates lines in bounded memory and yields the results in order.

    Reads a window of lines, sorts it by length so that a batch holds little
    padding, has the batches translated and puts the window back in order.

    Args:
        lines: a file or any other iterable of strings, whose line ends are
            removed, or of tuples of strings.
        translate_batches: function from an iterator of batches, some of which
            may be empty, to an iterator of their results, in the same order.
            How far it reads ahead determines how many windows are in memory:
            see `one_by_one` and `system.workers.Workers.map`.
        batch_size: lines translated together, at most; fewer if lines are
            long.
        window: lines read before the first is translated. 1 translates each
            line as it arrives; None: 50 batches.
        blank: makes the result of a blank line, "" by default.
        progress: called with the number of lines just finished.

    Yields:
        One result per line.
    """
    window = window or BATCHES_A_WINDOW * batch_size
    progress = progress or (lambda count: None)
    remaining = map(_without_end, lines)
    # For each batch in translation: the results of its window, its indices
    # there and, for a window's last batch, the number of blank lines.
    expected: collections.deque = collections.deque()

    def batches():
        while read := list(itertools.islice(remaining, window)):
            # Joins tuples; a string stays as it is.
            texts = ["".join(line) for line in read]
            results = [
                blank(line) if is_blank(text) else None
                for text, line in zip(texts, read, strict=True)
            ]
            parts = list(_batches(texts, batch_size))
            blanks = len(texts) - sum(map(len, parts))
            del texts
            for part in parts:
                is_last = part is parts[-1]
                expected.append((results, part, blanks if is_last else None))
                yield [read[index] for index in part]

    for translated in translate_batches(batches()):
        results, indices, blanks = expected.popleft()
        for index, result in zip(indices, translated, strict=True):
            results[index] = result
        progress(len(indices))
        # Batches come back in order, so the last one completes its window.
        if blanks is not None:
            progress(blanks)
            yield from results


def _batches(texts, batch_size):
    """Yields the indices of each batch; one empty batch if all are blank.

    The empty batch keeps the results of windows in order.
    """
    indices = [i for i, text in enumerate(texts) if not is_blank(text)]
    # The longest first, so that a batch that exceeds the memory fails at once.
    indices.sort(key=lambda index: len(texts[index]), reverse=True)
    begin = 0
    while begin < len(indices) or not begin:
        longest = len(texts[indices[begin]]) if indices else 1
        most = CHARACTERS_A_SENTENCE * batch_size // longest
        size = min(batch_size, max(1, most))
        yield indices[begin : begin + size]
        begin += size


def _without_end(line):
    return line.rstrip("\r\n") if isinstance(line, str) else line


def has_learned_terms(data: DataConfig | None) -> bool:
    """True if models of this data are trained with annotated terms."""
    return data is not None and data.term_share > 0


def require_terms(has_terms: bool) -> None:
    """Refuses a glossary for a model that wasn't trained with terms.

    Raises:
        InputError: says which models are accepted.
    """
    if not has_terms:
        raise InputError(
            "the model wasn't trained with terms. Accepted with a glossary: a "
            "model of data prepared with --markup symbols --term-share 0.2"
        )


def all_patterns(
    data: DataConfig | None, placeholders: Iterable[str] = ()
) -> tuple[str, ...]:
    """Regular expressions of a user's markup and of the model data's."""
    own = () if data is None else data.markup_patterns
    # Without duplicates, as a pattern may have a named group only once.
    return tuple(dict.fromkeys((*placeholders, *own)))


def with_glossary(
    translate_batches: TranslateBatches,
    terms: Terms | None,
    placeholders: tuple[str, ...] = (),
) -> TranslateBatches:
    """A function that translates batches of texts with a glossary.

    Args:
        translate_batches: see `stream_lines`; returned as it is if there is no
            glossary.
        terms: see `Glossary.of`; None: no glossary.
        placeholders: regular expressions of markup, in which terms aren't
            searched.

    Raises:
        InputError: `terms` isn't a glossary.
    """
    if terms is None:
        return translate_batches
    glossary = Glossary.of(terms)

    def translate(batches: Iterator[list[str]]) -> Iterator[list[Translation]]:
        sent: collections.deque[list[str]] = collections.deque()

        def sources():
            for lines in batches:
                sent.append(lines)
                yield [
                    annotated(line, glossary.find(line, placeholders))
                    for line in lines
                ]

        for results in translate_batches(sources()):
            yield [
                result._replace(source=line)
                for line, result in zip(sent.popleft(), results, strict=True)
            ]

    return translate


def missing_prefix(path: str, number: int, shorter: str) -> InputError:
    """The error for a file that hasn't a prefix for each line of input.

    Args:
        path: of the prefixes.
        number: of the first line that only one of the files has.
        shorter: the file that lacks this line.
    """
    return InputError(
        f"{path}: a prefix for each line of input is needed, an empty line "
        f"for none. Received: no line {number} in {shorter}"
    )
