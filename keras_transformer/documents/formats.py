"""Formats of documents, by the ending of a file's name."""

import pathlib
from collections.abc import Callable
from typing import NamedTuple

from keras_transformer.documents.catalogs import (
    GettextCatalog,
    TmxCatalog,
    XliffCatalog,
)
from keras_transformer.documents.document import Document
from keras_transformer.documents.marked_up import Html, Markdown
from keras_transformer.documents.subtitles import Subtitles
from keras_transformer.documents.tables import JsonLines, Table
from keras_transformer.documents.word import WordDocument
from keras_transformer.errors import InputError

LINES = "lines"
_SUFFIXES = {
    ".htm": "html",
    ".markdown": "md",
    ".mqxliff": "xliff",
    ".mxliff": "xliff",
    ".ndjson": "jsonl",
    ".pot": "po",
    ".sdlxliff": "xliff",
    ".xhtml": "html",
    ".xlf": "xliff",
}
# Of documents that would be damaged line by line.
UNREAD = set(
    ".adoc .arb .ass .ini .ipynb .json .odt .plist .properties .resx .rst .rtf "
    ".strings .stringsdict .tex .toml .ts .ttml .xml .yaml .yml".split()
)


class _Options(NamedTuple):
    """What `open_document` was given beside a path and a format."""

    languages: tuple[str, str] | None
    field: str | None
    overwrite: bool


def _tmx(path, options):
    if options.languages is None:
        raise InputError(
            f"{path}: the languages aren't known here. Accepted: a .tmx file "
            "with --run, --saved-model or --ctranslate2"
        )
    return TmxCatalog(path, options.languages, options.overwrite)


def _po(path, options):
    return GettextCatalog(path, _target(options), options.overwrite)


def _xliff(path, options):
    return XliffCatalog(path, _target(options), options.overwrite)


def _target(options):
    return options.languages[1] if options.languages else None


_Open = Callable[[pathlib.Path, _Options], Document]
_WITH_FIELD: dict[str, _Open] = {
    "csv": lambda path, options: Table(path, options.field, ","),
    "jsonl": lambda path, options: JsonLines(path, options.field),
    "tsv": lambda path, options: Table(path, options.field, "\t"),
}
_CATALOGS: dict[str, _Open] = {
    "po": _po,
    "tmx": _tmx,
    "xliff": _xliff,
}
_OPEN: dict[str, _Open] = {
    **_WITH_FIELD,
    **_CATALOGS,
    "docx": lambda path, _: WordDocument(path),
    "html": lambda path, _: Html(path),
    "md": lambda path, _: Markdown(path),
    "srt": lambda path, _: Subtitles(path),
    "vtt": lambda path, _: Subtitles(path),
}
FORMATS = (LINES, *sorted(_OPEN))


def format_of(path: pathlib.PurePath) -> str:
    """The format of a file by its name; `LINES` of any other name."""
    suffix = path.suffix.lower()
    named = _SUFFIXES.get(suffix, suffix[1:])
    return named if named in FORMATS else LINES


def open_document(
    path: pathlib.Path,
    format: str,
    languages: tuple[str, str] | None = None,
    field: str | None = None,
    overwrite: bool = False,
) -> Document:
    """Reads a document.

    Args:
        path: of the file.
        format: one of `FORMATS` but `LINES`.
        languages: tags of the source and the target; None: not known.
        field: the column or key of a format that has such.
        overwrite: whether what a catalog has translations of is translated,
            too.

    Raises:
        InputError: the file isn't of the format, an option isn't of it, or a
            library is missing.
    """
    if field and format not in _WITH_FIELD:
        raise InputError(
            f"--field goes with {', '.join(_WITH_FIELD)}. Received: {format}"
        )
    if overwrite and format not in _CATALOGS:
        raise InputError(
            f"--overwrite goes with {', '.join(_CATALOGS)}. Received: {format}"
        )
    return _OPEN[format](path, _Options(languages, field, overwrite))
