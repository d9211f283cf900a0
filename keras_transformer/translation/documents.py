"""Documents translated, by whatever translates batches of texts."""

from collections.abc import Callable

from keras_transformer.documents.document import Document
from keras_transformer.documents.markup import find_marks
from keras_transformer.errors import InputError
from keras_transformer.translation.request import (
    Truncations,
    blank_translation,
)
from keras_transformer.translation.stream import (
    TranslateBatches,
    stream_lines,
)


def require_no_markup(document: Document, name: str) -> None:
    """Refuses a document with markup in its texts.

    Raises:
        InputError: names the first text.
    """
    for text in document.texts:
        if marks := find_marks(text):
            mark = text[marks[0].start : marks[0].end]
            raise InputError(
                f"{name}: {mark!r} in a text. Accepted: a document without "
                "tags and placeholders, a run, by whose alignment they are "
                "placed, or a model with symbols"
            )


def translated(
    document: Document,
    translate_batches: TranslateBatches,
    batch_size: int,
    progress: Callable[[int], None] | None = None,
    truncations: Truncations | None = None,
) -> bytes:
    """The content of a document's translation.

    Args:
        document: to translate.
        translate_batches: gives `Translation`s, see `stream_lines`.
        batch_size: texts translated together.
        progress: called with the number of texts just finished.
        truncations: gets the numbers of texts that lost their end.
    """
    results = stream_lines(
        document.texts,
        translate_batches,
        batch_size,
        blank=blank_translation,
        progress=progress,
    )
    texts = []
    for number, result in enumerate(results, 1):
        texts.append(result.hypotheses[0].text)
        if truncations is not None and result.truncated:
            truncations.add(number)
    return document.translated(texts)
