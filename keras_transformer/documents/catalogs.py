"""Message catalogs: gettext's .po, and translators' .xliff and .tmx.

By default only messages without a translation, or with a fuzzy one, are
translated. A translation whose placeholders differ from those of its source is
left out, as the program that shows it would fail. Translations in .po and
.xliff are marked for review. Elements within a text, such as `<g>` and `<ph>`,
are tags of the text.

References: GNU gettext manual, "PO Files"; XLIFF 1.2 and 2.1 (OASIS); TMX 1.4b.
"""

import collections
import contextlib
import copy
import gettext
import os
import pathlib
import re
import tempfile
from collections.abc import Iterable, Iterator
from typing import Any

from keras_transformer.documents.document import LARGEST, installed, read_text
from keras_transformer.documents.markup import (
    conversions_in_order,
    find_marks,
    markup_pattern,
    unused_tag,
)
from keras_transformer.errors import InputError, shown
from keras_transformer.languages import (
    is_tag,
    same_language,
    tag_of_language,
)
from keras_transformer.system.files import read_bytes

_PLACEHOLDERS_CHANGED = "with changed placeholders"
_CHOICES = "of a choice by number or kind"
# Inline elements whose content is text; the content of others is code.
_AROUND_TEXT = ("g", "hi", "mrk", "pc")
# Codes that begin a pair, and the codes that end it.
_ENDS = {"bpt": "ept", "bx": "ex", "sc": "ec", "sm": "em"}
# States of XLIFF 1.2 and 2 in which the target isn't a translation yet.
UNTRANSLATED = {"new", "needs-translation", "initial"}
_XML = "{http://www.w3.org/XML/1998/namespace}"
_LANG, _SPACE = f"{_XML}lang", f"{_XML}space"


def keeps_placeholders(source: str, translation: str) -> bool:
    """True if a translation has the placeholders of its source.

    The order must be the same for those that programs read by position, such as
    `%s` and `%d`.
    """
    found, kept = (
        (
            # All braces count, also those that aren't placeholders.
            collections.Counter([*re.findall(r"[{}]", text), *marks]),
            conversions_in_order(marks),
        )
        for text in (source, translation)
        for marks in [[text[m.start : m.end] for m in find_marks(text)]]
    )
    return found == kept


def _is_choice(text):
    """True if all words of a text are in an ICU choice, which is one mark."""
    has_choice = re.search(r"\{\s*\w+\s*,\s*(?:plural|select|choice)", text)
    return has_choice and not any(
        map(str.isalpha, markup_pattern().sub("", text))
    )


class _Catalog:
    """A `Document` of messages, each with a place for its translation.

    Args:
        path: of the file.
        languages: tags of the messages and of the translations; None: unknown.
        overwrite: whether messages with a translation are translated, too.

    Attributes:
        texts, skipped: see `Document`.
    """

    def __init__(
        self,
        path: pathlib.Path,
        languages: tuple[str, str] | None = None,
        overwrite: bool = False,
    ) -> None:
        self.skipped: collections.Counter = collections.Counter()
        self._messages = list(self._read(path, languages, overwrite))

    @property
    def texts(self) -> list[str]:
        """See `Document`."""
        return [text for text, _ in self._messages]

    def translated(self, texts: Iterable[str]) -> Iterable[bytes]:
        """See `Document.translated`."""
        for (source, place), text in zip(self._messages, texts, strict=True):
            if _is_choice(source):
                self.skipped[_CHOICES] += 1
            elif keeps_placeholders(source, text):
                self._fill(place, text)
            else:
                self.skipped[_PLACEHOLDERS_CHANGED] += 1
        return [self._content()]

    def _read(self, path, languages, overwrite) -> Iterator[tuple[str, Any]]:
        """Yields the texts to translate, and the place of each."""
        raise NotImplementedError

    def _fill(self, place, text):
        raise NotImplementedError

    def _content(self):
        raise NotImplementedError


def _require_language(path, name, found, wanted):
    """Refuses a file that declares another language than the model's."""
    tags = [str(found).partition("@")[0], wanted]  # gettext's "sr@latin"
    if all(map(is_tag, tags)) and not same_language(*tags):
        raise InputError(f"{path}: {name} must be {wanted}. Received: {found}")


# Escapes for bytes, after an even number of backslashes.
_BYTES = re.compile(
    r"(?<!\\)((?:\\\\)*)((?:\\(?:[0-7]{1,3}|x[0-9a-fA-F]{2}|a))+)"
)


# A keyword or a continued line, without a text in quotes.
_UNQUOTED = re.compile(
    r"(?:#[~|])?\s*+(?=msg|\")(?:msg\w*+(?:\[\d+\])?+\s*+)?+"
    r'(?!"(?:[^"\\]|\\.)*+"\s*\Z)'
)


class GettextCatalog(_Catalog):
    """A .po file; its new translations are marked as fuzzy.

    An empty `Language` in the header is filled in.

    Raises:
        InputError: polib isn't installed, or the file is damaged or of
            another language.
    """

    def _read(self, path, languages, overwrite):
        self._file = parse_po(read_text(path), path)
        language = self._file.metadata.get("Language")
        if languages and language == "":
            self._file.metadata["Language"] = languages[1].replace("-", "_")
        elif languages:
            _require_language(path, "its Language", language, languages[1])
        for entry in self._file:
            if entry.obsolete or (entry.translated() and not overwrite):
                continue
            if not entry.msgid_plural:
                yield entry.msgid, (entry, None)
                continue
            one = plural_form(self._file, entry, 1)
            others = [form for form in entry.msgstr_plural if form != one]
            texts = [(entry.msgid, [one]), (entry.msgid_plural, others)]
            if not others or self._needs_number(entry, one):
                texts = [(entry.msgid_plural, [one, *others])]
            open_ = {
                form
                for form, text in entry.msgstr_plural.items()
                if overwrite or "fuzzy" in entry.flags or not text
            }
            for text, forms in texts:
                if open_.intersection(forms):
                    yield text, (entry, open_.intersection(forms))

    def _needs_number(self, entry, one):
        """True if the form for 1 is also used for other numbers, but the
        singular text lacks the number.

        For example for 21 in Russian, and for all numbers in Chinese.
        """
        texts = entry.msgid, entry.msgid_plural
        one_marks, marks = (len(find_marks(text)) for text in texts)
        return one_marks < marks and any(
            plural_form(self._file, entry, n) == one for n in range(2, 200)
        )

    def _fill(self, place, text):
        entry, forms = place
        if forms is None:
            entry.msgstr = text
        else:
            entry.msgstr_plural.update(dict.fromkeys(forms, text))
        if "fuzzy" not in entry.flags:
            entry.flags.append("fuzzy")

    def _content(self):
        # A file in ASCII may name any encoding, or none.
        self._file.metadata["Content-Type"] = "text/plain; charset=UTF-8"
        return str(self._file).encode()


def parse_po(content: str, path: str | os.PathLike) -> Any:
    """Parses a .po file to polib's object.

    Raises:
        InputError: polib isn't installed, or the file is damaged; the message
            has `path`.
    """
    polib = installed("polib")

    def unescaped(match):
        codes = re.findall(r"x(..)|([0-7]+)|a", match[2])
        values = [int(h, 16) if h else int(o or "7", 8) % 256 for h, o in codes]
        return match[1] + polib.escape(bytes(values).decode(errors="replace"))

    # polib cuts the last character if a quote is missing.
    for number, line in enumerate(re.split("\r\n?|\n", content), 1):
        if _UNQUOTED.match(line):
            raise InputError(
                f"{path}: damaged .po file (line {number}). Accepted: a text "
                f'in quotes, with \\" for a quote. Received: {shown(line)}'
            )
    # polib doesn't decode escapes for bytes, such as those of terminal colours.
    content = re.sub(
        r"(?m)^[^#].*",
        lambda line: _BYTES.sub(unescaped, line[0]),
        content,
    )
    with tempfile.NamedTemporaryFile() as file:
        # In a file: polib opens a content that is also a path, and splits its
        # lines differently.
        file.write(content.encode())
        file.flush()
        try:
            catalog = polib.pofile(file.name, encoding="utf-8")
        except (OSError, ValueError) as error:
            reason = str(error).replace("Syntax error in po file", "")
            reason = reason.replace(file.name, "").strip()
            raise InputError(f"{path}: damaged .po file {reason}") from None
    for entry in catalog:
        if bool(entry.msgid_plural) != bool(entry.msgstr_plural):
            # polib doesn't write an empty msgid_plural.
            lacks = "msgstr[0]" if entry.msgid_plural else "msgid_plural"
            raise InputError(
                f"{path}: damaged .po file (no {lacks} of {shown(entry.msgid)})"
            )
    return catalog


def plural_form(catalog: Any, entry: Any, number: int) -> int:
    """The plural form of a message for a number, by the catalog's header.

    Without a rule in the header: the first form for 1, the last for others.
    """
    rule = re.search(
        r"plural\s*=([^;]+)", catalog.metadata.get("Plural-Forms", "")
    )
    form: int | None = None
    if rule:
        with contextlib.suppress(ValueError, ZeroDivisionError):
            form = gettext.c2py(rule[1])(number)
    forms = list(entry.msgstr_plural)
    if form is None or form not in forms:
        form = forms[0 if number == 1 else -1]
    return form


class _XmlCatalog(_Catalog):
    """A catalog in XML, read without resolving entities or other files."""

    def _read_xml(self, path):
        """Parses the file and returns the root element."""
        etree = installed("lxml.etree", "lxml")
        parser = etree.XMLParser(
            resolve_entities=False, no_network=True, load_dtd=False
        )
        # As bytes, because lxml decodes them by the XML declaration.
        content = read_bytes(path, largest=LARGEST)
        try:
            root = etree.fromstring(content, parser)
        except (etree.XMLSyntaxError, ValueError) as error:
            raise InputError(f"{path}: damaged XML ({error})") from None
        self._tree = root.getroottree()
        return root

    def _content(self):
        etree = installed("lxml.etree", "lxml")
        xml = etree.tostring(self._tree, xml_declaration=True, encoding="UTF-8")
        return xml + b"\n"


class XliffCatalog(_XmlCatalog):
    """An XLIFF file of version 1.2 or 2; targets are marked for review.

    Raises:
        InputError: lxml isn't installed, or the file is damaged or has other
            languages.
    """

    def _read(self, path, languages, overwrite):
        root = self._read_xml(path)
        if _name(root) != "xliff":
            raise InputError(
                f"{path}: no XLIFF file. Received: an element {_name(root)}"
            )
        self._is_2 = root.get("version", "1.2").startswith("2")
        unit_name = "segment" if self._is_2 else "trans-unit"
        names, element = ("source-language", "target-language"), "{*}file"
        if self._is_2:
            names, element = ("srcLang", "trgLang"), "{*}xliff"
        for file in root.iter(element) if languages else ():
            for name, language in zip(names, languages, strict=True):
                _require_language(path, name, file.get(name), language)
            if not file.get(names[1]):
                file.set(names[1], languages[1])
        for unit in root.iter(f"{{*}}{unit_name}"):
            sources, targets = _segments(unit)
            for mid, source in sources.items():
                target = targets.get(mid)
                has_target = (
                    target is not None
                    and _text(target).strip()
                    and _state(unit) not in UNTRANSLATED
                )
                if source is None or not _has_text(source):
                    continue
                closed = unit.xpath(
                    "ancestor-or-self::*[@translate!=''][1][@translate='no']"
                )
                if closed or (has_target and not overwrite):
                    continue
                text, inline = _tagged(source)
                kept = source.xpath(
                    "ancestor-or-self::*[@xml:space='preserve']"
                )
                if "\n" in text and not kept:
                    text = " ".join(text.split())  # Line breaks of the file.
                yield text, (unit, mid, targets, inline)

    def _fill(self, place, text):
        unit, mid, targets, inline = place
        if mid not in targets:
            targets |= _new_targets(unit, is_divided=mid is not None)
        _replace(targets[mid], text, inline)
        if self._is_2:
            unit.set("state", "translated")
            unit.attrib.pop("subState", None)  # It qualified the old state.
        else:
            _child(unit, "target").set("state", "needs-review-translation")
            unit.attrib.pop("approved", None)


class TmxCatalog(_XmlCatalog):
    """A TMX file; translations are added to units without the target language.

    Raises:
        InputError: lxml isn't installed, the languages aren't known, or the
            file is damaged or has no text in the source language.
    """

    def _read(self, path, languages, overwrite):
        if languages is None:
            raise InputError(
                f"{path}: the languages aren't known here. Accepted: a .tmx "
                "file with --run, --saved-model or --ctranslate2"
            )
        source, self._language = languages
        units = list(self._read_xml(path).iter("{*}tu"))
        found = {
            language_of(each) for unit in units for each in _variants(unit)
        }
        if tag_of_language(found, source) is None:
            raise InputError(
                f"{path}: no text in {source}. Received: a file of "
                f"{', '.join(sorted(found)) or 'no texts'}"
            )
        for unit in units:
            variants = {language_of(each): each for each in _variants(unit)}
            ours = _of_language(variants, source)
            # Both may be variants of one language.
            others = {k: v for k, v in variants.items() if v is not ours}
            theirs = _of_language(others, self._language)
            done = theirs is not None and _text(theirs).strip()
            if ours is None or (done and not overwrite):
                continue
            segment = _child(ours, "seg")
            if segment is None or not _has_text(segment):
                continue
            text, inline = _tagged(segment)
            yield text, (unit, ours, theirs, inline)

    def _fill(self, place, text):
        unit, ours, theirs, inline = place
        if theirs is None:
            theirs = ours.makeelement(ours.tag, {_LANG: self._language})
            theirs.tail = ours.tail
            unit.append(theirs)
        if _child(theirs, "seg") is None:
            theirs.append(ours.makeelement(_child(ours, "seg").tag))
        _replace(_child(theirs, "seg"), text, inline)


def _name(element):
    """The name of an element without its namespace."""
    return element.tag.rpartition("}")[2]


def _child(element, name):
    """The first child with a name; None if there is none."""
    return element.find(f"{{*}}{name}")


def _text(element):
    return "".join(element.itertext())


def _has_text(element):
    """True if an element, or an inline element around text, has text."""
    own = [element.text, *(child.tail for child in element)]
    return any(text and text.strip() for text in own) or any(
        _is_around_text(child) and _has_text(child) for child in element
    )


def _is_around_text(element):
    """True if the content of an element is text, which may be translated."""
    return (
        isinstance(element.tag, str)  # The tag of a comment isn't a string.
        and _name(element) in _AROUND_TEXT
        and element.get("mtype") != "protected"
        and element.get("translate") != "no"
    )


def _ends_of(parent):
    """The codes in an element that end a pair, by those that begin it."""
    ends: dict[Any, Any] = {}
    later: dict[tuple, Any] = {}
    for code in reversed(parent):
        if isinstance(code.tag, str):
            name, pair = _name(code), _pair(code)
            if (_ENDS.get(name), pair) in later:
                ends[code] = later[_ENDS[name], pair]
            later[name, pair] = code
    return ends


def _pair(code):
    """The identifier that both codes of a pair have."""
    names = ("rid", "i", "startRef", "id")
    return next(filter(None, map(code.get, names)), None)


def _tagged(element):
    """The text of an element with tags such as `<x1>`, and tags' elements."""
    name = unused_tag(_text(element))
    elements: dict[str, Any] = {}

    def text_of(parent):
        text = parent.text or ""
        ends: dict[Any, str] = {}
        ends_of = _ends_of(parent)
        for child in parent:
            tag = ends.get(child, f"{name}{len(elements) + 1}")
            elements[tag] = child
            if child in ends_of:
                ends[ends_of[child]] = f"/{tag}"
            if child in ends or child in ends_of:
                text += f"<{tag}>"
            elif _is_around_text(child):
                text += f"<{tag}>{text_of(child)}</{tag}>"
            else:
                text += f"<{tag}/>"
            text += child.tail or ""
        return text

    return text_of(element), elements


def _replace(element, text, elements):
    """Replaces an element's content by a text, copying elements for tags."""
    for child in list(element):
        element.remove(child)
    element.text = ""
    parents, end = [element], 0
    for match in re.finditer(r"<(/?)(x+\d+)(/?)>", text):
        if match[2] not in elements:
            continue
        _append(parents[-1], text[end : match.start()])
        end = match.end()
        code = elements.get(match[1] + match[2])
        if code is None:
            parents = parents[:-1] or [element]
            continue
        child = copy.deepcopy(code)
        child.tail = None
        parents[-1].append(child)
        if not match[3] and _is_around_text(child):
            child[:] = []
            child.text = ""
            parents.append(child)
    _append(parents[-1], text[end:])


def _append(parent, text):
    # lxml counts the children for `len`.
    last = next(parent.iterchildren(reversed=True), None)
    if last is None:
        parent.text += text
    else:
        last.tail = (last.tail or "") + text


def _state(unit):
    """The state of a segment (XLIFF 2) or its target (1.2); None: not given."""
    return unit.get("state") or _child(unit, "target").get("state")


def _segments(unit):
    """The sources of a unit's segments, and their targets, by their `mid`.

    A unit is one segment, whose `mid` is None, unless a program has divided the
    source (XLIFF 1.2).
    """
    source, target = _child(unit, "source"), _child(unit, "target")
    divided = _child(unit, "seg-source")
    sources = {} if divided is None else _marks(divided)
    targets = {} if target is None else _marks(target)
    is_whole = target is not None and not targets and _text(target).strip()
    if not sources or is_whole:
        return {None: source}, {} if target is None else {None: target}
    return sources, targets


def _marks(element):
    """The segments in an element, by their `mid`."""
    segments = element.xpath(
        ".//*[local-name()='mrk'][@mtype='seg'][not(ancestor::*[@mtype='seg'])]"
    )
    return {each.get("mid", ""): each for each in segments}


def _new_targets(unit, is_divided):
    """Adds a target to a unit, or the segments that its target lacks.

    Returns:
        the targets of its segments, by their `mid`.
    """
    source, target = _child(unit, "source"), _child(unit, "target")
    divided = _child(unit, "seg-source")
    if target is None:
        target = source.makeelement(source.tag[: -len("source")] + "target")
        if _SPACE in source.attrib:
            target.set(_SPACE, source.get(_SPACE))
        # By the schema, the target comes after the source's segments.
        before = source if divided is None else divided
        target.tail = before.tail
        before.addnext(target)
    if not is_divided:
        return {None: target}
    # A copy of the source keeps the codes and white space between segments.
    done, segments = _marks(target), _marks(copied := copy.deepcopy(divided))
    target.text, target[:] = copied.text, list(copied)
    for mid, segment in segments.items():
        segment[:], segment.text = [], None
        if mid in done:
            done[mid].tail = segment.tail
            segment.getparent().replace(segment, done[mid])
    target.extend(done[mid] for mid in done if mid not in segments)
    return segments | done


def _variants(unit):
    return unit.findall("{*}tuv")


def language_of(variant: Any) -> str:
    """The language of an element of TMX, "" if it has none."""
    # TMX before 1.4 has an attribute `lang` without a namespace.
    return variant.get(_LANG) or variant.get("lang") or ""


def _of_language(variants, language):
    tag = tag_of_language(variants, language)
    return None if tag is None else variants[tag]
