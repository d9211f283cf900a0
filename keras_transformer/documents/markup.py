"""Markup in a text: tags, placeholders, addresses, and their places.

A model that was trained with markup translates a text with symbols in place of
the marks, see `symbols`, and outputs the same symbols. Another model translates
the text without marks, and each mark is placed afterwards by the alignment: a
pair of tags around the translations of the tokens between them, a single mark
beside the translation of its neighbour. Every mark occurs once in the result,
and pairs are nested as in the source, whatever the alignment.

`data.masking` puts symbols into training pairs, `translation.markup` into lines
to translate, and `serving.server.masking` into the texts of requests.

References: Müller 2017, "Treatment of Markup in Statistical Machine
Translation"; Hanneman and Dinu 2020, "How Should Markup Tags Be Translated?".
"""

from __future__ import annotations

import bisect
import collections
import functools
import heapq
import itertools
import re
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from keras_transformer.config.data import is_pattern
from keras_transformer.errors import InputError, shown
from keras_transformer.languages import script_of_character
from keras_transformer.symbols import (
    ANNOTATION,
    CLOSING,
    NUMBERS,
    OPENING,
    SINGLE,
    SYMBOL,
    TERM_START,
)

# Tags of XML and HTML, with attributes; comments; and escaped tags in messages.
TAG = (
    r"<!--(?:(?!<!--).)*?-->|</?[A-Za-z](?:[^<>\"']|\"[^\"]*\"|'[^']*')*>"
    r"|<!\[CDATA\[|\]\]>|<[!?][A-Za-z][^<>]*>"
    r"|&lt;/?[A-Za-z](?:(?!&[lg]t;)[^<>])*&gt;"
    r"|</?\d{1,3}\s*/?>"  # of Lingui and react-i18next
)
ENTITY = r"&(?:\#\d+|\#x[0-9a-fA-F]+|[A-Za-z]\w*);"
_LATIN = r"0-9A-Za-z_\u00c0-\u024f"
_LETTER = f"[{_LATIN}]"
_BRACES = r"\{[^{}]*+\}"
for _ in range(4):
    _BRACES = rf"\{{(?:[^{{}}]++|{_BRACES})*+\}}"
# Placeholders of C and Python, gettext, Qt, Xcode, templates, LibreOffice
# (which also has $(ARG1)), and $name$. ICU choices are one mark as a whole,
# because a program reads their keywords, such as `other`. Quantifiers are
# possessive, so that no text takes quadratic time.
_PLACEHOLDER = (
    rf"(?=\{{\s*\w+\s*,\s*(?:plural|select|selectordinal|choice)\s*,){_BRACES}"
    # %APPDATA% and %name%, not in "%dpx%%".
    rf"|%%|(?<!\d)%[A-Za-z_](?a:\w{{2,}}+)%(?!{_LETTER}|%(?!{_LETTER}))"
    # Not in "50%<b>", nor before a tag of `unused_tag`.
    rf"|%[A-Z_]{{3,}}\d*+|(?<!\d)%<(?!x+\d)\w+>{_LETTER}*+|%#@\w++@"
    r"|\{\s+\w++\s*\}"
    r"|%(?:\(\w+\))?(?:\d+\$)?"
    # No flags in "5%-Hürde", and not Turkish "%50".
    r"(?:(?<!\d%)(?<!\d\s%)[#0\-+']++)?(?:\*|\d*+)(?:\.(?:\*|\d++))?[a-zA-Z@]"
    # Includes letters after it, except in "50%ige", and not those of scripts
    # without spaces.
    rf"(?:(?<!\d%.)(?<!\d\s%.){_LETTER}*+|(?!{_LETTER}))"
    r"|%[1-9](?!\d)|\{\{[^{}]*\}\}|\{%[^{}]*%\}|<%[^%]*%>|[$#%]?\{(?:[^{}<>\s](?:[^{}<>]|(?<=:)[<>])*)?\}"
    r"|\$(?:\[\w+\]|\(\w+\)|\w+\$)"
)
# Letters of Korean and of scripts without spaces belong to the next word, stops
# of other scripts and invisible marks to the sentence.
_NO_ADDRESS = (
    r"\s<>\"“”„‘’«»「」『』，。；：！？、（）《》＜＞｡．،؛؟۔।॥։።"
    r"\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\u0e00-\u0eff\u1000-\u109f"
    r"\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uac00-\ud7a3"
)
_TO_LETTER = rf"[^{_NO_ADDRESS}]*[^{_NO_ADDRESS}.,;:!?)\]}}']"
_IN_PARENTHESES = rf"[^{_NO_ADDRESS}()]*+\([^{_NO_ADDRESS}()]*+\)"
_ADDRESS = (
    r"(?<![0-9A-Za-z_])(?:(?:https?|ftp)://|www\.)"
    # The end may be as in wiki/Cell_(biology), but not in "(see www.a.b)".
    rf"(?:(?:{_IN_PARENTHESES})++(?:{_TO_LETTER})?|{_TO_LETTER})"
    # RFC 5321: a local part has up to 64 characters.
    rf"|(?<!{_LETTER}){_LETTER}[{_LATIN}.+-]{{0,63}}"
    rf"@{_LETTER}[{_LATIN}-]*(?:\.{_LETTER}[{_LATIN}-]*)+"
)
# Symbols are marks, too, so that those in a user's text are masked.
MARKUP = "|".join((TAG, ENTITY, _PLACEHOLDER, _ADDRESS, SYMBOL))
# Punctuation before which no space is left when a mark is removed.
_CLOSING = tuple(".,;:!?…)]}،؛؟۔।")
_CLOSES = re.compile(r"[.,;:!?…)\]}،؛؟۔।](?![\w./])")  # not .NET nor ../a
_SENTENCE_ENDS = re.compile(r"\n|[.!?…]\s+|[。！？؟۔।]")
_SYMBOLS = re.compile(f"(?P<term>{ANNOTATION})|{SYMBOL}")
# Korean, and scripts without spaces between words: each character is a word.
_UNSPACED = (
    r"\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uac00-\ud7a3"
    r"\uf900-\ufaff"
)
# Characters that may be skipped to find a token: by default, and the maximum
# after missing tokens.
_PASSED, _MOST_PASSED = 4, 32
_DEEPEST = 100  # nested pairs; Python limits recursion to a thousand calls
# The minimum share of a token's attention for a pair to take the token, and the
# number of tokens that are considered.
_LEAST_SHARE, _CANDIDATES = 0.1, 5
# An end tag directly before a start tag: of two links, and of any two elements.
_LINKS = re.compile(r"</a><a(?![\w-])", re.IGNORECASE)
_TAGS = re.compile(r"</[^<>]+><\w")
# The bracket and name of a tag or symbol, which are the same in `<b>` and
# `</b>`, or `⟨1⟩` and `⟨/1⟩`.
_NAME = re.compile(r"(<|⟨|&lt;)/?([^\s<>/⟨⟩&]+)")
# Marks whose order matters to programs: conversions of C and Python without a
# number or a name, and marks that open or close a part of a template or a page.
_READ_IN_ORDER = tuple(
    re.compile(pattern, re.DOTALL)
    for pattern in (
        r"%(?![%(<{]|#@|[A-Z_]{3,}\d*\Z|\w+%\Z|\d+\$|L?\d\Z).*"
        r"|\{(?:[:!].*)?\}",
        r"\{%.*|\{\{[#/^].*|(?i:<(?!%=|!|(?:br|img|input)\b).*(?<!/)>)",
    )
)


class Mark(NamedTuple):
    """A tag, a placeholder or an address in a text.

    Attributes:
        start, end: its range of characters in the text.
        partner: the index of the mark that closes or opens it; its own index
            for a single mark.
    """

    start: int
    end: int
    partner: int


class Span(NamedTuple):
    """A token's range of characters in a text; empty if it isn't found."""

    start: int
    end: int


def checked_placeholders(values: Iterable[str]) -> tuple[str, ...]:
    """Checks a user's regular expressions for placeholders.

    Raises:
        InputError: one isn't valid, or matches an empty text.
    """
    values = (values,) if isinstance(values, str) else tuple(values)
    for value in values:
        if not is_pattern(value):
            raise InputError(
                f"placeholder {shown(value)}. Accepted: a regular expression "
                "that matches no empty text, without names of groups, "
                "references and flags"
            )
    return values


@functools.lru_cache
def markup_pattern(placeholders: Sequence[str] = ()) -> re.Pattern:
    """The regular expression for marks.

    Args:
        placeholders: a tuple of regular expressions of further marks.
    """
    patterns = (f"(?P<term>{ANNOTATION})", *placeholders, MARKUP)
    return re.compile("|".join(patterns), re.DOTALL)


def find_marks(
    text: str, placeholders: Sequence[str] = (), terms: int = 0
) -> list[Mark]:
    """The marks in a text, in order.

    Tags are paired by their names. A tag without a partner, or whose pair would
    cross another one, is a single mark.

    Args:
        text: with markup.
        placeholders: a tuple of regular expressions of further marks.
        terms: the number of annotated terms, from the first one, that get a
            pair of empty marks around them.
    """
    return _marks(markup_pattern(placeholders), text, terms)


def _marks(pattern, text, terms=0):
    # Annotated terms, and tags at the head of a text, aren't marks.
    spans: list[tuple[int, int]] = []
    partners: list[int] = []
    opened: list[tuple[tuple[str, ...], int]] = []
    # The number of open tags with each name.
    names: collections.Counter = collections.Counter()
    for match in pattern.finditer(text):
        tag, index = match[0], len(spans)
        if match.lastgroup == "term" and terms:
            terms -= 1
            spans += [(match.start(),) * 2, (match.end(),) * 2]
            partners += [index + 1, index]
        if not tag or match.lastgroup in ("term", "head"):
            continue
        spans.append(match.span())
        partners.append(index)
        named = _NAME.match(tag)
        if not named or tag.endswith(("/>", "/⟩", "/&gt;")):
            continue
        name = named[1], named[2].lower()
        if not tag.startswith(("</", "⟨/", "&lt;/")):
            opened.append((name, index))
            names[name] += 1
            continue
        if names[name]:
            # Unclosed tags opened in between are single, such as <br>.
            while opened[-1][0] != name:
                names[opened.pop()[0]] -= 1
            _, partner = opened.pop()
            names[name] -= 1
            partners[index], partners[partner] = partner, index
    return [
        Mark(*span, partner)
        for span, partner in zip(spans, partners, strict=True)
    ]


def conversions_in_order(marks: Sequence[str]) -> list[str]:
    """The marks that programs read by position, such as `%s` and `%d`."""
    return [mark for mark in marks if _READ_IN_ORDER[0].fullmatch(mark)]


def _in_order(groups, key):
    """Restores the source's order of those groups of marks whose order matters.

    Args:
        groups: lists of single marks, in the order of the translation; empty
            for tags of a pair.
        key: a function from an index of a group to its sort key in the source.

    Returns:
        for each place in `groups`, the index of the group to put there.
    """
    kinds = [
        {n for n, group in enumerate(groups) if any(map(kind.fullmatch, group))}
        for kind in _READ_IN_ORDER
    ]
    if set.intersection(*kinds):  # A group may have marks of both kinds.
        kinds = [set.union(*kinds)]
    found = list(range(len(groups)))
    for places in kinds:
        ordered = sorted(places, key=key)
        for n, other in zip(sorted(places), ordered, strict=True):
            found[n] = other
    return found


def unused_tag(text: str) -> str:
    """A prefix for new tags such as `<x1>` that no tag in the text has."""
    name = "x"
    while re.search(f"</?{name}\\d", text):
        name += "x"
    return name


def mark_name(text: str) -> str | None:
    """The name of a tag, such as `b` of `<b>`; None for other marks."""
    named = _NAME.match(text)
    return named[2] if named else None


class Masked(NamedTuple):
    """A text, or a part of one, with symbols in place of its marks.

    Attributes:
        text: the text to translate.
        marks: the mark that each symbol stands for, by symbol; "" for the
            symbols around an annotated term.
    """

    text: str
    marks: dict[str, str]

    def unwrapped(self) -> tuple[str, str, str]:
        """Splits off the symbols of pairs that enclose the whole text.

        Returns:
            opening symbols, the text, closing symbols; "" without such pairs.
        """
        before, text, after = "", self.text, ""
        while (
            (first := re.match(SYMBOL, text))
            and (closing := first[0].replace("⟨", "⟨/", 1)) in self.marks
            and text.endswith(closing)
        ):
            before, after = before + first[0], closing + after
            text = text[first.end() : -len(closing)]
        return before, text, after

    def unmasked(self, translation: str) -> str:
        """Replaces the symbols of a translation by marks.

        A search without constraints for symbols (CTranslate2's) may lose or
        repeat one, or cross pairs. Then all are placed in proportion to the
        number of words, unless only those of terms are wrong.
        """
        if not self.has_structure_of(translation):
            ends = [symbol for symbol, mark in self.marks.items() if not mark]
            if ends:
                text, translation = (
                    re.sub("|".join(ends), "", each)
                    for each in (self.text, translation)
                )
                marks = {k: mark for k, mark in self.marks.items() if mark}
                return Masked(text, marks).unmasked(translation)
            translation = self._with_symbols(translation)
        return self._with_marks(translation)

    def _with_marks(self, translation):
        """Replaces the symbols of a translation by marks."""
        text, place, spans = "", 0, []
        symbols = list(re.finditer(SYMBOL, translation))
        marks = [self.marks.get(symbol[0], "") for symbol in symbols]
        groups = [
            [mark] if symbol[0] in SINGLE else []
            for symbol, mark in zip(symbols, marks, strict=True)
        ]
        order = _in_order(groups, lambda n: SINGLE.index(symbols[n][0]))
        for symbol, n in zip(symbols, order, strict=True):
            mark = marks[n]
            text += translation[place : symbol.start()]
            place = symbol.end()
            after = translation[place : place + 1]
            kept = after not in ("", "⟨") and symbol[0] + after in self.text
            spans.append((len(text), len(text) + len(mark), kept))
            text += mark
        text += translation[place:]
        return _apart(text, spans)

    def has_structure_of(self, translation: str) -> bool:
        """True if the text and a translation have the same symbols."""
        return _structure(translation) == _structure(self.text)

    def _with_symbols(self, translation):
        """Replaces a translation's symbols by those of the text."""
        source, plain = (
            strip_marks(text, _marks(_SYMBOLS, text))
            for text in (self.text, translation)
        )
        words = _word_spans(source.text)
        spans = _word_spans(plain.text)
        alignment = [n * len(words) // len(spans) for n in range(len(spans))]
        return place_marks(source, plain.text, words, spans, alignment)


_NEAR = 100  # characters after a mark that may become part of it


def _apart(text, spans):
    """Adds spaces so that all marks of a text are recognized again.

    `%s` isn't recognized in `%sbereich`, nor the address in
    `http://a.b/c-Datei`: a space is inserted between.

    Args:
        text: with marks.
        spans: `(start, end, kept)` of each; kept: the same character follows it
            in the source.
    """
    found = set(_spans(text))
    parts, last, following = [], len(text), ""
    for n, (start, end, kept) in reversed([*enumerate(spans)]):
        between, mark = text[end:last], text[start:end]
        following = (between[:_NEAR] + following)[:_NEAR]
        before = after = ""
        # Not for marks of a user's pattern.
        if (start, end) not in found and _first_end(mark) == len(mark):
            if not kept and _first_end(mark + following) != len(mark):
                after = " "
            # From the mark before: text further away doesn't affect it.
            begin = spans[n - 1][0] if n else 0
            if (start - begin, end - begin) not in _spans(text[begin:end]):
                before = " "
        parts += [between, after, mark, before]
        following = f"{before}{mark}{after}{following}"[:_NEAR]
        last = start
    return "".join([text[:last], *reversed(parts)])


def _spans(text):
    return [match.span() for match in markup_pattern().finditer(text)]


def _first_end(text):
    """The end of the mark that a text begins with, or None."""
    match = markup_pattern().match(text)
    return match and match.end()


def _structure(text):
    """The symbols of a text, and whether each belongs to a pair."""
    marks = _marks(_SYMBOLS, text)
    return sorted(
        (text[mark.start : mark.end], mark.partner != index)
        for index, mark in enumerate(marks)
    )


def _word_spans(text):
    return [Span(*match.span()) for match in _word_pattern().finditer(text)]


@functools.cache
def _word_pattern():
    marks = combining_marks()
    letter = rf"[^\W{_UNSPACED}{marks}]"
    # Soft hyphens and joiners are within a word.
    rest = rf"(?:[{marks}\u00ad\u200c\u200d]+{letter}*)*"
    return re.compile(rf"{letter}+{rest}|\S[{marks}]*")


@functools.cache
def combining_marks() -> str:
    r"""The combining marks, which `\w` doesn't match: some are vowels."""
    points = range(0x300, min(0x20000, sys.maxunicode))
    return "".join(
        character
        for character in map(chr, points)
        if unicodedata.category(character)[0] == "M"
    )


def mask_text(text: str, placeholders: Sequence[str] = ()) -> list[Masked]:
    """Replaces marks by symbols, and adds symbols around annotated terms.

    As the search outputs each pair of symbols once, each term has a place in
    the translation. Marks take precedence if there are too few numbers.

    Args:
        text: with markup.
        placeholders: see `find_marks`.

    Returns:
        the text's parts, see `mask_marks`.
    """
    marks = find_marks(text, placeholders)
    left = NUMBERS - sum(mark.partner >= n for n, mark in enumerate(marks))
    if TERM_START in text and left > 0:
        marks = find_marks(text, placeholders, left)
    return mask_marks(text, marks)


def mask_marks(text: str, marks: Sequence[Mark]) -> list[Masked]:
    """Replaces marks by symbols, numbered in the order of the marks.

    With more marks than numbers, the text is cut into parts. A pair of tags may
    begin in one part and end in another: the search puts such symbols where no
    pair is open, in the order of the source.

    Args:
        text: with markup.
        marks: the marks to replace.
    """
    parts = []
    masked, place = "", 0
    numbers: dict[int, int] = {}
    symbols: dict[str, str] = {}
    for index, mark in enumerate(marks):
        unit = min(index, mark.partner)
        if unit not in numbers and len(numbers) == NUMBERS:
            # After a sentence, if one ends since the mark before.
            ends = _SENTENCE_ENDS.finditer(text, place, mark.start)
            cut = max((end.end() for end in ends), default=mark.start)
            parts.append(Masked(masked + text[place:cut], symbols))
            masked, place = "", cut
            numbers, symbols = {}, {}
        number = numbers.setdefault(unit, len(numbers))
        symbol = symbol_of(index, mark, number)
        symbols[symbol] = text[mark.start : mark.end]
        masked += text[place : mark.start] + symbol
        place = mark.end
    return [*parts, Masked(masked + text[place:], symbols)]


def symbol_of(index: int, mark: Mark, number: int) -> str:
    """The symbol of a mark.

    Args:
        index: index of the mark in its text.
        mark: the mark.
        number: number of the symbol, from 0.
    """
    if mark.partner == index:
        return SINGLE[number]
    return (OPENING if mark.partner > index else CLOSING)[number]


class Stripped(NamedTuple):
    """A text without its marks.

    Attributes:
        text: the text to translate.
        marks: the removed marks, as written, in order.
        partners: `Mark.partner` of each.
        places: the position of each in `text`.
        spaced: for each, whether a space was before and after it.
    """

    text: str
    marks: list[str]
    partners: list[int]
    places: list[int]
    spaced: list[tuple[bool, bool]]


def strip_marks(text: str, marks: Sequence[Mark]) -> Stripped:
    """Removes marks from a text, adding a space where two words would join."""
    plain, end = "", 0
    places: list[int] = []
    spaced = []
    for mark, following in zip(marks, _following(text, marks), strict=True):
        plain = _append(plain, text[end : mark.start], places)
        places.append(len(plain))
        before = text[max(mark.start - 1, 0) : mark.start]
        after = text[mark.end : mark.end + 1]
        spaced.append((before.isspace(), after.isspace()))
        end = mark.end
        last = plain[-1:]
        # <br/>, two links, or <b>one</b><i>Two</i>; not <b>H</b>ello.
        is_alone = marks[mark.partner] is mark and text[mark.start] == "<"
        is_apart = is_alone or _LINKS.match(text, mark.start)
        if last.islower() and following.isupper():
            is_apart = is_apart or _TAGS.match(text, mark.start)
        ended = last in _CLOSING or _is_word(last)
        if is_apart and ended and _is_word(following):
            plain += " "
    plain = _append(plain, text[end:], places)
    if end == len(text):
        plain = plain.rstrip()
    return Stripped(
        plain,
        [text[mark.start : mark.end] for mark in marks],
        [mark.partner for mark in marks],
        [min(place, len(plain)) for place in places],
        spaced,
    )


def _following(text, marks):
    """The character after each mark, skipping directly adjacent marks."""
    found: list[str] = []
    start = -1
    for mark in reversed(marks):
        joined = mark.end == start
        found.append(found[-1] if joined else text[mark.end : mark.end + 1])
        start = mark.start
    return reversed(found)


def _is_word(character):
    return character.isalnum() and not is_unspaced(character)


def _append(before, after, places):
    """Joins two parts of a text; of the spaces around a mark, one is left."""
    if places and before[-1:].isspace() and _CLOSES.match(after):
        before = before.rstrip()
        places[:] = [min(place, len(before)) for place in places]
    if places and (before[-1:].isspace() or not before):
        after = after.lstrip()
    return before + after


def token_spans(text: str, tokens: Iterable[str]) -> list[Span]:
    """Finds the spans of the tokens that spell a text.

    Args:
        text: the text.
        tokens: in order, as in a vocabulary or in the text; `▁` is a space. A
            token that isn't found (a byte, a normalised character) gets an
            empty span.
    """
    spans, place, missing = [], 0, 0
    for token in tokens:
        surface = token.replace("▁", " ").strip()
        start = place
        while start < len(text) and text[start].isspace():
            start += 1
        # Skips the text of missing tokens, and invisible characters.
        passed = range(min(missing, _MOST_PASSED) + _PASSED if surface else 0)
        for begin in (start + offset for offset in passed):
            end = begin + len(surface)
            if text[begin:end].casefold() == surface.casefold():
                spans.append(Span(begin, end))
                place, missing = end, 0
                break
        else:
            spans.append(Span(place, place))
            missing += len(surface) + _PASSED
    return spans


class _Placed(NamedTuple):
    """Marks with their position.

    Attributes:
        position: in the translation.
        order: a sort key for marks at one position.
        text: the marks, with spaces around them if they need some.
        alone: the indices of single marks; empty for tags of a pair.
    """

    position: int
    order: tuple
    text: str
    alone: range = range(0)


def place_marks(
    stripped: Stripped,
    translation: str,
    source: Sequence[Span],
    target: Sequence[Span],
    alignment: Sequence[int],
    weights: Sequence[Sequence[float]] = (),
) -> str:
    """Puts the marks of a stripped text into its translation.

    Args:
        stripped: the source.
        translation: of `stripped.text`.
        source: spans of the source's tokens.
        target: spans of the translation's tokens.
        alignment: for each target token, the index of its source token.
        weights: for each target token, the attention to each source token.
            Used to find a token for pairs that get none by `alignment`.
    """
    tokens = [
        (span, _middle(source[index]))
        for span, index in zip(target, alignment, strict=True)
        if span.end > span.start
    ]
    tokens = _of_words(tokens, translation)
    tokens = _of_characters(tokens, stripped, translation)
    if weights:
        _fill_pairs(stripped, tokens, source, target, weights)
    placed: list[_Placed] = []
    _place(stripped, translation, tokens, range(len(stripped.marks)), 0, placed)
    placed.sort()
    groups = [[stripped.marks[n] for n in each.alone] for each in placed]
    order = _in_order(groups, lambda n: placed[n].alone.start)
    result, end, spans = "", 0, []
    for each, group, other in zip(placed, groups, order, strict=True):
        result += translation[end : each.position]
        end = each.position
        before, own = "".join(group), "".join(groups[other])
        start = len(result) + each.text.index(before)
        result += each.text.replace(before, own)
        for n in placed[other].alone:
            place = stripped.places[n]
            kept = n < placed[other].alone[-1] or (
                not stripped.spaced[n][1]
                and stripped.text[place : place + 1]
                == translation[end : end + 1]
            )
            spans.append((start, start + len(stripped.marks[n]), kept))
            start = spans[-1][1]
    return _apart(result + translation[end:], spans)


def _middle(span):
    return (span.start + span.end) / 2


def _of_words(tokens, translation):
    """Merges the tokens of words, so that tags don't split words.

    The longest token of a word determines its place in the source.
    """
    words = _word_spans(translation)
    whole: list[tuple[Span, float, int]] = []
    index = 0
    for span, middle in tokens:
        start, end = span
        while index < len(words) and words[index].end <= start:
            index += 1
        last = index
        while last < len(words) and words[last].start < span.end:
            start = min(start, words[last].start)
            end = max(end, words[last].end)
            last += 1
        size = span.end - span.start
        if whole and start < whole[-1][0].end:
            before, *longest = whole.pop()
            start, end = before.start, max(end, before.end)
            if size <= longest[1]:
                middle, size = longest
        whole.append((Span(start, end), middle, size))
    return [(span, middle) for span, middle, _ in whole]


def _of_characters(tokens, stripped, translation):
    """Splits copied words to characters if they have marks inside.

    So that H<sub>2</sub>O keeps its tag around the digit.
    """
    inside = set(stripped.places)
    words = {
        place: word
        for word in _word_spans(stripped.text)
        if not inside.isdisjoint(range(word.start + 1, word.end))
        for place in range(word.start, word.end)
    }
    result: list[tuple[Span, float]] = []
    for span, middle in tokens:
        word = words.get(int(middle), span)
        copied = stripped.text[slice(*word)] == translation[slice(*span)]
        if int(middle) in words and copied:
            result += [
                (Span(begin, begin + 1), place + 0.5)
                for begin, place in zip(range(*span), range(*word), strict=True)
            ]
        else:
            result.append((span, middle))
    return result


def _fill_pairs(stripped, tokens, source, target, weights):
    """Moves tokens to pairs of tags that have none.

    In a compound such as Formelleiste, for <b>Formula</b> bar, one word
    translates both. A pair takes the token that attends to its text most, but
    never the only token of another pair.

    Args:
        stripped, source, target, weights: see `place_marks`.
        tokens: `(Span, middle of the source's token)`, changed in place.
    """
    weighed = source[: len(weights[0])]
    words = [n for n, (start, end) in enumerate(weighed) if end > start]
    places = [_middle(source[n]) for n in words]
    starts = [span.start for span, _ in tokens]
    middles = sorted(middle for _, middle in tokens)

    def count(pair):
        ends = stripped.places[pair], stripped.places[stripped.partners[pair]]
        first, last = (bisect.bisect_left(middles, place) for place in ends)
        return last - first

    around = _pairs_around(stripped)
    tried: set[tuple[int, int]] = set()
    # Inner pairs first: their tokens also fill the pairs around them.
    for pair in sorted(
        (n for n, last in enumerate(stripped.partners) if last > n),
        key=stripped.partners.__getitem__,
    ):
        ends = stripped.places[pair], stripped.places[stripped.partners[pair]]
        low, high = (bisect.bisect_left(places, place) for place in ends)
        if low == high or (low, high) in tried or count(pair):
            continue
        tried.add((low, high))
        inside = words[low:high]
        shares = [(sum(w[i] for i in inside), n) for n, w in enumerate(weights)]
        for share, row in heapq.nlargest(_CANDIDATES, shares):
            n = bisect.bisect(starts, target[row].start) - 1
            if share < _LEAST_SHARE or n < 0:
                break
            span, before = tokens[n]
            other = around[bisect.bisect(stripped.places, before)]
            encloses = other is None or other < pair < stripped.partners[other]
            if span.end > target[row].start and (encloses or count(other) > 1):
                best = max(inside, key=weights[row].__getitem__)
                middle = _middle(source[best])
                tokens[n] = span, middle
                del middles[bisect.bisect_left(middles, before)]
                bisect.insort(middles, middle)
                break


def _pairs_around(stripped):
    """The innermost open pair or None: at the start, and after each mark."""
    around: list[int | None] = [None]
    opened: list[int] = []
    for n, partner in enumerate(stripped.partners):
        if partner > n:
            opened.append(n)
        elif partner < n:
            opened.pop()
        around.append(opened[-1] if opened else None)
    return around


def _place(stripped, translation, tokens, indices, depth, placed):
    """Places the marks inside a pair, or of the whole text, among its tokens.

    Args:
        stripped, translation: see `place_marks`.
        tokens: `(Span, middle of the source's token)` of the enclosing pair.
        indices: of all marks in the enclosing pair.
        depth: number of enclosing pairs.
        placed: receives the placed marks.
    """
    taken: set[int] = set()
    # By the place in the source.
    sources = sorted((middle, n) for n, (_, middle) in enumerate(tokens))
    index = indices.start
    while index < indices.stop:
        partner = stripped.partners[index]
        inner = range(index + 1, partner)
        marks = range(index, partner + 1)
        if partner == index:
            marks = _touching(stripped, range(index, indices.stop))
        first, last = (stripped.places[marks[n]] for n in (0, -1))
        begin, end = (bisect.bisect(sources, (p, -1)) for p in (first, last))
        within = sorted({n for _, n in sources[begin:end]} - taken)
        run = _longest_run(within, taken)
        if partner == index or not run or depth == _DEEPEST:
            # Also a pair that is empty, or whose content has no translation.
            placed.append(
                _alone(stripped, marks, translation, tokens, sources, depth)
            )
        else:
            taken.update(range(run[0], run[-1] + 1))
            inside = tokens[run[0] : run[-1] + 1]
            start, end = inside[0][0].start, inside[-1][0].end
            placed.append(
                _Placed(start, (1, depth, 1, index), stripped.marks[index])
            )
            placed.append(
                _Placed(end, (0, -depth, 0, index), stripped.marks[partner])
            )
            _place(stripped, translation, inside, inner, depth + 1, placed)
        index = marks[-1] + 1


def _touching(stripped, indices):
    """The single marks, from the first index, with no space between them.

    They stay together: `%%` is the unit of the number in `%d%%`.
    """
    last = indices.start
    while (
        last + 1 in indices
        and stripped.partners[last + 1] == last + 1
        and not stripped.spaced[last][1]
        # `strip_marks` may have added a space between.
        and not stripped.text[slice(*stripped.places[last : last + 2])].strip()
    ):
        last += 1
    return range(indices.start, last + 1)


def _joined(stripped, indices):
    """Joins marks without the text between; keeps spaces between elements."""
    text = stripped.marks[indices[0]]
    for before, n in itertools.pairwise(indices):
        opened = stripped.partners[before] > before
        closes = stripped.partners[n] < n
        spaced = stripped.spaced[n][0] and not opened and not closes
        text += " " * spaced + stripped.marks[n]
    return text


def _longest_run(within, taken):
    """The longest run of a pair's tokens with no taken token in between."""
    runs: list[list[int]] = []
    for n in within:
        between = range(runs[-1][-1], n) if runs else ()
        if runs and taken.isdisjoint(between):
            runs[-1].append(n)
        else:
            runs.append([n])
    return max(runs, key=len, default=[])


def _alone(stripped, marks, translation, tokens, sources, depth):
    """Places marks beside the token of their neighbour in the source."""
    index, last = marks[0], marks[-1]
    place, end = stripped.places[index], stripped.places[last]
    spaces = stripped.spaced[index][0], stripped.spaced[last][1]
    n = bisect.bisect(sources, (place, -1))
    # A mark that touches the word before it, such as a note, stays with it.
    joined = n > 0 and spaces == (False, True)
    if (
        n < len(sources)
        and not joined
        and (n == 0 or sources[n][0] - place <= place - sources[n - 1][0])
    ):
        span, _ = tokens[sources[n][1]]
        position, order = span.start, (1, depth, 0, index)
    else:
        position = tokens[sources[n - 1][1]][0].end if n else len(translation)
        order = (0, -depth, 1, index)  # After a pair that ends there.
    left = translation[max(position - 1, 0) : position]
    right = translation[position : position + 1]
    # The neighbours in the source; of the spaces around, one is left.
    before = stripped.text[max(place - 2, 0) : place].strip()[-1:]
    after = stripped.text[end : end + 2].strip()[:1]
    closes = _CLOSES.match(translation, position)
    return _Placed(
        position,
        order,
        " " * (spaces[0] and _needs_space(left, before))
        + _joined(stripped, marks)
        + " " * (spaces[1] and not closes and _needs_space(right, after)),
        marks if stripped.partners[index] == index else range(0),
    )


def _needs_space(neighbour, in_source):
    """True if a mark needs a space between it and an adjacent character.

    A space of the source isn't needed beside a script without spaces, unless
    the source has it there, too.
    """
    if not neighbour or neighbour.isspace():
        return False
    return not is_unspaced(neighbour) or is_unspaced(in_source or " ")


def is_unspaced(character: str) -> bool:
    """True for East Asian characters except Korean, which has spaces."""
    wide = unicodedata.east_asian_width(character) in "WF"
    emoji = character < "\u2e80" or "\U0001f000" <= character < "\U00020000"
    return wide and not emoji and script_of_character(character) != "HANGUL"
