"""Tables: a column of .csv and .tsv, a key of .jsonl."""

import collections
import csv
import io
import itertools
import json
import pathlib
import re
from collections.abc import Callable, Collection, Iterable, Iterator

from keras_transformer.documents.document import LARGEST, decoded, read_text
from keras_transformer.errors import InputError, shown
from keras_transformer.system.files import open_file, read_bytes

_MARK = "\ufeff"
# The head of a table: a byte order mark, and Excel's line for the delimiter.
_HEAD = re.compile(r'^(\ufeff?(?:"?(?i:sep)=([^"\r\n])"?(?:\r\n?|\n))?)')
# A cell of programs that put quotes around cells with quotes.
_QUOTED = re.compile(r'"[^"]*(?:""[^"]*)+"')


class Table:
    """A `Document` of a column of a CSV or TSV file with a header.

    Args:
        path: of the file.
        field: `COLUMN`, whose texts are replaced by their translations, or
            `COLUMN:TARGET` to write the translations to another column, which
            is added if it isn't in the header.
        delimiter: between columns.

    Raises:
        InputError: the file is damaged, or doesn't have the column.
    """

    def __init__(
        self, path: pathlib.Path, field: str | None, delimiter: str
    ) -> None:
        content = read_text(path)
        _, self._mark, divider, content = _HEAD.split(content, 1)
        ends = (end for end in ("\r\n", "\n", "\r") if end in content)
        self._newline = next(ends, "\n")
        if self._newline == "\r":
            content = content.replace("\r", "\n")
        header = content.partition("\n")[0]
        if delimiter == "," and "," not in header:
            # Excel writes ";" in locales with a decimal comma.
            delimiter = next((d for d in ";\t" if d in header), ",")
        self._delimiter = delimiter = divider or delimiter
        self._rows = _plain_rows(content) if delimiter == "\t" else []
        # Plain TSV: all lines have the same number of columns if quotes are
        # ignored.
        self._is_plain = len({len(row) for row in self._rows if row}) == 1
        if any(map(_QUOTED.fullmatch, itertools.chain(*self._rows))):
            self._is_plain = False
        if not self._is_plain:
            self._rows = _csv_rows(content, delimiter, path)
        header = self._rows[0] if self._rows else []
        source, target = _source_and_target(path, field, "column", header)
        if source not in header:
            raise InputError(
                f"{path}: no column {source!r}. Accepted: "
                f"{', '.join(header) or 'a file with a header'}"
            )
        for number, row in enumerate(self._rows, 1):
            if any(map(str.strip, row[len(header) :])):
                raise InputError(
                    f"{path}: row {number} has {len(row)} cells, the header "
                    f"{len(header)}. Accepted: quotes around a cell with "
                    f"{delimiter!r}"
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

    def translated(self, texts: Iterable[str]) -> Iterable[bytes]:
        """See `Document.translated`."""
        for row in self._rows[1:]:
            # A blank line has no columns, and isn't changed.
            if row:
                row += [""] * (self._target + 1 - len(row))
        for row, text in zip(self._filled, texts, strict=True):
            row[self._target] = text
        if self._is_plain:
            lines = ["\t".join(map(_in_a_cell, row)) for row in self._rows]
            content = "".join(f"{line}{self._newline}" for line in lines)
        else:
            written = io.StringIO(newline="")
            csv.writer(
                written, delimiter=self._delimiter, lineterminator=self._newline
            ).writerows(self._rows)
            content = written.getvalue()
        return [(self._mark + content).encode()]


def _plain_rows(content):
    lines = content.replace("\r\n", "\n").removesuffix("\n").split("\n")
    return [line.split("\t") if line else [] for line in lines]


def _in_a_cell(text):
    return " ".join(re.split(r"[\t\r\n]+", text))


def _csv_rows(content, delimiter, path):
    csv.field_size_limit(LARGEST)
    lines = io.StringIO(content, newline="")
    try:
        return list(csv.reader(lines, delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise InputError(f"{path}: not CSV ({error})") from None


class JsonLines:
    """A `Document` of the values of a key in lines of JSON.

    The file is read again for each use, a line at a time.

    Args:
        path: of the file.
        field: `KEY`, whose strings are replaced by their translations, or
            `KEY:TARGET` to write the translations to another key.

    Raises:
        InputError: a line isn't a JSON object, or no line has the key.
    """

    def __init__(self, path: pathlib.Path, field: str | None) -> None:
        self._path = path
        # A pipe can be read only once.
        self._content = (
            None if path.is_file() else read_bytes(path, "", LARGEST)
        )
        strings: collections.Counter[str] = collections.Counter()
        # None: all lines. Fixed below, as the file may grow in the meantime.
        self._lines: int | None = None
        lines = count = 0
        try:
            for _, row in self._rows():
                lines += 1
                if row is not None:
                    count += 1
                    strings.update(
                        key for key in row if isinstance(row[key], str)
                    )
        except OSError as error:
            raise InputError(f"{path}: {error.strerror}") from None
        self._lines = lines
        self._source, self._target = _source_and_target(
            path, field, "key", strings
        )
        self._count = strings[self._source]
        if count and not self._count:
            raise InputError(
                f"{path}: no line has a string for {self._source!r}. "
                f"Accepted: {', '.join(strings) or 'a file with strings'}"
            )
        left = count - self._count
        self.skipped = {f"without {self._source}": left} if left else {}

    @property
    def texts(self) -> Collection[str]:
        """See `Document`."""
        return _Texts(self._texts, self._count)

    def _texts(self):
        for _, row in self._rows():
            if row is not None and isinstance(row.get(self._source), str):
                yield row[self._source]

    def translated(self, texts: Iterable[str]) -> Iterator[bytes]:
        """See `Document.translated`."""
        translations = iter(texts)
        for line, row in self._rows():
            if row is not None and isinstance(row.get(self._source), str):
                text = next(translations)
                line = _with_string(line.decode(), self._target, text).encode()
            yield line

    def _rows(self) -> Iterator[tuple[bytes, dict | None]]:
        """Yields lines and their objects; None for a blank line."""
        opened = (
            open_file(self._path)
            if self._content is None
            else io.BytesIO(self._content)
        )
        with opened as lines:
            for number, line in enumerate(
                itertools.islice(lines, self._lines), 1
            ):
                where = f"{self._path}, line {number}"
                text = decoded(line, where).removeprefix(_MARK)
                yield line, json_object(text, where) if text.strip() else None


class _Texts(Collection[str]):
    """Texts that are read again for each iteration."""

    def __init__(self, read: Callable[[], Iterator[str]], count: int) -> None:
        self._read = read
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[str]:
        return self._read()

    def __contains__(self, text: object) -> bool:
        return text in list(self)


def _with_string(line, key, text):
    """Sets a key to a string in a line of JSON, without changing the rest."""
    decode = json.JSONDecoder().raw_decode
    value, place = None, line.index("{") + 1
    while line[start := _after_space(line, place)] != "}":
        name, end = decode(line, start)
        start = _after_space(line, end)
        _, place = decode(line, start)
        if name == key:  # The last one, if there are several.
            value = slice(start, place)
    new = _json_string(text)
    if value is None:
        value = slice(place, place)
        new = f", {_json_string(key)}: {new}"
    return line[: value.start] + new + line[value.stop :]


def _after_space(line, place):
    """The position of the next key or value, or the end of the object."""
    while line[place] in " \t\n\r:,":
        place += 1
    return place


def _json_string(text):
    # Unpaired surrogates must be escaped.
    is_whole = not re.search("[\ud800-\udfff]", text)
    return json.dumps(text, ensure_ascii=not is_whole)


def _source_and_target(path, field, kind, names):
    """The names of source and target in `--field`."""
    if not field:
        raise InputError(
            f"{path}: no {kind} is named. Accepted: --field NAME of "
            f"{', '.join(names) or 'none, there is no text'}; --format lines "
            "takes each line as a text"
        )
    source, _, target = field.partition(":")
    return (field, field) if field in names else (source, target or source)


def json_object(line: str | bytes, where: str) -> dict:
    """The JSON object in a line.

    Raises:
        InputError: it isn't one; the message has `where`, the line's place.
    """
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: no JSON ({error})") from None
    if not isinstance(value, dict):
        raise InputError(
            f"{where}: no JSON object. Accepted: an object in each "
            f"line. Received: {shown(value)}"
        )
    return value
