"""Corpus formats: .tmx, .xliff, .po and .jsonl files, read as lines of TSV.

Files of any size are read one unit at a time, except that a .po file is read as
a whole. Either side may be the source. Inline markup is kept: native codes
unchanged, XLIFF's own elements as tags. White space that includes a line end or
a tab becomes a space.

References: TMX 1.4b; XLIFF 1.2 and 2.1 (OASIS); GNU gettext manual, "PO Files".
"""

import io
import os
import pathlib
import re
from collections.abc import Iterator
from typing import BinaryIO
from xml.etree import ElementTree

from keras_transformer.data.lines import (
    BYTE_ORDER_MARK,
    PACKED,
    bounded_lines,
    short_lines,
)
from keras_transformer.documents.catalogs import (
    UNTRANSLATED,
    language_of,
    parse_po,
    plural_form,
)
from keras_transformer.documents.formats import format_of
from keras_transformer.documents.tables import json_object
from keras_transformer.errors import InputError
from keras_transformer.languages import (
    is_tag,
    scripts_of_language,
    tag_of_language,
)

Languages = tuple[str, str]  # source, target

_FORMATS = ("jsonl", "po", "tmx", "xliff")
_WHITE_SPACE = re.compile(r"\s+")
_BOTH = ("source", "target")
_SIDES = {
    "source": "source",
    "src": "source",
    "target": "target",
    "tgt": "target",
    "trg": "target",
}
# Elements whose content is native markup of the translated file, or text.
_NATIVE = {"bpt", "ept", "ph", "it", "ut", "hi", "sub", "mrk"}
# States of unreviewed targets, such as those that `documents` writes.
_UNCHECKED = UNTRANSLATED | {"needs-review-translation"}
_JSON_BYTES = 1 << 22  # of a line
_DEEPEST = 100  # nested elements; Python limits recursion to a thousand calls


def corpus_format(path: str | os.PathLike) -> str | None:
    """The format of a corpus by its file name; None: lines of text."""
    name = pathlib.PurePath(os.fspath(path))
    if name.suffix.lower() in PACKED:
        name = name.with_suffix("")
    return found if (found := format_of(name)) in _FORMATS else None


def as_table(
    file: BinaryIO, path: str | os.PathLike, languages: Languages | None = None
) -> BinaryIO:
    """Returns a readable file that converts a corpus to lines of TSV.

    Args:
        file: of a `corpus_format`, decompressed.
        path: its path, which determines the format.
        languages: of the columns; None: as the file declares.

    Raises:
        InputError: on reading, the file is damaged, or doesn't have the
            languages.
    """
    return io.BufferedReader(_Table(_lines(file, path, languages)))


def languages_in(
    file: BinaryIO, path: str | os.PathLike
) -> tuple[str | None, str | None]:
    """The languages that a corpus file declares; None for an undeclared one.

    Args:
        file, path: see `as_table`.

    Raises:
        InputError: the file is damaged.
    """
    unit: dict = next(filter(None, _units(file, path)), {})
    # A row may have other values than texts, such as a url.
    names = [n for n in unit if len(unit) == 2 or scripts_of_language(n)]
    source, target, *_ = (
        name if is_tag(name) else None for name in [*names, "", ""]
    )
    return source, target


class _Table(io.RawIOBase):
    """A file object over an iterator of lines."""

    def __init__(self, lines):
        self._lines = lines
        self._rest = memoryview(b"")

    def readable(self):
        return True

    def readinto(self, buffer):
        if not self._rest:
            self._rest = memoryview(next(self._lines, b""))
        part = self._rest[: len(buffer)]
        self._rest = self._rest[len(part) :]
        buffer[: len(part)] = part
        return len(part)


def _lines(file, path, languages) -> Iterator[bytes]:
    number = 0
    for unit in _units(file, path):
        if languages is None and len(unit) > 1:
            languages = [*unit][:2]
        source, target = (
            _tag_of_side(unit, *side)
            for side in zip(languages or ("", ""), _BOTH, strict=True)
        )
        if source != target and {source, target} <= unit.keys():
            pair = unit[source], unit[target]
            columns = (
                _WHITE_SPACE.sub(_without_breaks, text).strip(" ")
                for text in pair
            )
            line = "\t".join(columns).replace("\0", "\ufffd")
            yield f"{line}\n".encode("utf-8", "replace")
            number += 1
        else:
            yield b"\t\n"  # A pair without text, so that it is counted.
    if not number:
        of = f" in {' and '.join(languages)}" if languages else ""
        raise InputError(
            f"{path}: no translated text{of}. Accepted: languages of the "
            "file, and texts with translations"
        )


def _without_breaks(space):
    return " " if set(space[0]) & {"\t", "\n", "\r"} else space[0]


def _tag_of_side(unit, language, side):
    """The unit's tag for a language; if undeclared, the side's name or ""."""
    tag = tag_of_language(unit, language)
    if tag is None:
        return side if side in unit else ""
    return tag


def _units(file, path) -> Iterator[dict[str, str]]:
    """Yields the texts of each unit by their languages, the source first.

    The key for an undeclared language is "source", "target" or "".
    """
    read = {"jsonl": _jsonl, "po": _po, "tmx": _tmx, "xliff": _xliff}
    return read[str(corpus_format(path))](file, path)


def _tmx(file, path):
    original = ""
    for _, element in _elements(file, path, ("header", "tu")):
        if _name(element) == "header":
            original = element.get("srclang", "")
            continue
        unit: dict[str, str] = {}
        for each in element:
            segment = _child(each, "seg")
            if _name(each) == "tuv" and segment is not None:
                unit.setdefault(language_of(each), _text(segment))
        first = tag_of_language(unit, original)
        yield dict(sorted(unit.items(), key=lambda item: item[0] != first))


def _xliff(file, path):
    for around, element in _elements(file, path, ("trans-unit", "segment")):
        source, target = _child(element, "source"), _child(element, "target")
        if source is None:
            continue
        states = {element.get("state")}
        if target is not None:
            states.add(target.get("state"))
        if target is None or states & _UNCHECKED:
            yield {}
            continue
        languages: dict[str, str] = {}
        for parent in around:
            languages |= parent.attrib
        yield {
            languages.get(f"{side}-language", languages.get(f"{short}Lang"))
            or side: _text(text)
            for side, short, text in (
                ("source", "src", source),
                ("target", "trg", target),
            )
        }


def _po(file, path):
    try:
        content = file.read().decode()
    except UnicodeDecodeError:
        raise InputError(
            f"{path}: not UTF-8. Accepted: the file in UTF-8"
        ) from None
    catalog = parse_po(content, path)
    language = catalog.metadata.get("Language")
    names = ("", language) if language else ("source", "target")
    for entry in catalog:
        if entry.obsolete:
            continue
        if not entry.translated():
            yield {}
            continue
        forms = [(entry.msgid, entry.msgstr)]
        if entry.msgid_plural:
            found = entry.msgstr_plural
            forms = [
                (text, found[plural_form(catalog, entry, number)])
                for text, number in (
                    (entry.msgid, 1),
                    (entry.msgid_plural, 100),
                )
            ]
        for pair in forms:
            yield dict(zip(names, pair, strict=True))


def _jsonl(file, path):
    lines = short_lines(bounded_lines(file, _JSON_BYTES), path, _JSON_BYTES)
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        row = json_object(line.removeprefix(BYTE_ORDER_MARK), where)
        if isinstance(row.get("translation"), dict):
            row = row["translation"]
        unit = {
            _SIDES.get(key, key): text or ""
            for key, text in row.items()
            if isinstance(text, str | None) and (key in _SIDES or is_tag(key))
        }
        if len(unit) > 2:
            unit.pop("id", None)  # Rather an identifier than Indonesian.
        if len(unit) < 2:
            kinds = (f"{key}: {type(row[key]).__name__}" for key in row)
            raise InputError(
                f"{where}: no two texts. Accepted: strings with keys such as "
                f"en and de, or source and target. Received: {', '.join(kinds)}"
            )
        yield unit


def _elements(file, path, names) -> Iterator[tuple[list, ElementTree.Element]]:
    """Yields the elements with some names, each with its ancestors."""
    around: list[ElementTree.Element] = []
    try:
        for event, element in ElementTree.iterparse(file, ("start", "end")):
            if event == "start":
                around.append(element)
                continue
            around.pop()
            if _name(element) in names:
                yield around, element
                # Frees the element, and its ancestors' earlier children.
                for parent in around:
                    del parent[:-1]
                if around:
                    del around[-1][:]
    except ElementTree.ParseError as error:
        raise InputError(f"{path}: damaged XML ({error})") from None
    except (LookupError, ValueError) as error:  # Such as GB2312.
        raise InputError(
            f"{path}: in an encoding that can't be read ({error}). Accepted: "
            "UTF-8 or UTF-16"
        ) from None


def _name(element):
    """The name of an element without its namespace."""
    return element.tag.rpartition("}")[2]


def _child(element, name):
    return next((each for each in element if _name(each) == name), None)


def _text(element, depth=0) -> str:
    """The text of a segment, with its inline markup."""
    if depth == _DEEPEST:
        return "".join(element.itertext())
    parts = [element.text or ""]
    for child in element:
        name, inner = _name(child), _text(child, depth + 1)
        if name not in _NATIVE or (name == "ph" and not inner):
            attributes = "".join(f' {k}="{v}"' for k, v in child.items())
            end = f">{inner}</{name}>" if inner else "/>"
            inner = f"<{name}{attributes}{end}"
        parts += [inner, child.tail or ""]
    return "".join(parts)
