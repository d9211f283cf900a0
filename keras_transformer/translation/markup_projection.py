"""Markup projection: translations with the markup of their sources.

For models that have learned of no markup: it is taken out before, and put back
where the alignment says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from keras_transformer.blank import is_blank
from keras_transformer.documents.markup import (
    Stripped,
    find_marks,
    place_marks,
    strip_marks,
    token_spans,
)
from keras_transformer.translation.request import (
    Hypothesis,
    Translation,
    blank_translation,
)

if TYPE_CHECKING:
    from keras_transformer.text.sentences import SentenceSplitter
    from keras_transformer.translation.translator import Translator

Translate = Callable[[list[str]], list[Translation]]


def markup_translator(
    translator: Translator,
    splitter: SentenceSplitter | None,
    num_hypotheses: int = 1,
) -> Translate:
    """A function from texts with markup to their translations.

    Args:
        translator: whose model aligns.
        splitter: splits texts into sentences; None: each is one.
        num_hypotheses: of each text.
    """
    from keras_transformer.translation.details import detailed_translator

    translate, align = (
        detailed_translator(
            translator, num_hypotheses, alignment=aligns, splitter=splitter
        )
        for aligns in (False, True)
    )
    return projecting_markup(translate, align)


def projecting_markup(translate: Translate, align: Translate) -> Translate:
    """A function from texts with markup to translations with the same.

    Args:
        translate: of texts without.
        align: of others; its results have source tokens and alignments.
    """

    def translate_all(texts):
        found = [strip_marks(t, find_marks(t)) for t in texts]
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
        # Nothing but markup is its own translation.
        nothing = blank_translation(text)
        only = nothing.hypotheses[0]._replace(text=text)
        return nothing._replace(hypotheses=[only])
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
        # A token attends to START and END, too, which no mark is at.
        max(words, key=weights.__getitem__, default=0)
        for weights in hypothesis.alignment or []
    ]
    return hypothesis._replace(
        text=place_marks(stripped, hypothesis.text, source, target, alignment)
    )
