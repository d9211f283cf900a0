"""Any number of lines through a batch translator, in order."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence

import tensorflow as tf

# Batches that are sorted by length together.
BATCHES_A_WINDOW = 50


def translate_lines(
    lines: Iterable[str],
    translate: Callable[[list[str]], Sequence],
    batch_size: int = 64,
    window: int | None = None,
    blank="",
    progress: Callable[[int], None] | None = None,
) -> Iterator:
    """Translates lines at bounded memory and yields them in their order.

    Reads a window of lines, sorts it by length so that a batch holds little
    padding, translates batch by batch and puts the window back in order.

    Args:
        lines: a file or any other iterable; line ends are removed.
        translate: from a list of lines, none blank, to as many results; see
            `text_translator`.
        batch_size: lines translated together.
        window: lines read before the first is translated. 1 answers every
            line at once; None: 50 batches.
        blank: what is yielded for a blank line.
        progress: called with the number of lines just finished.

    Yields:
        One result a line.
    """
    window = window or BATCHES_A_WINDOW * batch_size
    remaining = (line.rstrip("\r\n") for line in lines)
    while batch := list(itertools.islice(remaining, window)):
        yield from _translate_window(
            batch, translate, batch_size, blank, progress or _ignore
        )


def _translate_window(lines, translate, batch_size, blank, progress):
    """The results of one window, in its order."""
    results = [blank] * len(lines)
    places = [place for place, line in enumerate(lines) if line.strip()]
    progress(len(lines) - len(places))
    # The longest first: what is too large for the memory fails at once.
    places.sort(key=lambda place: len(lines[place]), reverse=True)
    for begin in range(0, len(places), batch_size):
        batch = places[begin : begin + batch_size]
        translated = translate([lines[place] for place in batch])
        for place, result in zip(batch, translated, strict=True):
            results[place] = result
        progress(len(batch))
    return results


def _ignore(count):
    """The progress callback of those who gave none."""


def text_translator(function) -> Callable[[list[str]], list[str]]:
    """Makes a graph function one from strings to strings.

    Args:
        function: takes `text` string `(B,)` and returns a dictionary with
            `translation` string `(B,)`: `Translator.translate`, or the
            signature of a loaded SavedModel.

    Returns:
        A function for `translate_lines`.
    """

    def translate(lines):
        # A file read with surrogateescape holds what UTF-8 can't.
        encoded = [line.encode("utf-8", "replace") for line in lines]
        outputs = function(text=tf.constant(encoded, tf.string))
        return [
            translation.decode("utf-8", "replace")
            for translation in outputs["translation"].numpy()
        ]

    return translate
