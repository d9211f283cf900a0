"""Translation of documents by any translator of batches."""

import contextlib
import itertools
import json
import os
import pathlib
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, Literal

from keras_transformer.blank import is_blank
from keras_transformer.documents.document import Document
from keras_transformer.documents.markup import find_marks
from keras_transformer.errors import InputError
from keras_transformer.system.files import replacing, writing
from keras_transformer.system.locks import open_unlinked
from keras_transformer.translation.request import Truncations, blank_translation
from keras_transformer.translation.stream import TranslateBatches, stream_lines


def require_no_markup(document: Document, name: str) -> None:
    """Refuses a document with markup in its texts.

    Raises:
        InputError: a text has markup; names the first mark.
    """
    for text in document.texts:
        if marks := find_marks(text):
            mark = text[marks[0].start : marks[0].end]
            raise InputError(
                f"{name}: {mark!r} in a text. Accepted: a document without "
                "tags and placeholders, a run, by whose alignment they are "
                "placed, or a model with symbols"
            )


class Journal(contextlib.AbstractContextManager):
    """Translations of a document, kept on disk until the document is written.

    A killed process leaves its file behind. As a context manager, removes the
    file unless the block ends with an error.

    Args:
        path: of the file.
        settings: everything that determines the translations; JSON-able.
        resume: whether to use the translations in an existing file.

    Attributes:
        done: the number of translations that the file had before.

    Raises:
        InputError: the existing file is of other settings.
    """

    def __init__(
        self, path: str | os.PathLike, settings: dict, resume: bool = False
    ) -> None:
        self._path = pathlib.Path(path)
        self._head = _line(settings)
        self._file: BinaryIO | None = None
        self.done = 0
        if not resume or not self._path.is_file():
            return
        size = 0
        with self._path.open("rb") as file:
            for number, line in enumerate(file):
                # The last process was killed while writing this line, or the
                # file is damaged from here on.
                if not line.endswith(b"\n") or (number and not _is_entry(line)):
                    break
                if number == 0 and line != self._head:
                    raise InputError(
                        f"{path}: of another input, model or options. "
                        "Accepted: the same command as before, or no --resume"
                    )
                size += len(line)
                self.done = number
        os.truncate(self._path, size)

    def finished(self) -> Iterator[tuple[str, bool]]:
        """Yields the file's translations, and whether each was truncated."""
        if self.done:
            with self._path.open("rb") as file:
                for line in itertools.islice(file, 1, self.done + 1):
                    text, truncated = json.loads(line)
                    yield text, truncated

    def add(self, text: str, truncated: bool) -> None:
        """Adds the next translation."""
        if self._file is None:
            mode: Literal["ab", "wb"] = "ab" if self.done else "wb"
            with writing(self._path):
                self._file = open(self._path, mode, opener=open_unlinked)
            if not self.done:
                self._file.write(self._head)
        self._file.write(_line([text, truncated]))

    def __exit__(self, kind: object, *_: object) -> None:
        if self._file is not None:
            self._file.close()
        if kind is None:
            self._path.unlink(missing_ok=True)


def _with_ends(source, result):
    """A text's translation with its line ends; blank texts stay as they are."""
    if is_blank(source):
        return source
    end = source[len(source.rstrip("\r\n")) :]
    return result.hypotheses[0].text + end


def _is_entry(line):
    """True for the JSON of a translation and its `truncated`."""
    try:
        text, truncated = json.loads(line)
    except (TypeError, ValueError):
        return False
    return isinstance(text, str) and isinstance(truncated, bool)


def _line(value):
    return json.dumps(value).encode() + b"\n"


def require_unpacked(path: str | os.PathLike) -> None:
    """Refuses the name of a compressed file for a document.

    Raises:
        InputError: it ends in .gz.
    """
    if os.fspath(path).lower().endswith(".gz"):
        raise InputError(
            f"{path}: a document is written as it is. Accepted: a name that "
            "doesn't end in .gz, or lines"
        )


def write_translated(
    document: Document,
    path: str | os.PathLike,
    translate_batches: TranslateBatches,
    batch_size: int,
    progress: Callable[[int], None] | None = None,
    truncations: Truncations | None = None,
    journal: Journal | None = None,
) -> None:
    """Writes a document's translation.

    Args:
        document: to translate.
        path: of the file, which appears when it is complete.
        translate_batches: returns `Translation`s, see `stream_lines`.
        batch_size: texts translated together.
        progress: called with the number of texts just finished.
        truncations: receives the numbers of truncated texts.
        journal: holds the first translations, and receives the others; None:
            no journal.
    """

    def translations():
        found: Any = journal.finished() if journal else ()
        for number, (text, truncated) in enumerate(
            itertools.chain(found, translated()), 1
        ):
            if truncated and truncations is not None:
                truncations.add(number)
            yield text

    def translated():
        done = journal.done if journal else 0
        sources, texts = itertools.tee(
            itertools.islice(document.texts, done, None)
        )
        results = stream_lines(
            texts,
            translate_batches,
            batch_size,
            blank=blank_translation,
            progress=progress,
        )
        for source, result in zip(sources, results, strict=True):
            found = _with_ends(source, result), result.truncated
            if journal:
                journal.add(*found)
            yield found

    with replacing(path) as temporary, temporary.open("wb") as out:
        out.writelines(document.translated(translations()))
