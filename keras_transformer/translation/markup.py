"""Markup: translations that keep the markup of their sources.

Models trained with symbols translate texts with symbols in place of their marks
(`MaskedLines`). For other models, markup is removed first, and then put back
into the translation by the alignment (`projecting_markup`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from keras_transformer.blank import is_blank
from keras_transformer.documents.glossary import (
    annotated_where_missing,
    missing_terms,
    with_wanted_terms,
)
from keras_transformer.documents.markup import (
    Masked,
    Span,
    Stripped,
    find_marks,
    mask_marks,
    mask_text,
    place_marks,
    strip_marks,
    token_spans,
)
from keras_transformer.symbols import SYMBOL, TERM_START
from keras_transformer.translation.request import (
    Hypothesis,
    Translation,
    blank_translation,
    joined_translation,
    of_rank,
)

Translate = Callable[[list[str]], list[Translation]]

# Greatest length of a translation with its terms, relative to that without.
_LONGEST = 1.5


class MaskedLines:
    """Lines with symbols in place of marks, and their translations.

    Args:
        lines: texts, or pairs of a text and the prefix of its translation,
            whose marks are masked like those of the text.
        placeholders: regular expressions of further marks.

    Attributes:
        parts: texts or pairs to translate: one for each line, several if a
            line has more marks than symbols have numbers, and none if it is
            markup alone. Pairs of marks around a whole text are left out, as
            splitting it into sentences would separate them.
    """

    def __init__(
        self,
        lines: Sequence[str] | Sequence[tuple[str, str]],
        placeholders: tuple[str, ...] = (),
    ) -> None:
        self._lines = lines
        self._masked: list[list[Masked]] = []
        self.parts: list[Any] = []
        for line in lines:
            text, *prefix = (line,) if isinstance(line, str) else line
            # Terms get no symbols here: the prefix may have them already.
            masked = (
                mask_marks(text, find_marks(text, placeholders))
                if prefix
                else mask_text(text, placeholders)
            )
            self._masked.append(masked)
            for part in masked:
                if not _has_words(part):
                    continue
                if prefix:
                    self.parts.append(
                        _with_prefix(part, prefix[0], placeholders)
                    )
                    prefix = [""]
                else:
                    self.parts.append(part.unwrapped()[1])

    @property
    def has_marks(self) -> bool:
        """True if a line has markup."""
        return any(part.marks for parts in self._masked for part in parts)

    def unmasked(self, results: Iterable[Translation]) -> list[Translation]:
        """The translations of the lines, from those of the parts."""
        rest = iter(results)
        return [
            self._unmasked(line, masked, rest)
            for line, masked in zip(self._lines, self._masked, strict=True)
        ]

    def _unmasked(self, line, masked, rest):
        source = line if isinstance(line, str) else line[0]
        wrapped = isinstance(line, str)
        found = [_of_part(part, rest, wrapped) for part in masked]
        if len(found) == 1:
            return found[0]._replace(source=source)
        gaps = [_spaces(part.text) for part in masked]
        ranks = max(len(one.hypotheses) for one in found)
        texts = [
            "".join(
                f"{before}{of_rank(one, rank).text.strip()}{after}"
                for (before, after), one in zip(gaps, found, strict=True)
            )
            for rank in range(ranks)
        ]
        return joined_translation(source, found, texts)


def _has_words(masked):
    return not is_blank(re.sub(SYMBOL, "", masked.text))


def _with_prefix(masked, prefix, placeholders):
    """A part and its translation's prefix, masked with the part's symbols."""
    left: dict[str, list[str]] = {}
    for symbol, mark in masked.marks.items():
        left.setdefault(mark, []).append(symbol)
    parts, end = [], 0
    for mark in find_marks(prefix, placeholders):
        written = prefix[mark.start : mark.end]
        symbols = left.get(written)
        parts += [
            prefix[end : mark.start],
            symbols.pop(0) if symbols else written,
        ]
        end = mark.end
    return masked.text, "".join([*parts, prefix[end:]])


def _of_part(masked, rest, wrapped):
    """The next result, with the marks of its part.

    Args:
        masked: the part.
        rest: iterator of results.
        wrapped: whether marks around the whole part were left out.
    """
    if not _has_words(masked):
        # A blank text without marks has the translation "", as everywhere.
        marks = masked.unmasked(masked.text) if masked.marks else ""
        return blank_translation(marks, marks)
    result = next(rest)
    before, _, after = masked.unwrapped() if wrapped else ("", "", "")
    # Keyed by text, as two may differ only in the order of their symbols.
    hypotheses: dict[str, Hypothesis] = {}
    for one in result.hypotheses:
        text = with_wanted_terms(masked, f"{before}{one.text}{after}")
        text = masked.unmasked(text)
        hypotheses.setdefault(text, one._replace(text=text))
    return result._replace(hypotheses=[*hypotheses.values()])


def _spaces(text):
    """The white space at both ends of a text."""
    return text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]


def masking_markup(
    translate: Callable[[list], list[Translation]],
    placeholders: tuple[str, ...] = (),
) -> Callable[[list], list[Translation]]:
    """A function from lines with markup to translations with the same markup.

    Args:
        translate: translates lines with symbols, see `MaskedLines`.
        placeholders: regular expressions of further marks.
    """

    def translate_marked(lines):
        masked = MaskedLines(lines, placeholders)
        parts = masked.parts
        return masked.unmasked(translate(parts) if parts else [])

    def translate_all(lines):
        found = translate_marked(without_terms(lines))
        return with_terms(lines, found, translate_marked)

    return translate_all


def without_terms(lines: Sequence[Any]) -> list[Any]:
    """Removes the annotations of terms from lines, but not from pairs."""
    return [
        annotated_where_missing(line) if isinstance(line, str) else line
        for line in lines
    ]


def with_terms(
    lines: Sequence[Any],
    found: Iterable[Translation],
    translate: Callable[[list], list[Translation]],
) -> list[Translation]:
    """Translates lines again if their translations lack annotated terms.

    Terms that a translation has already aren't annotated: a model translates
    the rest of a text best without annotations.

    The first translation is kept if the second one is far longer, or lacks a
    term that the first one has.

    Args:
        lines: texts, or pairs of a text and a prefix, with annotated terms.
        found: the translations of `without_terms(lines)`.
        translate: translates lines with annotated terms, and markup.
    """
    results = list(found)
    again: dict[int, str] = {}
    for index, line in enumerate(lines):
        if isinstance(line, str) and TERM_START in line:
            results[index] = results[index]._replace(source=line)
            best = results[index].hypotheses[0].text
            text = annotated_where_missing(line, best)
            if TERM_START in text:
                again[index] = text
    forced = translate([*again.values()]) if again else []
    for (index, text), result in zip(again.items(), forced, strict=True):
        first, second = (r.hypotheses[0].text for r in (results[index], result))
        terms = len(text) - len(annotated_where_missing(text))
        # A search that finds no place for a term continues to its limit.
        lacks = [missing_terms(lines[index], one) for one in (first, second)]
        longest = _LONGEST * len(first) + terms
        if lacks[1] <= lacks[0] and len(second) <= longest:
            results[index] = result._replace(source=lines[index])
    return results


def projecting_markup(
    translate: Translate, align: Translate, placeholders: tuple[str, ...] = ()
) -> Translate:
    """A function from texts with markup to translations with the same markup.

    Args:
        translate: translates texts that have no markup.
        align: translates texts whose markup was removed; its results have
            source tokens and alignments.
        placeholders: regular expressions of further marks.
    """

    def translate_all(texts):
        found = [strip_marks(t, find_marks(t, placeholders)) for t in texts]
        plain = [s.text for s in found if not s.marks]
        marked = [s.text for s in found if s.marks and not is_blank(s.text)]
        results = iter(translate(plain) if plain else [])
        aligned = iter(align(marked) if marked else [])
        return [
            _with_marks(text, stripped, aligned)
            if stripped.marks
            else next(results)
            for text, stripped in zip(texts, found, strict=True)
        ]

    return translate_all


def _with_marks(
    text: str, stripped: Stripped, aligned: Iterator[Translation]
) -> Translation:
    if is_blank(stripped.text):
        return blank_translation(text, text)
    result = next(aligned)
    tokens = result.source_tokens or []
    source = token_spans(stripped.text, tokens)
    words = [i for i, span in enumerate(source) if span.end > span.start]
    hypotheses = [
        _marked(hypothesis, stripped, source, words)
        for hypothesis in result.hypotheses
    ]
    return result._replace(source=text, hypotheses=hypotheses)


def _marked(hypothesis: Hypothesis, stripped, source, words):
    """A hypothesis with the marks of its source in its text."""
    target = token_spans(hypothesis.text, hypothesis.tokens or [])
    alignment = [
        # Only source words: attention to START and END places no mark.
        max(words, key=weights.__getitem__, default=0)
        for weights in hypothesis.alignment or []
    ]
    copied = [*_copied(stripped.text, hypothesis.text, source, target)]
    rows = [
        *(hypothesis.alignment or []),
        *([0.0] * len(source) for _ in copied),
    ]
    source = [*source, *(span for span, _ in copied)]
    spans = [*target, *(span for _, span in copied)]
    alignment += range(len(source) - len(copied), len(source))
    order = sorted(range(len(spans)), key=spans.__getitem__)
    return hypothesis._replace(
        text=place_marks(
            stripped,
            hypothesis.text,
            source,
            [spans[n] for n in order],
            [alignment[n] for n in order],
            [rows[n] for n in order],
        )
    )


def _copied(source_text, text, source, target):
    """Yields both spans of words that were copied, such as list numbers."""
    words: dict[str, list[Span]] = {}
    for span in _of_no_token(source_text, source):
        words.setdefault(source_text[slice(*span)], []).append(span)
    for span in _of_no_token(text, target):
        if same := words.get(text[slice(*span)]):
            yield same.pop(0), span


def _of_no_token(text, spans):
    """The spans of the words without any token."""
    covered = {place for span in spans for place in range(*span)}
    words = token_spans(text, text.split())
    return [word for word in words if covered.isdisjoint(range(*word))]
