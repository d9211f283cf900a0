"""Subtitles: SubRip (.srt) and WebVTT (.vtt).

A sentence that spans several cues is translated as one text, and its
translation is distributed over the same cues by their length. Time codes,
numbers, cue settings, notes and styles aren't changed.

References: WebVTT, W3C Candidate Recommendation; Netflix' Timed Text Style
Guide for the 42 columns of a line.
"""

import bisect
import collections
import dataclasses
import html
import itertools
import pathlib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from keras_transformer.documents.document import read_text
from keras_transformer.documents.markup import is_unspaced
from keras_transformer.errors import InputError
from keras_transformer.punctuation import CLOSERS, FULL_STOPS, STOPS

_TIMES = re.compile(
    r"\s*((?:\d+:)?\d+:\d+[.,]\d+)\s*-->\s*((?:\d+:)?\d+:\d+[.,]\d+)"
)
# `<i>`, `<v Ann>` and `{\an8}`.
_TAG = re.compile(r"(</?[A-Za-z][^<>\n]*>|<[\d:.]+>|\{\\[^{}\n]*\})")
_CLOSING_TAG = re.compile(r"</[^<>\n]*>")
_LINE_BREAK = re.compile(r"<[Bb][Rr] ?/?>|\\N")
# Marks of the direction of a text, as around right-to-left lines.
_DIRECTIONS = "\u200e\u200f\u202a-\u202e\u2066-\u2069"
_CAPITALS = "".join(filter(str.isupper, map(chr, range(0x2000))))
_SMALL = "".join(filter(str.islower, map(chr, range(0x2000))))
# A dash, `>>`, or a name in capitals before text that isn't all in capitals.
# A name may be in brackets, and may have a remark, as in `MAN (on phone):`. A
# name as in `（太郎）どこ？` stays in the text, to be translated.
_NAME = rf"[{_CAPITALS}][{_CAPITALS}\d .'’&#-]{{0,30}}"
_SPEAKER = re.compile(
    rf"([{_DIRECTIONS}]*)(\s*(?:"
    r"[-\u2010-\u2015\uff0d]|(?:>|&gt;){2,}|(?=（[^（）]{1,30}）\s*\S)"
    rf"|(?:{_NAME}(?:[(\[][^()\[\]]{{1,30}}[)\]])?|[(\[]{_NAME}[)\]])"
    rf":(?=\s.*[{_SMALL}]))\s*)(?=\S)",
    re.DOTALL,
)
# Ruby tags, and the readings within, which aren't translated.
_RUBY = re.compile(r"<r[tp]\b[^<>]*>[^<>]*(?:</r[tp]>)?|</?ruby\b[^<>]*>")
_STYLES = r"(?:<[biu]>|\{\\[^{}\n]*\})*"
# Text enclosed in a tag of a speaker or colour, which may be left open. The
# lookahead and \3 make the match atomic, as `*+` fails before Python 3.11.5.
_OWN = re.compile(
    rf"\s*{_STYLES}(<(font|c(?=\.)|v)\b[^<>]*>)"
    r"(?=((?:(?!</?\2\b).|</\2>\s*\1)*))\3(?:</\2>(?:</[biu]>)*)?\s*$",
    re.DOTALL | re.IGNORECASE,
)
_OWN_START = re.compile(
    rf"\n(?={_STYLES}<(?:font|c\.|v)\b)|\s(?=<v\b)", re.IGNORECASE
)
# `<v Ann>`, and `\an8` and `\pos(1,2)` in braces.
_FRAME = re.compile(r"<v\b[^<>]*>|\\(?:an?\d|pos|move)[^{}\\]*")
_IN_BRACKETS = re.compile(
    rf"[{_DIRECTIONS}]*[\[(（［【〔][^\])）］】〕]*[\])）］】〕][{_DIRECTIONS}]*$"
)
_SOUND = re.compile(rf"[{_DIRECTIONS}]*[♪♫#]|{_IN_BRACKETS.pattern}")
# Also a Tibetan line end, and a question mark of Greek.
_SENTENCE_END = re.compile(
    rf"(?:[{STOPS}{FULL_STOPS}།\u037e]|(?<=[\u0370-\u03ff\u1f00-\u1fff]);)"
    rf"[{CLOSERS}{_DIRECTIONS} ]*$"
)
_NOT_FIRST = (
    ".,;:!?…%)]}'\"”’»，。、；：！？」』）】》"
    "・ー々ぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮヵヶ"
)
_COMMAS = "，、：；"
# Maximum cues of a sentence, and seconds between two of them.
_MOST_CUES, _LONGEST_GAP = 8, 2.0
_COLUMNS = 42
_OUTSIDE = "without a time code"


@dataclasses.dataclass
class _Cue:
    """The text of one speaker in a cue, without the tags around it."""

    text: str
    before: str
    after: str
    start: float
    end: float
    is_whole: bool  # False for a sound, or with the mark of a speaker
    frame: tuple[str | None, ...] = ()  # the speaker and the position


class Subtitles:
    """A `Document` of subtitles.

    Args:
        path: of the file.

    Raises:
        InputError: it isn't UTF-8, or has no time code.
    """

    def __init__(self, path: pathlib.Path) -> None:
        content = read_text(path)
        ends = (end for end in ("\r\n", "\n", "\r") if end in content)
        self._newline = next(ends, "\n")
        lines = content.replace(self._newline, "\n").split("\n")
        self._is_webvtt = content.lstrip("\ufeff").startswith("WEBVTT")
        if self._is_webvtt:
            # In WebVTT, lines of only spaces don't end a cue.
            lines = [line for line in lines if not line or line.strip()]
        # Unchanged lines, and lists of cues in place of their text.
        self._parts: list[str | list[_Cue]] = list(_parts(lines))
        cues = [cue for part in self._parts for cue in _cues_of(part)]
        if not any(map(_TIMES.match, lines)):
            raise InputError(
                f"{path}: no time code. Accepted: SubRip or WebVTT, such as "
                "00:01:02,500 --> 00:01:04,000"
            )
        # Most Chinese and Japanese subtitles have no full stops.
        has_stops = 10 * content.count("。") >= len(cues)
        said = (cue for cue in cues if cue.text)
        self._groups = list(_groups(said, has_stops))
        self.texts = [_joined(cue.text for cue in g) for g in self._groups]
        left = sum(map(_is_outside, self._parts))
        self.skipped: dict[str, int] = {_OUTSIDE: left} if left else {}
        if self._is_webvtt:
            self.texts = [
                " ".join(html.unescape(text).split()) for text in self.texts
            ]
            self.skipped = {}  # Lines outside are notes and names of cues.

    def translated(self, texts: Iterable[str]) -> Iterable[bytes]:
        """See `Document.translated`."""
        for group, text in zip(self._groups, texts, strict=True):
            shares = [len(cue.text) for cue in group]
            for cue, share in zip(group, _spread(text, shares), strict=True):
                cue.text = share
        lines: list[str] = []
        for part in self._parts:
            if isinstance(part, str):
                lines.append(part)
            for cue in _cues_of(part):
                text = "\n".join(_wrapped(cue.text))
                if self._is_webvtt:
                    text = html.escape(text, quote=False)
                lines += (cue.before + text + cue.after).split("\n")
        return [self._newline.join(lines).encode()]


def _cues_of(part):
    return [] if isinstance(part, str) else part


def _is_outside(part):
    """True for a line of text that doesn't belong to a time code."""
    return (
        isinstance(part, str)
        and part.strip("\ufeff \t0123456789") != ""
        and not _TIMES.match(part)
    )


def _parts(lines) -> Iterator:
    """Yields unchanged lines, and a list of cues for each time code."""
    number = 0
    while number < len(lines):
        yield lines[number]
        times = _TIMES.match(lines[number])
        number += 1
        if times is None:
            continue
        begin = number
        while number < len(lines) and lines[number].strip():
            if _TIMES.match(lines[number]):
                # The next cue, whose number has no blank line before it.
                number -= number > begin and lines[number - 1].strip().isdigit()
                break
            number += 1
        span = map(_seconds, times.groups())
        settings = lines[begin - 1][times.end() :].strip()
        yield list(_cues(lines[begin:number], settings, *span))


def _cues(lines, settings, start, end):
    """Yields a cue for each speaker, or one for the whole text."""
    if not lines:
        return
    for text in _turns(_RUBY.sub("", "\n".join(lines))):
        # Alternately text and tags.
        pieces = _TAG.split(_LINE_BREAK.sub(" ", text))
        said = [n for n in range(0, len(pieces), 2) if pieces[n].strip()]
        if not said:
            yield _Cue("", text, "", start, end, False)
            continue
        before = "".join(pieces[: said[0]])
        inner = "".join(pieces[said[0] : said[-1] + 1 : 2])
        after = "".join(pieces[said[-1] + 1 :])
        # Opening tags within the text move before it, closing tags behind it.
        within = pieces[said[0] + 1 : said[-1] : 2]
        before += "".join(
            tag for tag in within if tag[0] == "{" or tag[1].isalpha()
        )
        frame = settings, _own_tag(text), *_FRAME.findall(before)
        if within:
            closing = _CLOSING_TAG.findall("".join(within) + after)
            rest = _CLOSING_TAG.sub("", after)
            after = "".join(_nested(before, closing)) + rest
        speaker = _SPEAKER.match(inner)
        if speaker:
            before += speaker[2]
            inner = speaker[1] + inner[speaker.end() :]
        inner = " ".join(inner.split())
        is_whole = not speaker and not _SOUND.match(inner)
        yield _Cue(inner, before, after, start, end, is_whole, frame)


def _turns(text):
    # Lines with the same colour belong to one speaker.
    parts = itertools.groupby(_OWN_START.split(text), _own_tag)
    own = [(tag, "\n".join(lines)) for tag, lines in parts]
    if not all(tag for tag, _ in own):
        own = [(None, text)]
    return [turn for _, part in own for turn in _dialogue(part)]


def _dialogue(text):
    """Splits a text before each speaker's turn, and around lines of a sound."""
    lines = re.split(r"\n|\s(?=<v\b)", text)
    turns = [lines[:1]]
    # If only the second line has a dash, it may be a speaker's or an aside's.
    is_sure = _begins_turn(lines[0])
    for before, line in itertools.pairwise(lines):
        is_turn = is_sure or not _is_aside(before, line)
        has_sound = _is_sound(before) or _is_sound(line)
        if has_sound or (is_turn and _begins_turn(line)):
            turns.append([])
        turns[-1].append(line)
    return map("\n".join, turns)


def _is_aside(before, line):
    """True if a line's dash continues the sentence: "We left⏎- at last"."""
    said = _TAG.sub("", line).lstrip("-‐‑‒–—― ")
    is_open = not _SENTENCE_END.search(_TAG.sub("", before).rstrip())
    return is_open and (said[:1].islower() or said[:1].isdigit())


def _is_sound(line):
    return _IN_BRACKETS.match(_TAG.sub("", line).strip())


def _own_tag(text):
    own = _OWN.match(text)
    return own and own[1]


def _begins_turn(line):
    return line.startswith("<v") or _SPEAKER.match(_TAG.sub("", line))


def _nested(opening, closing):
    """Sorts closing tags in the reverse order of their opening tags."""
    places = collections.defaultdict(list)
    for place, name in enumerate(re.findall(r"<(\w+)", opening)):
        places[name].append(place)

    def last_place(tag):
        same = places[tag.strip("</>").lower()]
        return same.pop() if same else -1

    return sorted(closing, key=last_place, reverse=True)


def _seconds(code):
    seconds = 0.0
    for part in code.replace(",", ".").split(":"):
        seconds = 60 * seconds + float(part)
    return seconds


def _groups(cues, has_stops) -> Iterator[list[_Cue]]:
    """Yields the cues of each text, which is one or more sentences."""
    group: list[_Cue] = []
    for cue in cues:
        if group and not _goes_on(group, cue, has_stops):
            yield group
            group = []
        group.append(cue)
    if group:
        yield group


def _goes_on(group, cue, has_stops):
    last = group[-1]
    end = last.text[-1]
    return (
        cue.is_whole
        and cue.frame == last.frame
        and (has_stops or not is_unspaced(end) or end in _COMMAS)
        and not _SOUND.match(last.text)
        and not _SENTENCE_END.search(last.text)
        and 0 <= cue.start - last.end <= _LONGEST_GAP
        and len(group) < _MOST_CUES
    )


def _joined(texts):
    """Joins texts, with a space between them if their script has spaces."""
    whole = ""
    for text in texts:
        unspaced = whole and is_unspaced(whole[-1]) and is_unspaced(text[0])
        whole += text if unspaced or not whole else f" {text}"
    return whole


def _units(text) -> list[str]:
    """Splits a text to unbreakable units: words, or East Asian characters.

    A mark that doesn't begin a line is in a unit with what is before it.
    """
    units: list[str] = []
    before = " "
    for character in text:
        unspaced = is_unspaced(before) or is_unspaced(character)
        begins = before.isspace() or (unspaced and character not in _NOT_FIRST)
        if begins and not character.isspace():
            units.append("")
        if units:
            units[-1] += character
        before = character
    # A space may be before a stop in French.
    whole: list[str] = []
    for unit in units:
        if whole and not unit.rstrip().strip(_NOT_FIRST):
            whole[-1] += unit
        else:
            whole.append(unit)
    return whole


def _width(text):
    wide = map(unicodedata.east_asian_width, text)
    return sum(2 if width in "WF" else 1 for width in wide)


def _spread(text: str, shares: Sequence[int]) -> list[str]:
    """Splits a text into parts, approximately in proportion to `shares`.

    Words aren't cut; if there are fewer words than parts, some parts are empty.
    """
    units = _units(text)
    ends = [0]
    for unit in units:
        ends.append(ends[-1] + _width(unit))
    cuts, done, whole = [0], 0, sum(shares)
    least = 1 if len(units) >= len(shares) else 0
    for number, share in enumerate(shares[:-1], 1):
        done += share
        wanted = ends[-1] * done / whole
        first = cuts[-1] + least
        last = len(units) - least * (len(shares) - number)
        place = bisect.bisect(ends, wanted, first, last)
        near = max(first, place - 1), place
        cuts.append(min(near, key=lambda n: abs(ends[n] - wanted)))
    cuts.append(len(units))
    return [
        "".join(units[start:end]).strip()
        for start, end in zip(cuts, cuts[1:], strict=False)
    ]


def _wrapped(text):
    """Wraps a text to lines of at most 42 columns and similar lengths."""
    count = max(1, -(-_width(text) // _COLUMNS))
    units = _units(text)
    # A unit, such as an address, may be wider than a line.
    widest = max([_COLUMNS, *map(_width, units)])
    for more in range(4):
        lines = _spread(text, [1] * (count + more))
        if max(map(_width, lines)) <= widest:
            return [line for line in lines if line] or [""]
    lines = [""]
    for unit in units:
        if lines[-1] and _width(lines[-1] + unit.rstrip()) > _COLUMNS:
            lines.append("")
        lines[-1] += unit
    return [line.rstrip() for line in lines]
