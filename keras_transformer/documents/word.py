"""Word: paragraphs of .docx files, with the formatting of their runs.

The formatting of most of a paragraph's text counts as plain; runs with another
formatting, and links, are tags of the text. Within a link, its own most common
formatting is plain. Pictures and notes are marks, too. Breaks and tabs end a
text, as they separate texts in a list or a table of contents.
"""

import collections
import copy
import io
import itertools
import pathlib
import re
import zipfile
from collections.abc import Iterable, Iterator
from typing import Any

from keras_transformer.documents.document import LARGEST, installed
from keras_transformer.documents.markup import unused_tag
from keras_transformer.errors import InputError
from keras_transformer.system.files import read_bytes

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_TEXT = f"{_W}t"
_MARGINS = "header", "footer"
_SPACE = "{http://www.w3.org/XML/1998/namespace}space"
# Containers of runs: links, tracked insertions, form fields.
_CONTAINERS = {
    f"{_W}{name}"
    for name in (
        "bdo customXml dir fldSimple hyperlink ins moveTo sdt sdtContent "
        "smartTag"
    ).split()
}
_PROPERTIES = {
    f"{_W}{name}"
    for name in "customXmlPr fldData pPr sdtEndPr sdtPr smartTagPr".split()
}
_BREAKS = [f"{_W}{name}" for name in ("br", "cr", "ptab", "tab")]
# Properties of a run's language and script, which Word sets as text is typed.
_OF_LANGUAGE = {f"{_W}{name}" for name in ("cs", "lang", "noProof", "rtl")}
# Elements that don't apply to another text.
_DROPPED = {
    f"{_W}{name}"
    for name in ("proofErr", "lastRenderedPageBreak", "softHyphen")
}

_NO_LETTERS = re.compile(r"(?:[\d_]|[^\w\s])+")
_IN_OTHERS = "in elements such as ruby"


class WordDocument:
    """A `Document` of a .docx file.

    Args:
        path: of the file.

    Raises:
        InputError: python-docx isn't installed, or the file is damaged.
    """

    def __init__(self, path: pathlib.Path) -> None:
        docx = installed("docx", "python-docx")
        content = read_bytes(path, largest=LARGEST)
        try:
            archive = zipfile.ZipFile(io.BytesIO(content))
            size = sum(member.file_size for member in archive.infolist())
            # A declared size may be false, which `testzip` detects.
            if size > LARGEST or archive.testzip():
                raise ValueError("it unpacks to too much")
            self._document = docx.Document(io.BytesIO(content))
            lines = [
                line
                for paragraph in list(_paragraphs(self._document))
                for line in _lines(paragraph)
            ]
        except Exception as error:  # python-docx raises many kinds of errors.
            raise InputError(
                f"{path}: no .docx file, or a damaged one ({error})"
            ) from None
        self._lines = [line for line in lines if line.has_letters]
        self.texts = [line.text for line in self._lines]
        left = sum(line.left for line in lines)
        self.skipped: dict[str, int] = {_IN_OTHERS: left} if left else {}

    def translated(self, texts: Iterable[str]) -> Iterable[bytes]:
        """See `Document.translated`."""
        for line, text in zip(self._lines, texts, strict=True):
            line.replace(text)
        content = io.BytesIO()
        self._document.save(content)
        return [content.getvalue()]


def _paragraphs(document) -> Iterator:
    """Yields the paragraphs of the body, tables, headers and footers."""
    roots = [document.element.body]
    for section in document.sections:
        kinds = ("", "first_page_", "even_page_")
        names = [f"{kind}{place}" for kind in kinds for place in _MARGINS]
        for part in (getattr(section, name) for name in names):
            if not part.is_linked_to_previous:
                roots.append(part.part.element)
    for root in dict.fromkeys(roots):  # Sections may share a header.
        yield from root.iter(f"{_W}p")


def _lines(paragraph):
    """A list of a paragraph's lines."""
    _split_runs(paragraph)
    return [_Line(children) for children in _between_breaks(paragraph)]


def _between_breaks(parent):
    """Yields lists of an element's children, divided at breaks."""
    children: list = []
    for child in _content(parent):
        is_container = child.tag in _CONTAINERS
        found = child.iter(*_BREAKS) if is_container else child
        if not any(each.tag in _BREAKS for each in found):
            children.append(child)
            continue
        if children:
            yield children
        children = []
        if is_container:
            yield from _between_breaks(child)
    if children:
        yield children


class _Line:
    """The content between two breaks of a paragraph, as a text with tags.

    Args:
        children: successive children of one element.

    Attributes:
        text: the text with tags.
        has_letters: whether there is something to translate.
        left: the number of marks with letters, which aren't translated.
    """

    def __init__(self, children):
        while len(children) == 1 and children[0].tag in _CONTAINERS:
            children = _content(children[0])
        self._children = children
        self.left = 0
        texts = (text.text or "" for c in children for text in c.iter(_TEXT))
        self._name = unused_tag("".join(texts))
        self._tag = re.compile(rf"<(/?){self._name}(\d+)(/?)>")
        # By the numbers of tags; run 0 has the formatting outside of tags.
        self._runs: dict[int, Any] = {}
        self._containers: dict[int, Any] = {}
        # By the content of tags: "1", and "/1" for the end of a pair.
        self._codes: dict[str, list] = {}
        self._numbers = itertools.count(1)
        self.text = "".join(self._tagged(children, 0))
        self.has_letters = any(map(str.isalpha, self._tag.sub("", self.text)))

    def _tagged(self, children, container):
        """Yields texts and tags for the children of a numbered container."""
        pieces = _with_numbers(_whole_fields(_pieces(children)))
        plain, pairs = _plain_formatting(pieces), _pairs(pieces)
        starts: dict[Any, int] = {}  # numbers of beginnings, by their ends
        for formatting, group in itertools.groupby(pieces, key=_group):
            number = next(self._numbers)
            children, text = next(group)
            first, tag = children[0], f"{self._name}{number}"
            if text is not None:
                text += "".join(text for _, text in group)
                if formatting == plain:
                    number = container
                self._runs.setdefault(number, first)
                yield text if number == container else f"<{tag}>{text}</{tag}>"
            elif first in starts:
                self._codes[f"/{starts[first]}"] = children
                yield f"</{self._name}{starts[first]}>"
            elif len(children) == 1 and _is_opened(first):
                self._containers[number] = first
                yield f"<{tag}>"
                yield from self._tagged(_content(_innermost(first)), number)
                yield f"</{tag}>"
            else:
                self.left += sum(map(_has_letters, children))
                self._codes[f"{number}"] = children
                end = pairs.get(first)
                starts[end] = number
                yield f"<{tag}{'/' if end is None else ''}>"

    def replace(self, text):
        """Replaces the text by a translation.

        It has the same tags, unless these were translated as words: then some
        may be missing, and unknown ones are ignored.
        """
        own = {match[0] for match in self._tag.finditer(self.text)}
        # The deepest first, as lxml visits all descendants of what it removes.
        for container in reversed(self._containers.values()):
            content = _innermost(container)
            for child in _content(content):
                content.remove(child)
        first = self._children[0]
        line = first.getparent().makeelement("line")
        first.addprevious(line)
        for child in self._children:
            child.getparent().remove(child)
        open_tags = [(0, line)]
        end = 0
        for match in self._tag.finditer(text):
            self._add(text[end : match.start()], *open_tags[-1])
            end = match.end()
            if match[0] not in own:
                continue
            parent = open_tags[-1][1]
            if codes := self._codes.get(match[1] + match[2]):
                parent.extend(codes)
            elif match[1]:
                open_tags = open_tags[:-1] or open_tags
            else:
                number = int(match[2])
                if number in self._containers:
                    element = copy.deepcopy(self._containers[number])
                    parent.append(element)
                    parent = _innermost(element)
                open_tags.append((number, parent))
        self._add(text[end:], *open_tags[0])
        for child in list(line):
            line.addprevious(child)
        line.getparent().remove(line)

    def _add(self, text, number, parent):
        """Adds a text with the formatting of a numbered tag."""
        if not text:
            return
        if number in self._runs:
            run = copy.deepcopy(self._runs[number])
        else:  # The source has no text outside of links.
            run = parent.makeelement(f"{_W}r")
            run.append(run.makeelement(_TEXT))
        place = run.find(_TEXT)
        place.text = text
        place.set(_SPACE, "preserve")
        parent.append(run)


def _content(element):
    """A list of an element's children except its properties."""
    return [child for child in element if child.tag not in _PROPERTIES]


def _innermost(element):
    """An element, or the innermost container of its whole content."""
    content = _content(element)
    if len(content) == 1 and content[0].tag in _CONTAINERS:
        return _innermost(content[0])
    return element


def _split_runs(parent):
    """Splits runs so that each has one child, such as a text or a break."""
    for run in list(parent):
        if run.tag in _DROPPED:
            parent.remove(run)
        if run.tag in _CONTAINERS:
            _split_runs(run)
        if run.tag != f"{_W}r":
            continue
        for child in list(run):
            if child.tag in _DROPPED:
                run.remove(child)
            elif child.tag == f"{_W}noBreakHyphen":
                child.tag, child.text = _TEXT, "-"
        properties = run.find(f"{_W}rPr")
        content = [child for child in run if child is not properties]
        if not content:
            parent.remove(run)
        for child in reversed(content[1:]):
            part = run.makeelement(run.tag)
            if properties is not None:
                part.append(copy.deepcopy(properties))
            part.append(child)
            run.addnext(part)


def _pieces(children):
    """Groups an element's children; yields lists, each with its text or None.

    A field's children before its result are one list.
    """
    codes: list = []
    depth = 0  # nested fields whose results haven't begun
    for child in children:
        was_closed = not depth
        for kind in _field_codes([child]):
            if kind == "begin":
                depth += 1
            elif depth and (kind == "end" or depth == 1):
                depth -= 1
        if was_closed and not depth:
            yield [child], _text_of(child)
            continue
        codes.append(child)
        if not depth:
            yield codes, None
            codes = []
    for child in codes:  # The field's result is in another paragraph.
        yield [child], _text_of(child)


def _whole_fields(pieces):
    """A list of pieces, with fields merged if their result has no letters.

    For example a page number.
    """
    whole: list = []
    begun = None  # index of a field without letters in its result so far
    for children, text in pieces:
        whole.append((children, text))
        kinds = _field_codes(children)
        if text is not None:
            begun = None if any(map(str.isalpha, text)) else begun
        elif kinds == ["end"] and begun is not None:
            field = [
                child for children, _ in whole[begun:] for child in children
            ]
            whole[begun:] = [(field, None)]
            begun = None
        else:
            begun = len(whole) - 1 if kinds[-1:] == ["separate"] else None
    return whole


def _with_numbers(pieces):
    """Makes raised and lowered pieces without letters marks instead of texts.

    Except before a letter, as in a formula.
    """
    following = [text or "" for _, text in [*pieces[1:], (None, "")]]
    return [
        (children, None if _is_number(children[0], text, after) else text)
        for (children, text), after in zip(pieces, following, strict=False)
    ]


def _is_number(element, text, after):
    align = element.find(f"{_W}rPr/{_W}vertAlign")
    return (
        align is not None
        and align.get(f"{_W}val") != "baseline"
        and _NO_LETTERS.fullmatch(text or "") is not None
        and not re.match("[A-Za-z]", after)
    )


def _field_codes(elements):
    """The `begin`, `separate` and `end` codes of the fields in elements."""
    return [
        code.get(f"{_W}fldCharType")
        for element in elements
        for code in element.iter(f"{_W}fldChar")
    ]


def _pairs(pieces):
    """Maps elements that begin a pair, such as a bookmark, to those ending it.

    Of crossing pairs, only the one that ends first is a pair.
    """
    pairs = {}
    begun: list = []
    counts: collections.Counter = collections.Counter()  # of `begun`
    for children, _ in pieces:
        if len(children) == 1 and _is_opened(children[0]):
            continue
        code = children[-1]
        name, kinds = str(code.tag), _field_codes(children)
        key = re.sub("(Start|End)$", "", name), code.get(f"{_W}id")
        if kinds:
            key = "field", None
        if kinds[-1:] == ["separate"] or name.endswith("Start"):
            begun.append((key, children[0]))
            counts[key] += 1
        elif (kinds == ["end"] or name.endswith("End")) and counts[key]:
            other = None
            while other != key:
                other, start = begun.pop()
                counts[other] -= 1
            pairs[start] = children[0]
    return pairs


def _plain_formatting(pieces):
    """The formatting of most of the text."""
    lengths: collections.Counter = collections.Counter()
    for (first, *_), text in pieces:
        if text is not None:
            lengths[_formatting(first)] += len(text)
    return max(lengths, key=lengths.__getitem__, default=None)


def _group(piece):
    """A key that is the same for adjacent pieces that are merged."""
    children, text = piece
    return children[0] if text is None else _formatting(children[0])


def _text_of(element):
    """The text of a run with only text; None for other elements."""
    if element.tag != f"{_W}r":
        return None
    content = [child for child in element if child.tag != f"{_W}rPr"]
    if not content or any(child.tag != _TEXT for child in content):
        return None
    return "".join(child.text or "" for child in content)


def _is_opened(mark):
    """True if a mark is a container of text with letters."""
    return mark.tag in _CONTAINERS and any(
        any(map(str.isalpha, text.text or "")) for text in mark.iter(_TEXT)
    )


def _has_letters(mark):
    """True if a mark shows letters of its own paragraph."""
    paragraph = next(mark.iterancestors(f"{_W}p"))
    return mark.tag != f"{_W}moveFrom" and any(
        any(map(str.isalpha, text.text or ""))
        # Text boxes have paragraphs of their own.
        and next(text.iterancestors(f"{_W}p")) is paragraph
        for text in mark.iter(_TEXT)
    )


def _formatting(run):
    """A key that is equal for runs with the same formatting."""
    key = ""
    for child in run.iterfind(f"{_W}rPr//*"):
        # The hint says to which script a character shared by several belongs.
        values = {**child.attrib}
        is_hint = values.pop(f"{_W}hint", None) is not None and not values
        if child.tag not in _OF_LANGUAGE and not is_hint:
            key += f"{child.tag}{sorted(values.items())}"
    return key
