"""Pages: Markdown and HTML.

A paragraph, heading, item or cell is one text. What is marked in it (emphasis,
links, code) is a tag of the text, for `documents.markup` to place; code blocks,
front matter, scripts, comments and attributes stay as they are.

References: CommonMark 0.31; HTML Living Standard, "Phrasing content".
"""

import functools
import html
import itertools
import pathlib
import re
import types
from collections.abc import Iterable
from typing import NamedTuple

from keras_transformer.documents.document import installed, read_text
from keras_transformer.documents.markup import ENTITY, MARKUP, TAG, unused_tag

# A tag that was written as characters, and what other Markdown than CommonMark
# has for footnotes and a table of contents.
_VERBATIM = re.compile(
    r"(</?[A-Za-z][^<>]*>|\[\^[^\[\]\s]+\]:?|(?i:\[TOC\])|\[\[[^\[\]]+\]\]"
    r"|(?<!\S):[a-z0-9_+-]+:(?!\S))"
)
_FRONT_MATTER = re.compile(
    r"\ufeff?(---|\+\+\+)\n.*?\n(?:\1|\.\.\.)\n", re.DOTALL
)
_EMPHASIS = {"*": "em", "_": "em", "**": "strong", "__": "strong", "~~": "del"}
_SPELT = "of Markdown that wasn't found in the file"
_IN_HTML = "in blocks of HTML"
# What begins a footnote, an abbreviation or a definition; and an item's box.
_NOTE = re.compile(r"(?:\[\^[^\]\s]+\]|\*\[[^\]\n]+\])?: +")
_LABEL = re.compile(rf"\[[ xX]\] +|{_NOTE.pattern}")
# A formula, as GitHub and Pandoc have them.
_MATH = re.compile(r"\$\$[^$]+\$\$|\$(?![\s$])[^$\n]+(?<!\s)\$(?!\d)")
# One of MathJax: it has a command or an index, or no word in parentheses. What
# else is in escaped brackets is text, as are three words in a row.
_INDEXED = (
    r"(?![^\\]*?[^\W\d_]{3} [^\W\d_]{3,} [^\W\d_]{3})"
    r"[^\\_^]*(?:(?<![\s(\[])[_^]|\\[A-Za-z])"
)
_TEX = (
    rf"\\\[{_INDEXED}(?:[^\\]|\\[^\[\]])*\\\]|(?<![\w\]])\\\("
    rf"(?:{_INDEXED}(?:[^\\]|\\[^()])*|(?:(?![A-Za-z]{{3}})[^\\])+)\\\)"
)
# Attributes, as Python-Markdown, kramdown and Pandoc have them.
_ATTRIBUTES = r"\{(?::| ?(?:[#.=]|data-|[\w-]+=))[^{}\n]*\}"
_WITH_ATTRIBUTES = ("link_close", "image", "code_inline")
_LAST_ATTRIBUTES = re.compile(rf"(?<=\S)[ \t]+{_ATTRIBUTES}$")
# A formula, a table of contents of GitLab, a code of MyST with its role, an
# address in brackets, a backslash that breaks a line, or attributes.
_AS_IS = re.compile(
    rf"{_MATH.pattern}|{_TEX}|\[\[_TOC_\]\]|\{{[\w:.+-]+\}}`[^`]+`(?!`)"
    r"|<(?:[A-Za-z][A-Za-z0-9.+-]+:[^\s<>]*|[^\s<>@\\]+@[\w.-]+)>"
    r"|(?P<hardbreak>\\\n[ \t]*)"
    rf"|(?P<attributes>(?<![{{$#%]){_ATTRIBUTES}(?!\}}))"
)
# An address with a template of Jekyll or Hugo.
_TEMPLATE = re.compile(r"(?:[^\s(){]*\{(?:\{[^{}]*\}|%[^{}]*%)\})+[^\s(){]*")
# Templates of Jekyll and Hugo around code.
_CODE_NAMES = r"(?:highlight|codeblock|mermaid)(?![\w-])"
# A line that stays: the head of an alert of GitHub or Obsidian, what begins or
# ends a box, an include, a target of MyST, an import, templates or attributes.
_STAYS = re.compile(
    rf"(?P<code>\{{(?:\{{[<%]|%)-? *{_CODE_NAMES}|(?P<cut>-+8<-+$))"
    r"|(?P<alert>\[!\w+\](?![(\[:]))|:::|///+[ \t]*(?:[\w-]+[ \t]*)?(?:\||$)"
    r"|(?P<head>!!!|\?\?\?)|-+8<-|\([^()\s]+\)=[ \t]*$"
    r"|import (?:.* from )?['\"][@./][^'\"\n]*['\"];?[ \t]*$"
    rf"|(?:(?:{_ATTRIBUTES}|\{{%[^{{}}\n]*%\}}|\{{\{{[<%][^{{}}\n]*[>%]\}}\}})"
    r"[ \t]*)+$",
    re.MULTILINE,
)
_CODE_ENDS = re.compile(rf"(?:%-? *end|\{{\{{[<%] */ *){_CODE_NAMES}")
_CUT_ENDS = re.compile(r"-8<-+$", re.MULTILINE)
# The head of an admonition or a tab of MkDocs, whose body is indented.
_ADMONITION = re.compile(r"(?:!!!|\?\?\?\+?|===)[ \t]+\S")
# What would be read as markup where it was escaped or isn't any.
_SPECIAL = re.compile(
    r"[\\*`\[\]]|(?<![^\W_])_|_(?![^\W_])|<(?=[A-Za-z/!?])|~(?=~)|#$"
    r"|&(?=#?\w+;)"
)
# And what would begin another block.
_BLOCK = re.compile(
    r"^( {0,3}\d{0,9})((?:#{1,6}|[-+])(?=\s|$)|>|=+$|-+$|(?<=\d)[.)](?=\s|$))",
    re.MULTILINE,
)
# Tags of nothing, and white space within tags.
_LOOSE = re.compile(
    r"<(?P<empty>x+\d+)>\s*</(?P=empty)>|<(?P<begins>x+\d+)>\s+"
    r"|(?<!\s)\s+</(?P<ends>x+\d+)>"
)
# A tag beside a letter, and punctuation at its other side.
_BESIDE_LETTER = re.compile(
    r"(?<=\w)<(x+\d+)>(?=([^\w\s])?)|([^\w\s])?</(x+\d+)>(?=\w)"
)
# Tags that touch, where one mark ends and the next one begins.
_TOUCHING = re.compile(r"(</x+\d+>|<x+\d+/>)(?=(<x+\d+/?>))")


class _Inline(NamedTuple):
    """The content of a block of Markdown.

    Attributes:
        text: with tags such as `<x1>` in place of markup.
        marks: what each tag stands for, by tag; HTML's for themselves.
        start, end: its place in the file, characters.
        is_cell: whether it is of a table.
    """

    text: str
    marks: dict[str, str]
    start: int
    end: int
    is_cell: bool


class Markdown:
    """A `Document` of Markdown: CommonMark with tables and strikethrough.

    Args:
        path: of the file.

    Raises:
        InputError: markdown-it-py isn't installed, or the file isn't UTF-8.
    """

    def __init__(self, path: pathlib.Path) -> None:
        markdown_it = installed("markdown_it", "markdown-it-py")
        content = read_text(path)
        most = content.count("\r\n") * 2 > content.count("\n")
        self._newline = "\r\n" if most else "\n"
        self._content = re.sub("\r\n?", "\n", content)
        front = _FRONT_MATTER.match(self._content)
        begin = front.end() if front else int(content.startswith("\ufeff"))
        body = self._content[begin:]
        starts = [begin, *(begin + m.end() for m in re.finditer("\n", body))]
        starts.append(len(self._content))
        self._inlines: list[_Inline] = []
        tokens = _parser(markdown_it).parse(body)
        left = sum(
            any(map(str.isalpha, _PIECES.sub("", token.content)))
            for token in tokens
            if token.type == "html_block"
        )
        self.skipped: dict[str, int] = {_IN_HTML: left} if left else {}
        place = begin
        for before, token in itertools.pairwise(tokens):
            if token.type == "inline" and token.content.strip():
                place = max(place, starts[token.map[0]])
                is_cell = before.tag in ("td", "th")
                last = starts[token.map[1]]
                inline = self._inline(token, place, last, is_cell)
                if inline is None:
                    self.skipped[_SPELT] = self.skipped.get(_SPELT, 0) + 1
                else:
                    place = inline.end
                    if _has_letters(inline.text):
                        self._inlines.append(inline)
        self.texts = [inline.text for inline in self._inlines]

    def _inline(self, token, place, last, is_cell):
        """The content of a token between two places in the file.

        Each line may have a prefix. None if the file has it in another form.
        """
        start, end = -1, place
        lines = [line.strip() for line in token.content.split("\n")]
        children = token.children
        # A tab before a line has become spaces.
        for line in lines:
            found = self._content.find(line, end, last)
            if found < 0 and is_cell:
                line = line.replace("|", r"\|")
                found = self._content.find(line, end, last)
            if found < 0:  # It is spelt otherwise in the file.
                return None
            start = found if start < 0 else start
            end = found + len(line)
        label = _LABEL.match(token.content)
        if label and children[0].content.startswith(label[0]):
            start += label.end()
            children[0].content = children[0].content[label.end() :]
        return _Inline(*_tagged(children), start, end, is_cell)

    def translated(self, texts: Iterable[str]) -> Iterable[bytes]:
        """See `Document.translated`."""
        parts, end = [], 0
        for inline, text in zip(self._inlines, texts, strict=True):
            parts.append(self._content[end : inline.start])
            content = _untagged(text, inline.marks).removesuffix("\\\n")
            content = content.strip(" \n")  # A break ends or begins none.
            line = self._content.rfind("\n", 0, inline.start) + 1
            prefix = self._content[line : inline.start]
            if "#" not in prefix:  # No heading.
                content = _BLOCK.sub(r"\1\\\2", content)
            if not prefix.strip(" \t>"):  # Not all read lazy lines.
                content = content.replace("\n", f"\n{prefix}")
            parts.append(content.replace("|", r"\|" if inline.is_cell else "|"))
            end = inline.end
        content = "".join([*parts, self._content[end:]])
        return [content.replace("\n", self._newline).encode()]


def _parser(markdown_it):
    """The parser of Markdown, which leaves addresses as the file has them."""
    parser = markdown_it.MarkdownIt("commonmark")
    parser.enable(["table", "strikethrough"])
    parser.inline.ruler.before("escape", "as_is", _as_is)
    note = functools.partial(_note, markdown_it.rules_block.paragraph)
    ends = {"alt": ["paragraph", "reference"]}
    parser.block.ruler.before("reference", "note", note, ends)
    parser.block.ruler.before("code", "admonition", _admonition)
    ends = {"alt": ["paragraph", "reference", "blockquote", "list"]}
    parser.block.ruler.before("code", "stays", _stays, ends)
    parser.core.ruler.before("inline", "attributes", _without_attributes)
    parse = parser.helpers.parseLinkDestination

    def address(text, start, end):
        found = parse(text, start, end)
        if template := _TEMPLATE.match(text, start, end):
            found.ok, found.pos = True, template.end()
        found.str = text[start : found.pos]
        return found

    helpers = {**vars(parser.helpers), "parseLinkDestination": address}
    parser.helpers = types.SimpleNamespace(**helpers)
    parser.normalizeLink, parser.validateLink = str, bool
    return parser


def _note(paragraph, state, start, end, silent):
    """A rule of markdown-it: a footnote is a paragraph, not an address.

    An abbreviation or a definition is one, too. All but abbreviations go on
    with what is indented.
    """
    place = state.bMarks[start] + state.tShift[start]
    found = _NOTE.match(state.src, place)
    if found and not silent:
        paragraph(state, start, end, silent)
        if found[0][0] != "*":
            _indented(state, state.line, end)
    return found is not None


def _admonition(state, start, end, silent):
    """A rule of markdown-it: what is indented after a head is no code."""
    place = state.bMarks[start] + state.tShift[start]
    return (
        not state.is_code_block(start)
        and _ADMONITION.match(state.src, place) is not None
        and (silent or _indented(state, start + 1, end))
    )


def _indented(state, start, end):
    """Reads indented lines as blocks; False where there are none."""
    indent = state.blkIndent + 4
    last = start
    while last < end and (state.isEmpty(last) or state.sCount[last] >= indent):
        last += 1
    if all(map(state.isEmpty, range(start, last))):
        return False
    # Paragraphs end at the last line of all, not at that of a call.
    state.lineMax, end = last, state.lineMax
    state.blkIndent, state.level = indent, state.level + 1
    state.md.block.tokenize(state, start, last)
    state.blkIndent, state.level = indent - 4, state.level - 1
    state.lineMax = end
    state.line = last
    return True


def _stays(state, start, end, silent):
    """A rule of markdown-it: a line that stays, or all lines of a code."""
    place = state.bMarks[start] + state.tShift[start]
    found = _STAYS.match(state.src, place)
    if (
        not found
        or state.is_code_block(start)
        or (found["alert"] and state.parentType != "blockquote")
        or (found["head"] and silent)  # It may be text within a paragraph.
    ):
        return False
    if not silent:
        last, stop = found.end(), state.eMarks[end - 1]
        pattern = _CUT_ENDS if found["cut"] else _CODE_ENDS
        # Without an end only the line stays, and so it is behind it.
        if found["code"] and (pattern, stop) not in state.env:
            if ends := pattern.search(state.src, last, stop):
                last = ends.end()
            else:
                state.env[pattern, stop] = None
        state.line = start + 1 + state.src.count("\n", place, last)
    return True


def _without_attributes(state):
    """A rule of markdown-it: attributes at the end of a heading stay there."""
    for before, token in itertools.pairwise(state.tokens):
        if before.type in ("heading_open", "td_open", "th_open"):
            token.content = _LAST_ATTRIBUTES.sub("", token.content)


def _tagged(tokens) -> tuple[str, dict[str, str]]:
    """The text of inline tokens with tags, and what the tags stand for."""
    text = tag = ""
    marks: dict[str, str] = {}
    opened = []
    name = unused_tag("".join(token.content for token in tokens))
    for before, token in itertools.pairwise([*tokens[:1], *tokens]):
        if token.type == "attributes" and before.type in _WITH_ATTRIBUTES:
            marks[tag] += token.content
            continue
        if token.type == "html_inline":
            tag = re.sub(r"\n\s*", " ", token.content)
            marks[tag] = tag
            text += tag
            continue
        if token.type == "text":
            parts = _VERBATIM.split(token.content)
            for index in range(1, len(parts), 2):
                tag = f"<{name}{len(marks) + 1}/>"
                found, parts[index] = parts[index], tag
                is_tag = found[0] == "<"
                marks[tag] = html.escape(found, False) if is_tag else found
            text += "".join(parts)
            continue
        number = len(marks) + 1
        if token.type == "softbreak":
            text += " "
            continue
        if token.nesting == 1:
            tag, mark = f"<{name}{number}>", _opening(token)
            opened.append((number, token))
        elif token.nesting == -1:
            first, opening = opened.pop()
            tag, mark = f"</{name}{first}>", _closing(opening)
        else:
            tag, mark = f"<{name}{number}/>", _alone(token)
        marks[tag] = mark
        text += tag
    text, codes = _without_codes(text)
    marks |= {tag: _untagged(code, marks) for tag, code in codes.items()}
    return text, marks


def _as_is(state, silent):
    """A rule of markdown-it for what stays as it is."""
    found = _AS_IS.match(state.src, state.pos)
    if found and not silent:
        kind = found.lastgroup or "as_is"
        state.push(kind, "", 0).content = found[0].rstrip(" \t")
    state.pos = found.end() if found else state.pos
    return bool(found)


def _opening(token):
    return token.markup if token.type != "link_open" else "["


def _closing(opening):
    """What closes what a token opens."""
    if opening.type != "link_open":
        return opening.markup
    return f"]({_target(opening, 'href')})"


def _alone(token):
    if token.type == "code_inline":
        space = " " if "`" in (token.content[0], token.content[-1]) else ""
        return f"{token.markup}{space}{token.content}{space}{token.markup}"
    if token.type == "image":
        return f"![{token.content}]({_target(token, 'src')})"
    return token.content or "  \n"  # a hard break of spaces


def _target(token, attribute):
    title = token.attrGet("title")
    address = token.attrGet(attribute)
    if not title:
        return address
    escaped = re.sub(r'[\\"]', r"\\\g<0>", title)
    return f'{address} "{escaped}"'


def _with_tight_emphasis(text, marks):
    """A text without emphasis of nothing, and white space outside of it.

    `**` with nothing in it, or with a space, is asterisks.
    """

    def changed(found):
        name = found["begins"] or found["ends"] or found["empty"]
        if marks.get(f"<{name}>") not in _EMPHASIS:
            return found[0]
        if found["empty"]:
            return found[0][len(name) + 2 : -len(name) - 3]
        tag = found[0].strip()
        space = found[0].replace(tag, "")
        return f"{space}{tag}" if found["begins"] else f"{tag}{space}"

    before = None
    while text != before:
        before, text = text, _LOOSE.sub(changed, text)
    return text


def _untagged(text, marks):
    """A translation as Markdown, its other characters as characters."""
    text = _with_tight_emphasis(" ".join(text.split("\n")), marks)
    changed: dict[str, str] = {}
    for found in _BESIDE_LETTER.finditer(text):
        name = found[1] or found[4]
        tag, closing = f"<{name}>", f"</{name}>"
        mark = marks.get(tag)
        if mark not in _EMPHASIS:
            continue
        if found[2] or found[3]:  # No mark is read there.
            element = _EMPHASIS[mark]
            changed |= {tag: f"<{element}>", closing: f"</{element}>"}
        else:
            star = mark.replace("_", "*")
            changed.setdefault(tag, star)
            changed.setdefault(closing, star)
    for before, tag in _TOUCHING.findall(text):
        ends, mark = (changed.get(t, marks.get(t, "")) for t in (before, tag))
        if ends[-1:] == mark[:1] and mark in _EMPHASIS:
            element = _EMPHASIS[mark]
            changed |= {tag: f"<{element}>", f"</{tag[1:]}": f"</{element}>"}
        elif ends[-1:] == mark[:1] == "`":
            changed[tag] = f" {mark}"

    def link(found):
        if marks.get(found[1]) != "[":
            return found[0]
        # Else it would be read as an image.
        changed[found[1]] = r"\!["
        return found[1]

    text = re.sub(r"!(<x+\d+>)", link, text)
    marks = {**marks, **changed}

    def escaped(part):
        part = _SPECIAL.sub(_escaped, part)
        return _MATH.sub(lambda m: m[0].replace("$", r"\$"), part)

    def markdown(mark):
        # A tag, an entity or a formula that isn't one of the file's own is
        # characters.
        if mark[0] in "&<" or _MATH.fullmatch(mark):
            return marks.get(mark, escaped(mark))
        # A template may have emphasis in it, as `{{ __a__ }}`.
        return re.sub(TAG, lambda m: marks.get(m[0], m[0]), mark)

    return _changed(text, escaped, markdown)


def _escaped(found):
    """A special character; not all Markdown reads a backslash before < or &."""
    return html.escape(found[0]) if found[0] in "<&" else f"\\{found[0]}"


def _has_letters(text):
    """True if a text has letters besides its marks."""
    return any(map(str.isalpha, re.sub(MARKUP, "", text, flags=re.DOTALL)))


def _changed(text, between, mark=str):
    """A text whose marks, and what is between them, are changed."""
    parts = re.split(f"({MARKUP})", text, flags=re.DOTALL)
    parts[::2], parts[1::2] = map(between, parts[::2]), map(mark, parts[1::2])
    return "".join(parts)


# Elements within a text; others begin or end one, as lines do.
_PHRASING = set(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd "
    "mark math picture q rp rt ruby s samp small source span strike strong sub "
    "sup svg time tt u var wbr".split()
)
_UNTRANSLATED = "script style pre textarea template svg math".split()
# A whole page, not a part of one; and that it is in UTF-8.
_PAGE = re.compile(r"<(?:!doctype|html|head|meta|\?xml)\b", re.IGNORECASE)
_UTF_8 = re.compile(
    r"<(?:meta\b[^<>]*\bcharset|\?xml\b[^<>]*\bencoding)\s*=[\s\"']*utf-?8\b",
    re.IGNORECASE,
)
# An empty comment, as React writes beside each value in a text, or one between
# what is of a text.
_COMMENT = re.compile(
    r"<!--\s*-->|(?:(?<=[^\s<>])|(?<=[^\s<>] ))<!--[^<>]*-->(?=\s*[^\s<>])"
)
_MAY_BREAK = re.compile(r"</?wbr(?![\w-])", re.IGNORECASE)
_REST_OF_ENTITY = re.compile(r"#?\w+;")
_TAG_NAME = re.compile(r"</?([A-Za-z][^\s<>/]*)")
_PIECES = re.compile(
    # To the end of the page where they aren't closed, as browsers read them.
    r"(<!--.*?(?:-->|\Z)|<\?(?:php|=).*?(?:\?>|\Z)|<[!?].*?(?:>|\Z)"
    rf"|<({'|'.join(_UNTRANSLATED)})(?![\w-]).*?(?:(</\2\s*>)|\Z)"
    r"|</?[A-Za-z](?:[^<>\"']|\"[^\"]*\"|'[^']*')*>)",
    re.DOTALL | re.IGNORECASE,
)


# What a raised or lowered number, or a reference to a note, has from its name
# on; not one within a formula, as in H<sub>2</sub>O.
_NO_LETTERS = (
    r"[^<>]*>(?:<(?!/?su[bp])[^<>]*>|&#?\w+;|&(?!#?\w+;)|[\d_]|[^\w<&])*"
    r"</su[bp]\s*>(?![A-Za-z])"
)
# Begins an element that isn't translated.
_CODE = re.compile(
    r"<(code|kbd|math|pre|rp|rt|samp|svg|var"
    rf"|su[bp](?={_NO_LETTERS}))(?![\w-])[^<>]*>"
    r"|<([\w-]+)(?![\w-])[^<>]*\btranslate=[\"']?no\b[^<>]*>",
    re.IGNORECASE,
)
# Elements whose end tag may be left out, the tags that then end them, and those
# of what all of these are in.
_WITHOUT_END = {
    **dict.fromkeys(("dd", "dt"), ("d[dt]", "dl")),
    **dict.fromkeys(("td", "th"), ("t[dhr]", "table")),
    "li": ("li", "menu|ol|ul"),
    "p": ("p", "article|blockquote|body|div|li|main|section|td"),
    "tr": ("tr", "table"),
}


class Html:
    """A `Document` of HTML.

    Args:
        path: of the file.

    Raises:
        InputError: the file isn't UTF-8.
    """

    def __init__(self, path: pathlib.Path) -> None:
        content = read_text(path)
        # A page in ASCII may name any encoding, or leave it to the browser.
        self._is_ascii = content.isascii() and (
            _PAGE.search(content) and not _UTF_8.search(content)
        )
        self._parts: list[str] = []
        self._frames: dict[int, tuple[str, str, dict[str, str]]] = {}
        self.texts: list[str] = []
        parts = itertools.groupby(_html_pieces(content), key=lambda p: p[1])
        for index, (is_text, pieces) in enumerate(parts):
            self._parts.append("".join(piece for piece, _ in pieces))
            text, codes = _without_codes(self._parts[-1] if is_text else "")
            text = _with_characters(text)
            if _has_letters(text):
                begin = len(text) - len(text.lstrip())
                end = len(text.rstrip())
                # White space in attributes stays as it is in the page.
                marks = re.findall(MARKUP, text, re.DOTALL)
                codes = {_single_spaced(m): m for m in marks} | codes
                self._frames[index] = text[:begin], text[end:], codes
                self.texts.append(_single_spaced(text))
        self.skipped: dict[str, int] = {}

    def translated(self, texts: Iterable[str]) -> Iterable[bytes]:
        """See `Document.translated`."""
        parts = list(self._parts)
        for (index, (before, after, codes)), text in zip(
            self._frames.items(), texts, strict=True
        ):
            text = _changed(
                text,
                functools.partial(html.escape, quote=False),
                lambda mark, codes=codes: codes.get(mark, mark),
            )
            parts[index] = before + text + after
        content = "".join(parts)
        if self._is_ascii:
            return [content.encode("ascii", "xmlcharrefreplace")]
        return [content.encode()]


def _html_pieces(content):
    """Yields parts of a page, and whether they belong to a text."""
    end = 0
    ends = functools.cache(functools.partial(_ends, content))
    for match in _PIECES.finditer(content):
        if match.start() < end:
            continue  # In an element that isn't translated.
        if content[end : match.start()]:
            yield content[end : match.start()], True
        name = _TAG_NAME.match(match[0])
        phrasing = name is not None and name[1].lower() in _PHRASING
        phrasing |= _COMMENT.match(content, match.start()) is not None
        if match[2]:  # Not the rest of a page where it isn't closed.
            phrasing = phrasing and match[3] is not None
        code = _CODE.match(match[0])
        end = match.end()
        if code and code[2] and not match[2]:
            end = ends(code[2].lower()).get(match.start(), end)
        yield content[match.start() : end], phrasing
    if content[end:]:
        yield content[end:], True


def _ends(content, name):
    """Where elements of a name end, those that do, by where they begin."""
    items, around = _WITHOUT_END.get(name, (name, "(?!)"))
    tags = rf"<(/?)(?:({items})|(?:{around}))(?![\w-])[^<>]*>"
    ends: dict[int | None, int] = {}
    opened: list[int | None] = []  # None: of what they are in
    for tag in re.finditer(tags, content, re.IGNORECASE):
        closes, is_item = bool(tag[1]), tag[2] is not None
        in_item = bool(opened) and opened[-1] is not None
        if in_item and closes != is_item and name in _WITHOUT_END:
            ends[opened.pop()] = tag.start()
            in_item = False
        if not closes:
            opened.append(tag.start() if is_item else None)
        elif opened and in_item == is_item:
            ends[opened.pop()] = tag.end()
    return ends


def _single_spaced(text):
    return " ".join(text.split())


def _without_codes(text):
    """A text with tags in place of codes, and these, by tag."""
    name = unused_tag(text)
    ends = functools.cache(functools.partial(_ends, text))
    codes: dict[str, str] = {}
    plain, end = "", 0
    for match in _CODE.finditer(text):
        if match.start() >= end:
            tag = f"<{name}{len(codes) + 1}/>"
            plain += text[end : match.start()] + tag
            ends_of = ends((match[1] or match[2]).lower())
            end = ends_of.get(match.start(), match.end())
            codes[tag] = text[match.start() : end]
    return plain + text[end:], codes


def _with_characters(plain):
    """A text with entities as characters."""

    def character(match):
        found = html.unescape(match[0])
        if found == "\xad" or _MAY_BREAK.match(found):
            return ""  # Another word breaks elsewhere.
        if match[0] in ("&lt", "&gt"):
            return f"{match[0]};"
        # A tag stays with the entities of its attributes.
        if match[0].startswith("<") or set(found) & set("&<>"):
            return match[0]
        return found

    # Old entities end without a semicolon.
    pattern = rf"{TAG}|{ENTITY}|&[A-Za-z]\w*|\xad"
    plain = re.sub(pattern, character, plain, flags=re.DOTALL)

    def ampersand(match):
        rest = _REST_OF_ENTITY.match(plain, match.end())
        return "&" if html.unescape(match[0]) == "&" and not rest else match[0]

    # An address, or a placeholder, stays with its own.
    pattern = rf"{MARKUP}|&[A-Za-z]\w*"
    return re.sub(pattern, ampersand, plain, flags=re.DOTALL)
