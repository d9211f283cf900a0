"""Documents of a test set, which blank lines separate."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from keras_transformer.blank import is_blank
from keras_transformer.config.data import DataConfig
from keras_transformer.data.corpus import Pair
from keras_transformer.evaluation.scoring import Scoring, Texts, is_measured
from keras_transformer.evaluation.significance import Comparison
from keras_transformer.languages import is_chinese, is_japanese

BY_SENTENCE, AS_ONE_TEXT = "sentence by sentence", "as one text"


def document_numbers(pairs: Sequence[Pair]) -> list[int]:
    """The number of each measured pair's document, ascending.

    Args:
        pairs: of sentences; pairs with two blank sides separate documents.
    """
    numbers, number = [], 0
    for pair in pairs:
        if is_measured(pair):
            numbers.append(number)
        elif all(map(is_blank, pair)):
            number += 1
    return numbers


def compare_documents(
    texts: Texts,
    numbers: Sequence[int],
    data: DataConfig,
    translate: Callable[[list[str]], list[str]],
    scoring: Scoring,
) -> Comparison:
    """Scores of documents translated as one text, and sentence by sentence.

    Args:
        texts: sentences, their references and translations.
        numbers: one for each sentence, see `document_numbers`.
        data: names the languages.
        translate: function from documents to their translations.
        scoring: the settings; each document is a segment.

    Returns:
        the systems `BY_SENTENCE` and `AS_ONE_TEXT`.
    """
    sources, references, by_sentence = (
        _joined(column, numbers, language)
        for column, language in (
            (texts.sources, data.source_language),
            (texts.references, data.target_language),
            (texts.translations, data.target_language),
        )
    )
    systems = {BY_SENTENCE: by_sentence, AS_ONE_TEXT: translate(sources)}
    return scoring.compare(systems, references, data.target_language)


def _joined(texts, numbers, language):
    """The texts of each document, in one line."""
    space = "" if is_chinese(language) or is_japanese(language) else " "
    rows = itertools.groupby(
        zip(numbers, texts, strict=True), key=lambda row: row[0]
    )
    return [space.join(text for _, text in row) for _, row in rows]
