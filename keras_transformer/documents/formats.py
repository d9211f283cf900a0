"""Formats of documents, by the ending of a file's name."""

import pathlib
from collections.abc import Callable

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
FORMATS = (
    LINES,
    "csv",
    "docx",
    "html",
    "jsonl",
    "md",
    "po",
    "srt",
    "tmx",
    "tsv",
    "vtt",
    "xliff",
)
_SUFFIXES = {
    ".htm": "html",
    ".markdown": "md",
    ".ndjson": "jsonl",
    ".pot": "po",
    ".xlf": "xliff",
}
_OF_A_PATH: dict[str, Callable[[pathlib.Path], Document]] = {
    "docx": WordDocument,
    "html": Html,
    "md": Markdown,
    "srt": Subtitles,
    "vtt": Subtitles,
}
_WITH_FIELD = ("csv", "jsonl", "tsv")
_CATALOGS = ("po", "tmx", "xliff")


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
    if format in _OF_A_PATH:
        return _OF_A_PATH[format](path)
    if format in ("csv", "tsv"):
        return Table(path, field, "," if format == "csv" else "\t")
    if format == "jsonl":
        return JsonLines(path, field)
    if format == "po":
        return GettextCatalog(path, overwrite)
    if format == "xliff":
        target = languages[1] if languages else None
        return XliffCatalog(path, target, overwrite)
    if languages is None:
        raise InputError(
            f"{path}: the languages aren't known here. Accepted: a .tmx file "
            "with --run or --saved-model"
        )
    return TmxCatalog(path, languages, overwrite)
