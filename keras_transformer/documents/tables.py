"""Tables: a column of .csv and .tsv, a key of .jsonl."""

import csv
import io
import json
import pathlib
from collections.abc import Sequence

from keras_transformer.documents.document import read_text
from keras_transformer.errors import InputError, shown

_MARK = "\ufeff"


class Table:
    """A `Document` of a column of a CSV or TSV file with a header.

    Args:
        path: of the file.
        field: `COLUMN`, whose texts give way to their translations, or
            `COLUMN:TARGET`, whose translations go into another column, which
            is added if it isn't in the header.
        delimiter: between columns.

    Raises:
        InputError: the file is damaged, or has no such column.
    """

    def __init__(
        self, path: pathlib.Path, field: str | None, delimiter: str
    ) -> None:
        content = read_text(path)
        self._mark = _MARK if content.startswith(_MARK) else ""
        content = content.removeprefix(_MARK)
        self._newline = "\r\n" if "\r\n" in content else "\n"
        self._delimiter = delimiter
        lines = io.StringIO(content, newline="")
        try:
            self._rows = list(csv.reader(lines, delimiter=delimiter))
        except csv.Error as error:
            raise InputError(f"{path}: not CSV ({error})") from None
        header = self._rows[0] if self._rows else []
        source, target = _source_and_target(path, field, "column", header)
        if source not in header:
            raise InputError(
                f"{path}: no column {source!r}. Accepted: "
                f"{', '.join(header) or 'a file with a header'}"
            )
        self._source = header.index(source)
        if target not in header:
            header.append(target)
        self._target = header.index(target)
        self._filled = [
            row
            for row in self._rows[1:]
            if len(row) > self._source and row[self._source].strip()
        ]
        self.texts = [row[self._source] for row in self._filled]
        self.skipped: dict[str, int] = {}

    def translated(self, texts: Sequence[str]) -> bytes:
        """See `Document.translated`."""
        for row in self._rows[1:]:
            # A blank line has no columns, and stays one.
            if row:
                row += [""] * (self._target + 1 - len(row))
        for row, text in zip(self._filled, texts, strict=True):
            row[self._target] = text
        lines = io.StringIO(newline="")
        csv.writer(
            lines, delimiter=self._delimiter, lineterminator=self._newline
        ).writerows(self._rows)
        return (self._mark + lines.getvalue()).encode()


class JsonLines:
    """A `Document` of the values that a key has in lines of JSON.

    Args:
        path: of the file.
        field: `KEY`, whose strings give way to their translations, or
            `KEY:TARGET`, whose translations get a key of their own.

    Raises:
        InputError: a line is no JSON object, or no line has the key.
    """

    def __init__(self, path: pathlib.Path, field: str | None) -> None:
        self._lines = read_text(path).removeprefix(_MARK).splitlines()
        rows = {
            index: _json_object(line, f"{path}, line {index + 1}")
            for index, line in enumerate(self._lines)
            if line.strip()
        }
        keys = list(dict.fromkeys(key for row in rows.values() for key in row))
        self._source, self._target = _source_and_target(
            path, field, "key", keys
        )
        self._filled = {
            index: row
            for index, row in rows.items()
            if isinstance(row.get(self._source), str)
        }
        if not self._filled:
            raise InputError(
                f"{path}: no line has a string for {self._source!r}. "
                f"Accepted: {', '.join(keys)}"
            )
        self.texts = [row[self._source] for row in self._filled.values()]
        left = len(rows) - len(self._filled)
        self.skipped = {f"without {self._source}": left} if left else {}

    def translated(self, texts: Sequence[str]) -> bytes:
        """See `Document.translated`."""
        lines = list(self._lines)
        for (index, row), text in zip(self._filled.items(), texts, strict=True):
            row[self._target] = text
            lines[index] = json.dumps(row, ensure_ascii=False)
        return "".join(f"{line}\n" for line in lines).encode()


def _source_and_target(path, field, kind, names):
    """The two names that `--field` has."""
    if not field:
        raise InputError(
            f"{path}: no {kind} is named. Accepted: --field NAME of "
            f"{', '.join(names) or 'none, the file is empty'}; --format lines "
            "takes each line as a text"
        )
    source, _, target = field.partition(":")
    return (field, field) if field in names else (source, target or source)


def _json_object(line, where):
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: no JSON ({error})") from None
    if not isinstance(value, dict):
        raise InputError(f"{where}: a JSON object. Received: {shown(value)}")
    return value
