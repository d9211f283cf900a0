"""Pages: Markdown and HTML.

A paragraph, heading, item or cell is one text. Its inline markup (emphasis,
links, code) becomes tags of the text, which `documents.markup` places; code
blocks, front matter, scripts, comments and attributes aren't changed.

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

# An escaped tag, and syntax of Markdown dialects for footnotes, tables of
# contents, wiki links and emoji.
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
# The beginning of a footnote, an abbreviation or a definition; and also an
# item's check box.
_NOTE = re.compile(r"(?:\[\^[^\]\s]+\]|\*\[[^\]\n]+\])?: +")
_LABEL = re.compile(rf"\[[ xX]\] +|{_NOTE.pattern}")
# A formula in the syntax of GitHub and Pandoc.
_MATH = re.compile(r"\$\$[^$]+\$\$|\$(?![\s$])[^$\n]+(?<!\s)\$(?!\d)")
# A formula of MathJax: in \[ \] with a command or an index, or in \( \) also
# without a word. Other text in escaped brackets isn't one, nor are three words
# in a row.
_INDEXED = (
    r"(?![^\\]*?[^\W\d_]{3} [^\W\d_]{3,} [^\W\d_]{3})"
    r"[^\\_^]*(?:(?<![\s(\[])[_^]|\\[A-Za-z])"
)
_TEX = (
    rf"\\\[{_INDEXED}(?:[^\\]|\\[^\[\]])*\\\]|(?<![\w\]])\\\("
    rf"(?:{_INDEXED}(?:[^\\]|\\[^()])*|(?:(?![A-Za-z]{{3}})[^\\])+)\\\)"
)
# Attributes in the syntax of Python-Markdown, kramdown and Pandoc.
_ATTRIBUTES = r"\{(?::| ?(?:[#.=]|data-|[\w-]+=))[^{}\n]*\}"
_WITH_ATTRIBUTES = ("link_close", "image", "code_inline")
_LAST_ATTRIBUTES = re.compile(rf"(?<=\S)[ \t]+{_ATTRIBUTES}$")
# A formula, GitLab's table of contents, a MyST role, an autolink, a hard break
# by a backslash, or attributes.
_AS_IS = re.compile(
    rf"{_MATH.pattern}|{_TEX}|\[\[_TOC_\]\]|\{{[\w:.+-]+\}}`[^`]+`(?!`)"
    r"|<(?:[A-Za-z][A-Za-z0-9.+-]+:[^\s<>]*|[^\s<>@\\]+@[\w.-]+)>"
    r"|(?P<hardbreak>\\\n[ \t]*)"
    rf"|(?P<attributes>(?<![{{$#%]){_ATTRIBUTES}(?!\}}))"
)
# An address with a template of Jekyll or Hugo.
_TEMPLATE = re.compile(r"(?:[^\s(){]*\{(?:\{[^{}]*\}|%[^{}]*%)\})+[^\s(){]*")
# Names of templates of Jekyll and Hugo around code.
_CODE_NAMES = r"(?:highlight|codeblock|mermaid)(?![\w-])"
# A line that isn't translated: the head of an alert of GitHub or Obsidian, the
# beginning or end of a box, an include, a MyST target, an import, templates or
# attributes.
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
# Characters that must be escaped so that they aren't read as markup.
_SPECIAL = re.compile(
    r"[\\*`\[\]]|(?<![^\W_])_|_(?![^\W_])|<(?=[A-Za-z/!?])|~(?=~)|#$"
    r"|&(?=#?\w+;)"
)
# Characters that would begin another block.
_BLOCK = re.compile(
    r"^( {0,3}\d{0,9})((?:#{1,6}|[-+])(?=\s|$)|>|=+$|-+$|(?<=\d)[.)](?=\s|$))",
    re.MULTILINE,
)
# Empty pairs of tags, and white space inside of tags.
_LOOSE = re.compile(
    r"<(?P<empty>x+\d+)>\s*</(?P=empty)>|<(?P<begins>x+\d+)>\s+"
    r"|(?<!\s)\s+</(?P<ends>x+\d+)>"
)
# A tag next to a letter, and punctuation on its other side.
_BESIDE_LETTER = re.compile(
    r"(?<=\w)<(x+\d+)>(?=([^\w\s])?)|([^\w\s])?</(x+\d+)>(?=\w)"
)
# Adjacent tags, where one mark ends and the next one begins.
_TOUCHING = re.compile(r"(</x+\d+>|<x+\d+/>)(?=(<x+\d+/?>))")


class _Inline(NamedTuple):
    """The inline content of a block of Markdown.

    Attributes:
        text: with tags such as `<x1>` in place of markup.
        marks: the Markdown that each tag stands for; HTML tags stand for
            themselves.
        start, end: its range of characters in the file.
        is_cell: whether it is a cell of a table.
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
        """Finds the content of a token between two places in the file.

        Each line may have a prefix. None if the file spells it differently.
        """
        start, end = -1, place
        lines = [line.strip() for line in token.content.split("\n")]
        children = token.children
        # Stripped, because the parser turns a leading tab into spaces.
        for line in lines:
            found = self._content.find(line, end, last)
            if found < 0 and is_cell:
                line = line.replace("|", r"\|")
                found = self._content.find(line, end, last)
            if found < 0:  # The file spells it differently.
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
            content = content.strip(" \n")  # No break at either end.
            line = self._content.rfind("\n", 0, inline.start) + 1
            prefix = self._content[line : inline.start]
            if "#" not in prefix:  # Not in a heading.
                content = _BLOCK.sub(r"\1\\\2", content)
            # Not every parser supports lazy continuation lines.
            if not prefix.strip(" \t>"):
                content = content.replace("\n", f"\n{prefix}")
            parts.append(content.replace("|", r"\|" if inline.is_cell else "|"))
            end = inline.end
        content = "".join([*parts, self._content[end:]])
        return [content.replace("\n", self._newline).encode()]


def _parser(markdown_it):
    """A Markdown parser that keeps addresses as they are in the file."""
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
    """A rule for markdown-it: a footnote is a paragraph, not a link reference.

    So is an abbreviation or a definition. All but abbreviations include the
    indented lines that follow.
    """
    place = state.bMarks[start] + state.tShift[start]
    found = _NOTE.match(state.src, place)
    if found and not silent:
        paragraph(state, start, end, silent)
        if found[0][0] != "*":
            _indented(state, state.line, end)
    return found is not None


def _admonition(state, start, end, silent):
    """A rule for markdown-it: indented lines after a head aren't code."""
    place = state.bMarks[start] + state.tShift[start]
    return (
        not state.is_code_block(start)
        and _ADMONITION.match(state.src, place) is not None
        and (silent or _indented(state, start + 1, end))
    )


def _indented(state, start, end):
    """Parses indented lines as blocks; False if there are none."""
    indent = state.blkIndent + 4
    last = start
    while last < end and (state.isEmpty(last) or state.sCount[last] >= indent):
        last += 1
    if all(map(state.isEmpty, range(start, last))):
        return False
    # Paragraphs end at `lineMax`, not at the last line passed to `tokenize`.
    state.lineMax, end = last, state.lineMax
    state.blkIndent, state.level = indent, state.level + 1
    state.md.block.tokenize(state, start, last)
    state.blkIndent, state.level = indent - 4, state.level - 1
    state.lineMax = end
    state.line = last
    return True


def _stays(state, start, end, silent):
    """A rule for markdown-it: skips a line, or all lines of a code block."""
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
        # Without an end, only the line is skipped; this is remembered for
        # later lines.
        if found["code"] and (pattern, stop) not in state.env:
            if ends := pattern.search(state.src, last, stop):
                last = ends.end()
            else:
                state.env[pattern, stop] = None
        state.line = start + 1 + state.src.count("\n", place, last)
    return True


def _without_attributes(state):
    """A rule for markdown-it: excludes attributes at the end of headings."""
    for before, token in itertools.pairwise(state.tokens):
        if before.type in ("heading_open", "td_open", "th_open"):
            token.content = _LAST_ATTRIBUTES.sub("", token.content)


def _tagged(tokens) -> tuple[str, dict[str, str]]:
    """The text of inline tokens with tags, and the tags' Markdown."""
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
    """A rule for markdown-it for text that isn't changed."""
    found = _AS_IS.match(state.src, state.pos)
    if found and not silent:
        kind = found.lastgroup or "as_is"
        state.push(kind, "", 0).content = found[0].rstrip(" \t")
    state.pos = found.end() if found else state.pos
    return bool(found)


def _opening(token):
    return token.markup if token.type != "link_open" else "["


def _closing(opening):
    """The Markdown that closes what a token opens."""
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
    """Removes empty emphasis, and moves white space out of emphasis.

    `**` around nothing, or next to a space inside, would be plain asterisks.
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
    """Converts a translation to Markdown, and escapes its plain text."""
    text = _with_tight_emphasis(" ".join(text.split("\n")), marks)
    changed: dict[str, str] = {}
    for found in _BESIDE_LETTER.finditer(text):
        name = found[1] or found[4]
        tag, closing = f"<{name}>", f"</{name}>"
        mark = marks.get(tag)
        if mark not in _EMPHASIS:
            continue
        if found[2] or found[3]:  # Markdown doesn't read emphasis there.
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
        # Otherwise it would be read as an image.
        changed[found[1]] = r"\!["
        return found[1]

    text = re.sub(r"!(<x+\d+>)", link, text)
    marks = {**marks, **changed}

    def escaped(part):
        part = _SPECIAL.sub(_escaped, part)
        return _MATH.sub(lambda m: m[0].replace("$", r"\$"), part)

    def markdown(mark):
        # A tag, an entity or a formula that isn't in the file is plain text.
        if mark[0] in "&<" or _MATH.fullmatch(mark):
            return marks.get(mark, escaped(mark))
        # A template may contain emphasis, as in `{{ __a__ }}`.
        return re.sub(TAG, lambda m: marks.get(m[0], escaped(m[0])), mark)

    return _changed(text, escaped, markdown)


def _escaped(found):
    """Escapes a character; not every parser reads a backslash before < or &."""
    return html.escape(found[0]) if found[0] in "<&" else f"\\{found[0]}"


def _has_letters(text):
    """True if a text has letters besides its marks."""
    return any(map(str.isalpha, re.sub(MARKUP, "", text, flags=re.DOTALL)))


def _changed(text, between, mark=str):
    """Applies a function to the text between marks, another to the marks."""
    parts = re.split(f"({MARKUP})", text, flags=re.DOTALL)
    parts[::2], parts[1::2] = map(between, parts[::2]), map(mark, parts[1::2])
    return "".join(parts)


# Elements within a text; other elements begin or end a text.
_PHRASING = set(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd "
    "mark math picture q rb rp rt rtc ruby s samp small source span strike "
    "strong sub sup svg time tt u var wbr".split()
)
_UNTRANSLATED = "script style pre textarea template svg math".split()
# The beginning of a whole page, and a declaration of UTF-8.
_PAGE = re.compile(r"<(?:!doctype|html|head|meta|\?xml)\b", re.IGNORECASE)
_UTF_8 = re.compile(
    r"<(?:meta\b[^<>]*\bcharset|\?xml\b[^<>]*\bencoding)\s*=[\s\"']*utf-?8\b",
    re.IGNORECASE,
)
# An empty comment, as React writes next to each value in a text, or a comment
# between parts of a text.
_COMMENT = re.compile(
    r"<!--\s*-->|(?:(?<=[^\s<>])|(?<=[^\s<>] ))<!--[^<>]*-->(?=\s*[^\s<>])"
)
_MAY_BREAK = re.compile(r"</?wbr(?![\w-])", re.IGNORECASE)
_REST_OF_ENTITY = re.compile(r"#?\w+;")
_TAG_NAME = re.compile(r"</?([A-Za-z][^\s<>/]*)")
_PIECES = re.compile(
    # To the end of the page if they aren't closed, as in browsers.
    r"(<!--.*?(?:-->|\Z)|<\?(?:php|=).*?(?:\?>|\Z)|<[!?].*?(?:>|\Z)"
    rf"|<({'|'.join(_UNTRANSLATED)})(?![\w-]).*?(?:(</\2\s*>)|\Z)"
    r"|</?[A-Za-z](?:[^<>\"']|\"[^\"]*\"|'[^']*')*>)",
    re.DOTALL | re.IGNORECASE,
)


# The rest, after the tag's name, of a raised or lowered number or a note's
# reference; not in a formula such as H<sub>2</sub>O.
_NO_LETTERS = (
    r"[^<>]*>(?:<(?!/?su[bp])[^<>]*>|&#?\w+;|&(?!#?\w+;)|[\d_]|[^\w<&])*"
    r"</su[bp]\s*>(?![A-Za-z])"
)
# The beginning of an element that isn't translated.
_CODE = re.compile(
    r"<(code|kbd|math|pre|rp|rt|samp|svg|var"
    rf"|su[bp](?={_NO_LETTERS}))(?![\w-])[^<>]*>"
    r"|<([\w-]+)(?![\w-])[^<>]*\btranslate=[\"']?no\b[^<>]*>",
    re.IGNORECASE,
)
# Elements whose end tag may be omitted: patterns for the tags that end them
# then, and for the elements around them.
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
        # A page in ASCII may declare any encoding, or leave it to the browser.
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
                # White space in attributes is restored as in the page.
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
                functools.partial(_of_page, codes),
            )
            parts[index] = before + text + after
        content = "".join(parts)
        if self._is_ascii:
            return [content.encode("ascii", "xmlcharrefreplace")]
        return [content.encode()]


def _of_page(codes, mark):
    """A page's code for a mark; a tag that isn't in the source becomes text."""

    def known(found):
        tag = found[0]
        return codes.get(tag, tag.replace("<", "&lt;").replace(">", "&gt;"))

    return codes.get(mark) or re.sub(
        f"{TAG}|[<>]", known, mark, flags=re.DOTALL
    )


def _html_pieces(content):
    """Yields parts of a page, and whether each belongs to a text."""
    end = 0
    ends = functools.cache(functools.partial(_ends, content))
    for match in _PIECES.finditer(content):
        if match.start() < end:
            continue  # Inside an element that isn't translated.
        if content[end : match.start()]:
            yield content[end : match.start()], True
        name = _TAG_NAME.match(match[0])
        phrasing = name is not None and name[1].lower() in _PHRASING
        phrasing |= _COMMENT.match(content, match.start()) is not None
        if match[2]:  # Not if it is unclosed, and so the rest of the page.
            phrasing = phrasing and match[3] is not None
        code = _CODE.match(match[0])
        end = match.end()
        if code and code[2] and not match[2]:
            end = ends(code[2].lower()).get(match.start(), end)
        yield content[match.start() : end], phrasing
    if content[end:]:
        yield content[end:], True


def _ends(content, name):
    """The ends of closed elements with a name, by their beginnings."""
    items, around = _WITHOUT_END.get(name, (name, "(?!)"))
    tags = rf"<(/?)(?:({items})|(?:{around}))(?![\w-])[^<>]*>"
    ends: dict[int | None, int] = {}
    opened: list[int | None] = []  # None: an element around them
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
    """A text with tags in place of codes, and the codes by tag."""
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
    """Replaces entities of a text by characters."""

    def character(match):
        found = html.unescape(match[0])
        if found == "\xad" or _MAY_BREAK.match(found):
            return ""  # Break positions don't apply to the translation.
        if match[0] in ("&lt", "&gt"):
            return f"{match[0]};"
        # A tag keeps the entities in its attributes.
        if match[0].startswith("<") or set(found) & set("&<>"):
            return match[0]
        return found

    # Some legacy entities have no semicolon.
    pattern = rf"{TAG}|{ENTITY}|&[A-Za-z]\w*|\xad"
    plain = re.sub(pattern, character, plain, flags=re.DOTALL)

    def ampersand(match):
        rest = _REST_OF_ENTITY.match(plain, match.end())
        return "&" if html.unescape(match[0]) == "&" and not rest else match[0]

    # Addresses and placeholders keep theirs.
    pattern = rf"{MARKUP}|&[A-Za-z]\w*"
    return re.sub(pattern, ampersand, plain, flags=re.DOTALL)
