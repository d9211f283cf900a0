"""Word: paragraphs of .docx files, with the formatting of their runs.

The formatting that most of a paragraph has is plain; runs of another and links
are tags of its text, and within a link most of its own is plain. Pictures,
notes and breaks are marks, too.
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
_MARGINS = "header", "footer"
_SPACE = "{http://www.w3.org/XML/1998/namespace}space"
# Of runs: links, insertions that are tracked, fields of forms.
_CONTAINERS = {
    f"{_W}{name}"
    for name in (
        "bdo customXml dir fldSimple hyperlink ins moveTo sdt sdtContent "
        "smartTag"
    ).split()
}
_PROPERTIES = {
    f"{_W}{name}" for name in ("customXmlPr", "pPr", "sdtPr", "sdtEndPr")
}
_OF_SPELLING = {f"{_W}lang", f"{_W}noProof"}
# Of no use beside another text.
_DROPPED = {
    f"{_W}{name}"
    for name in ("proofErr", "lastRenderedPageBreak", "softHyphen")
}

_NO_LETTERS = re.compile(r"(?:[\d_]|[^\w\s])+")
_WITH_RUBY = "with ruby"


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
            # A size may be a lie, which the checksum shows.
            if size > LARGEST or archive.testzip():
                raise ValueError("it unpacks to too much")
            self._document = docx.Document(io.BytesIO(content))
            paragraphs = [_Paragraph(p) for p in _paragraphs(self._document)]
        except Exception as error:  # python-docx has no class of its own.
            raise InputError(
                f"{path}: no .docx file, or a damaged one ({error})"
            ) from None
        self._paragraphs = [p for p in paragraphs if p.has_letters]
        self.texts = [paragraph.text for paragraph in self._paragraphs]
        left = sum(paragraph.left for paragraph in paragraphs)
        self.skipped: dict[str, int] = {_WITH_RUBY: left} if left else {}

    def translated(self, texts: Iterable[str]) -> Iterable[bytes]:
        """See `Document.translated`."""
        for paragraph, text in zip(self._paragraphs, texts, strict=True):
            paragraph.replace(text)
        content = io.BytesIO()
        self._document.save(content)
        return [content.getvalue()]


def _paragraphs(document) -> Iterator:
    """The paragraphs of the text, its tables, headers and footers."""
    roots = [document.element.body]
    for section in document.sections:
        kinds = ("", "first_page_", "even_page_")
        names = [f"{kind}{place}" for kind in kinds for place in _MARGINS]
        for part in (getattr(section, name) for name in names):
            if not part.is_linked_to_previous:
                roots.append(part.part.element)
    for root in roots:
        yield from root.iter(f"{_W}p")


class _Paragraph:
    """A paragraph as a text with tags.

    Attributes:
        text: of it.
        has_letters: whether there is something to translate.
        left: the number of its marks that have letters, which stay.
    """

    def __init__(self, element):
        self._element = element
        self.left = 0
        _split_runs(element)
        texts = "".join(text.text or "" for text in element.iter(f"{_W}t"))
        self._name = unused_tag(texts)
        self._tag = re.compile(rf"<(/?){self._name}(\d+)(/?)>")
        # By the numbers of tags; 0: what is in no tag.
        self._runs: dict[int, Any] = {}
        self._containers: dict[int, Any] = {0: element}
        # By what is in tags: "1", and "/1" if it begins something.
        self._codes: dict[str, list] = {}
        self._numbers = itertools.count(1)
        self.text = "".join(self._tagged(0))
        self.has_letters = any(map(str.isalpha, self._tag.sub("", self.text)))

    def _tagged(self, container):
        """Yields the texts and tags in the container of a number."""
        content = _innermost(self._containers[container])
        pieces = _with_numbers([*_pieces(content)])
        plain, pairs = _plain_formatting(pieces), _pairs(pieces)
        starts: dict[Any, int] = {}  # of ends
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
            elif _has_text(first):
                self._containers[number] = first
                yield f"<{tag}>"
                yield from self._tagged(number)
                yield f"</{tag}>"
            else:
                self.left += sum(
                    _has_letters(c, self._element) for c in children
                )
                self._codes[f"{number}"] = children
                end = pairs.get(first)
                starts[end] = number
                yield f"<{tag}{'/' if end is None else ''}>"

    def replace(self, text):
        """Puts a translation in place of the text.

        Its tags are those of the text, unless they were translated as words:
        then some may be missing, and others are passed over.
        """
        own = {match[0] for match in self._tag.finditer(self.text)}
        for container in self._containers.values():
            content = _innermost(container)
            for child in _content(content):
                content.remove(child)
        open_tags = [(0, _innermost(self._element))]
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

    def _add(self, text, number, parent):
        """Adds a text in the formatting of the tag of a number."""
        if not text:
            return
        if number in self._runs:
            run = copy.deepcopy(self._runs[number])
        else:  # There was no text, only links.
            run = parent.makeelement(f"{_W}r")
            run.append(run.makeelement(f"{_W}t"))
        place = run.find(f"{_W}t")
        place.text = text
        place.set(_SPACE, "preserve")
        parent.append(run)


def _content(element):
    """A list of an element's children that are no properties of it."""
    return [child for child in element if child.tag not in _PROPERTIES]


def _innermost(element):
    """An element, or the one that all its content is in."""
    content = _content(element)
    if len(content) == 1 and content[0].tag in _CONTAINERS:
        return _innermost(content[0])
    return element


def _split_runs(parent):
    """Gives tabs and breaks that are beside text in a run runs of their own."""
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
                child.tag, child.text = f"{_W}t", "-"
        properties = run.find(f"{_W}rPr")
        content = [child for child in run if child is not properties]
        for child in reversed(content[1:]):
            part = run.makeelement(run.tag)
            if properties is not None:
                part.append(copy.deepcopy(properties))
            part.append(child)
            run.addnext(part)


def _pieces(parent):
    """Yields lists of an element's children, and the text of each or None.

    A field's children up to its result stay together.
    """
    codes: list = []
    depth = 0  # of fields whose results have not begun
    for child in _content(parent):
        kind = _field_code(child)
        if kind == "begin":
            depth += 1
        elif depth and (kind == "end" or (kind == "separate" and depth == 1)):
            depth -= 1
        elif not depth:
            yield [child], _text_of(child)
            continue
        codes.append(child)
        if not depth:
            yield codes, None
            codes = []
    for child in codes:  # Their result is in another paragraph.
        yield [child], _text_of(child)


def _with_numbers(pieces):
    """Pieces whose raised and lowered ones without letters are no texts.

    Those before a letter stay, as in a formula.
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


def _field_code(run):
    """`begin`, `separate` or `end` of a field; None: no such."""
    code = run.find(f"{_W}fldChar")
    return None if code is None else code.get(f"{_W}fldCharType")


def _pairs(pieces):
    """What begins something, such as a bookmark, and what ends it.

    Of pairs that cross the first one is a pair.
    """
    pairs = {}
    begun: list = []
    counts: collections.Counter = collections.Counter()  # of `begun`
    for children, _ in pieces:
        code = children[-1]
        kind, name = _field_code(code), str(code.tag)  # A comment has none.
        key = re.sub("(Start|End)$", "", name), code.get(f"{_W}id")
        if kind == "separate" or name.endswith("Start"):
            begun.append((key, children[0]))
            counts[key] += 1
        elif (kind == "end" or name.endswith("End")) and counts[key]:
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
    """What is the same for pieces that become one, next to each other."""
    children, text = piece
    return children[0] if text is None else _formatting(children[0])


def _text_of(element):
    """The text of a run of nothing else; None: of others."""
    if element.tag != f"{_W}r":
        return None
    content = [child for child in element if child.tag != f"{_W}rPr"]
    if not content or any(child.tag != f"{_W}t" for child in content):
        return None
    return "".join(child.text or "" for child in content)


def _has_text(mark):
    """True if a mark is a container of runs with text."""
    return mark.tag in _CONTAINERS and mark.find(f".//{_W}t") is not None


def _has_letters(mark, paragraph):
    """True if a mark of a paragraph shows letters of the paragraph's own."""
    return mark.tag != f"{_W}moveFrom" and any(
        any(map(str.isalpha, text.text or ""))
        # Text boxes have paragraphs of their own.
        and next(text.iterancestors(f"{_W}p")) is paragraph
        for text in mark.iter(f"{_W}t")
    )


def _formatting(run):
    """What tells the formatting of runs apart."""
    properties = run.find(f"{_W}rPr")
    return "".join(
        f"{child.tag}{sorted(child.attrib.items())}"
        for child in (() if properties is None else properties)
        if child.tag not in _OF_SPELLING
    )
