"""Terms: the translations that a glossary says, whatever translates.

Text goes in and comes out: a model that has learned of terms finds their
translations in its source, in a run, an export or on a server.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable, Iterator

from keras_transformer.config.data import DataConfig
from keras_transformer.documents.glossary import Glossary, Terms, annotated
from keras_transformer.errors import InputError
from keras_transformer.translation.request import Translation
from keras_transformer.translation.stream import TranslateBatches


def has_learned_terms(data: DataConfig | None) -> bool:
    """Whether a model of such data has learned of terms."""
    return data is not None and data.term_share > 0


def require_terms(has_terms: bool) -> None:
    """Refuses a glossary for a model that has learned of no terms.

    Raises:
        InputError: says what would be accepted.
    """
    if not has_terms:
        raise InputError(
            "the model has learned of no terms. Accepted with a glossary: one "
            "of data that was prepared with --markup symbols --term-share 0.2"
        )


def all_patterns(
    data: DataConfig | None, placeholders: Iterable[str] = ()
) -> tuple[str, ...]:
    """Regular expressions of a user's markup and of that of a model's data."""
    own = () if data is None else data.markup_patterns
    # A name of a group may be there once.
    return tuple(dict.fromkeys((*placeholders, *own)))


def with_glossary(
    translate_batches: TranslateBatches,
    terms: Terms | None,
    placeholders: tuple[str, ...] = (),
) -> TranslateBatches:
    """What translates batches of texts by a glossary; None: as it does.

    Args:
        translate_batches: see `stream_lines`.
        terms: see `Glossary.of`.
        placeholders: regular expressions of markup, in which no term is.

    Raises:
        InputError: they aren't a glossary.
    """
    if terms is None:
        return translate_batches
    glossary = Glossary.of(terms)

    def translate(batches: Iterator[list[str]]) -> Iterator[list[Translation]]:
        sent: collections.deque[list[str]] = collections.deque()

        def sources():
            for lines in batches:
                sent.append(lines)
                yield [
                    annotated(line, glossary.find(line, placeholders))
                    for line in lines
                ]

        for results in translate_batches(sources()):
            yield [
                result._replace(source=line)
                for line, result in zip(sent.popleft(), results, strict=True)
            ]

    return translate
