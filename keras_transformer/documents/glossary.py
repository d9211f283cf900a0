"""Glossary: terms, each with its required translation.

References: Dinu et al. 2019, "Training Neural Machine Translation to Apply
Terminology Constraints", for the form "append", which `annotated` writes;
Bergmanis and Pinnis 2021, "Facilitating Terminology Translation with Target
Lemma Annotations", for terms that the model inflects.
"""

from __future__ import annotations

import functools
import os
import pathlib
import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

from keras_transformer.documents.document import read_text
from keras_transformer.documents.markup import (
    MARKUP,
    Masked,
    combining_marks,
    find_marks,
)
from keras_transformer.errors import InputError, shown
from keras_transformer.symbols import (
    OPENING_SYMBOL,
    SYMBOL,
    TERM_END,
    TERM_START,
    TERM_TARGET,
)

_ACCEPTED = "Accepted: SOURCE, tab, TARGET, which is empty if SOURCE stays"
_LONGEST = 200  # characters of a term
_MOST_WORDS = 32  # of a term, as all lengths of terms are tried at each word
# Scripts without spaces, in which each character is a word.
_UNSPACED = (
    "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u3005-\u3007"
    "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\uff66-\uff9f\U00020000-\U0003ffff"
)
# Inflected forms of a word: the letters that the stem keeps at least, and that
# a form may lose at the end, or have in addition.
_FEWEST_LETTERS, _LOST, _MORE = 4, 2, 3

# Spelling variants of characters, and the invisible soft hyphen.
_SPELLED = str.maketrans("’\u2010\u2011", "'--", "\u00ad")

# An annotated term, whose translation isn't blank.
_ANNOTATED = re.compile(
    rf"({OPENING_SYMBOL}|){TERM_START}([^⟨⟩]*)"
    rf"{TERM_TARGET}(\s*[^⟨⟩\s][^⟨⟩]*){TERM_END}"
)


class Word(NamedTuple):
    """A word or a punctuation character in a text.

    Attributes:
        start, end: its range of characters.
        barrier: True for markup, which terms don't cross.
    """

    start: int
    end: int
    barrier: bool = False


class Found(NamedTuple):
    """A term in a text.

    Attributes:
        start, end: its range of characters.
        target: the required translation; "": it isn't translated.
    """

    start: int
    end: int
    target: str


def words_of(text: str) -> list[Word]:
    """The words of a text, in order.

    A hyphen or a dot within a word is part of it, as in `file.txt`, and so are
    the endings of `C++` and `F#`. In scripts without spaces between words, each
    character is a word.
    """
    return [
        Word(match.start(), match.end(), match.lastgroup == "markup")
        for match in _pattern().finditer(text)
    ]


@functools.cache
def _pattern():
    marks = combining_marks()
    letter = rf"[^\W{_UNSPACED}{marks}]"
    letters = rf"{letter}+(?:[{marks}\u00ad]+{letter}*)*"
    return re.compile(
        rf"(?P<markup>{MARKUP})|[{_UNSPACED}][{marks}]*"
        rf"|{letter}(?:\+\+|\#)(?!{letter})"
        rf"|{letters}(?:[-.\u2010\u2011]{letters})*|\S",
        re.DOTALL,
    )


class Glossary:
    """Finds terms: the longest first, by whole words, and not within markup.

    A term without capitals matches any case, other terms only their own.

    Args:
        terms: pairs of a term and its translation; "": it isn't translated.

    Raises:
        InputError: an item isn't such a pair, or a term has two translations.

    Example:
        >>> glossary = Glossary([("cell", "Zelle"), ("cell range", "Bereich")])
        >>> glossary.find("Cell range, cells")
        [Found(start=0, end=10, target='Bereich')]
    """

    def __init__(self, terms: Iterable[tuple[str, str]]) -> None:
        self._targets: dict[str, str] = {}
        # Numbers of words of terms, by the terms' first word in lower case.
        self._sizes: dict[str, list[int]] = {}
        for number, term in enumerate(terms, 1):
            self._add(term, f"term {number}")

    @classmethod
    def read(cls, path: str | os.PathLike) -> Glossary:
        """Reads a TSV file of terms and translations; ignores other columns.

        Raises:
            InputError: it can't be read, or a line isn't a term.
        """
        glossary = cls(())
        lines = read_text(pathlib.Path(path)).removeprefix("\ufeff").split("\n")
        for number, line in enumerate(lines, 1):
            if line.strip():
                columns = line.rstrip("\r").split("\t")
                glossary._add(columns[:2], f"{path}, line {number}")
        if not len(glossary):
            raise InputError(f"{path}: no term in it. {_ACCEPTED}")
        return glossary

    @classmethod
    def of(cls, terms: Terms) -> Glossary:
        """Creates a glossary from any of the forms of `Terms`.

        Raises:
            InputError: see `read` and the class.
        """
        if isinstance(terms, Glossary):
            return terms
        if isinstance(terms, str | os.PathLike):
            return cls.read(terms)
        return cls(terms.items() if isinstance(terms, Mapping) else terms)

    def __len__(self) -> int:
        return len(self._targets)

    def _add(self, term, where):
        if not _is_term(term):
            raise InputError(
                f"{where}: {shown(term)}. {_ACCEPTED}, up to {_LONGEST} "
                "characters each, without ⟨ and ⟩"
            )
        source, target = (_composed(" ".join(s.split())) for s in term)
        words = words_of(source)
        known = self._targets.setdefault(_key(source, words), target)
        if known != target:
            raise InputError(
                f"{where}: {shown(source)} is {shown(target)} here, "
                f"{shown(known)} before. Accepted: one translation of a term"
            )
        if len(words) > _MOST_WORDS:
            raise InputError(
                f"{where}: a term of {len(words)} words. Accepted: up to "
                f"{_MOST_WORDS}"
            )
        sizes = self._sizes.setdefault(_folded(source, words[0]), [])
        if len(words) not in sizes:
            sizes.append(len(words))
            sizes.sort(reverse=True)

    def find(
        self, text: str, placeholders: tuple[str, ...] = ()
    ) -> list[Found]:
        """The terms in a text, in order; none overlaps another.

        Args:
            text: the text.
            placeholders: regular expressions of additional markup.
        """
        words = words_of(text)
        if placeholders:
            words = _outside(words, find_marks(text, placeholders))
        found, index = [], 0
        while index < len(words):
            size, target = self._at(text, words, index)
            if size:
                last = words[index + size - 1]
                found.append(Found(words[index].start, last.end, target))
            index += size or 1
        return found

    def _at(self, text, words, index):
        """The number of words of the term at a word, or 0, and its target."""
        for size in self._sizes.get(_folded(text, words[index]), ()):
            chosen = words[index : index + size]
            if len(chosen) < size or any(word.barrier for word in chosen):
                continue
            lines = text[chosen[0].start : chosen[-1].end].splitlines()
            if len(lines) > 1:
                continue
            surface = _key(text, chosen)
            for form in (surface, _with_i(surface).lower()):
                if form in self._targets:
                    return size, self._targets[form]
        return 0, ""


# A glossary, the path of its file, or its terms.
Terms: TypeAlias = (
    Glossary | str | os.PathLike | Mapping[str, str] | Iterable[tuple[str, str]]
)


def _is_term(term):
    """True for a pair of texts that can be annotated."""
    return (
        isinstance(term, list | tuple)
        and len(term) == 2
        and all(isinstance(side, str) for side in term)
        and bool(term[0].strip())
        and not any(set("⟨⟩") & {*side} for side in term)
        and max(map(len, term)) <= _LONGEST
    )


def _key(text, words):
    """A key that doesn't depend on spaces between words, as in Excel表格."""
    return " ".join(_word(text, word) for word in words)


def _folded(text, word):
    return _with_i(_word(text, word)).casefold()


def _with_i(text):
    """A text whose Turkish İ is I: its lower case is i, in one character."""
    return text.replace("İ", "I")


def _word(text, word):
    """A word in the spelling and encoding in which words are compared."""
    return _composed(text[word.start : word.end]).translate(_SPELLED)


def _composed(text):
    """A text whose letters and accents are composed to one character."""
    return unicodedata.normalize("NFC", text)


def _outside(words, marks):
    """Words, of which those that overlap a mark are barriers."""
    rest = iter(marks)
    mark = next(rest, None)
    found = []
    for word in words:
        while mark is not None and mark.end <= word.start:
            mark = next(rest, None)
        inside = mark is not None and mark.start < word.end
        found.append(word._replace(barrier=True) if inside else word)
    return found


def annotated(text: str, terms: Iterable[Found]) -> str:
    """Annotates the terms of a text with their translations.

    `⟨t⟩cell⟨=⟩Zelle⟨/t⟩`: a model trained with annotations uses the
    translation, and inflects it to fit the sentence.

    Args:
        text: the source.
        terms: its terms, in order. A term with target "" is its own
            translation.
    """
    parts, end = [], 0
    for term in terms:
        source = text[term.start : term.end]
        parts += [
            *(text[end : term.start], TERM_START, source),
            *(TERM_TARGET, term.target or source, TERM_END),
        ]
        end = term.end
    return "".join([*parts, text[end:]])


def annotated_where_missing(text: str, translation: str | None = None) -> str:
    """Removes annotations of terms that a translation has already.

    Args:
        text: with annotated terms.
        translation: of the text; None: all annotations are removed.
    """

    def term(match):
        has = translation is None or has_form(translation, match[3])
        return match[1] + match[2] if has else match[0]

    return _ANNOTATED.sub(term, text)


def missing_terms(text: str, translation: str) -> set[str]:
    """The required translations of a text's terms that a translation lacks."""
    wanted = {target for _, _, target in _ANNOTATED.findall(text)}
    return {term for term in wanted if not has_form(translation, term)}


def with_wanted_terms(masked: Masked, translation: str) -> str:
    """A translation in which annotated terms have their required translation.

    The model's own words between a term's symbols are kept if they contain the
    required translation in any form. Symbols with no words or with other
    symbols between them are left alone: the model found no place for the term.

    Args:
        masked: the source, with symbols around its terms.
        translation: of the source, with the same symbols.
    """
    if not masked.has_structure_of(translation):
        return translation
    for opening, _, wanted in _ANNOTATED.findall(masked.text):
        if masked.marks.get(opening) == "":
            closing = opening.replace("⟨", "⟨/")
            before, rest = translation.split(opening)
            inside, after = rest.split(closing)
            is_place = inside.strip() and not re.search(SYMBOL, inside)
            if is_place and not has_form(inside, wanted):
                inside = _instead(
                    inside, wanted, not re.sub(SYMBOL, "", before).strip()
                )
            translation = f"{before}{opening}{inside}{closing}{after}"
    return translation


def _instead(words, wanted, is_first):
    """Replaces words by a term, with the same spaces around it.

    Args:
        words: not blank.
        wanted: the term.
        is_first: whether the words begin the text, so that the term is
            capitalized if they are.
    """
    left, right = words.split(words.strip())
    if is_first and words.strip()[0].isupper():
        wanted = wanted[0].upper() + wanted[1:]
    return f"{left}{wanted}{right}"


def has_form(text: str, term: str, exact: bool = False) -> bool:
    """True if a text contains a form of a term, see `forms_of`."""
    return bool(forms_of(text, term, exact))


def forms_of(
    text: str, term: str, exact: bool = False
) -> list[tuple[int, int]]:
    """The places where a text has a term, inflected or not.

    Each word of a form begins with the term's word, without its last two
    letters if at least four are left, and is at most three letters longer than
    the term's word. Case matters for words with a capital after the first
    letter, such as UND.

    Args:
        text: a translation.
        term: as in a glossary, not blank.
        exact: whether only the term itself counts.

    Returns:
        start and end of each place, in characters.
    """
    places = words_of(text)
    wanted, words = (
        [_word(side, w) for w in found]
        for side, found in ((term, words_of(term)), (text, places))
    )
    same = functools.partial(_is_form, exact=exact)
    return [
        (places[index].start, places[index + len(wanted) - 1].end)
        for index in range(len(words) - len(wanted) + 1)
        if all(map(same, words[index:], wanted))
    ]


def _is_form(word, wanted, exact):
    if wanted[1:] == wanted[1:].lower():
        word, wanted = (_with_i(one).casefold() for one in (word, wanted))
    if exact:
        return word == wanted
    kept = len(wanted) - _LOST
    stem = wanted[:kept] if kept >= _FEWEST_LETTERS else wanted
    return word.startswith(stem) and len(word) <= len(wanted) + _MORE
