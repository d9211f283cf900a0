"""Formats of documents, by file name suffix."""

import functools
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
# Suffixes of documents that translating line by line would damage.
UNREAD = set(
    ".adoc .arb .asciidoc .ass .dfxp .dita .docbook .ftl .ini .ipynb .json "
    ".json5 .jsonc .jsx .lrc .mdown .mdx .mkd .odt .org .php .plist "
    ".properties .qmd .rest .resw .resx .rmd .rst .rtf .sbv .smi .ssa .strings "
    ".stringsdict .sub .svg .tbx .tex .textile .toml .ts .ttml .vue .wxl .xht "
    ".xcstrings .xml .yaml .yml".split()
)


_WITH_FIELD: dict[str, Callable[..., Document]] = {
    "csv": functools.partial(Table, delimiter=","),
    "jsonl": JsonLines,
    "tsv": functools.partial(Table, delimiter="\t"),
}
_CATALOGS: dict[str, Callable[..., Document]] = {
    "po": GettextCatalog,
    "tmx": TmxCatalog,
    "xliff": XliffCatalog,
}
_OTHERS: dict[str, Callable[[pathlib.Path], Document]] = {
    "docx": WordDocument,
    "html": Html,
    "md": Markdown,
    "srt": Subtitles,
    "vtt": Subtitles,
}
FORMATS = (LINES, *sorted((*_WITH_FIELD, *_CATALOGS, *_OTHERS)))


def format_of(path: pathlib.PurePath) -> str:
    """The format of a file by its name; `LINES` if the suffix is unknown."""
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
        format: one of `FORMATS` except `LINES`.
        languages: tags of the source and the target; None: unknown.
        field: the column or key, for a format with columns or keys.
        overwrite: whether texts that already have a translation in a catalog
            are translated, too.

    Raises:
        InputError: the file doesn't have the format, the format doesn't have an
            option, or a library is missing.
    """
    if field and format not in _WITH_FIELD:
        raise InputError(
            f"--field goes with {', '.join(_WITH_FIELD)}. Received: {format}"
        )
    if overwrite and format not in _CATALOGS:
        raise InputError(
            f"--overwrite goes with {', '.join(_CATALOGS)}. Received: {format}"
        )
    if format in _WITH_FIELD:
        return _WITH_FIELD[format](path, field)
    if format in _CATALOGS:
        return _CATALOGS[format](path, languages, overwrite)
    return _OTHERS[format](path)
