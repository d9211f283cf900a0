"""Terms of a request: its field "glossary", which TensorFlow Serving lacks."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from keras_transformer.contract import layout
from keras_transformer.contract.status import invalid_argument
from keras_transformer.documents.glossary import Glossary, annotated
from keras_transformer.errors import InputError
from keras_transformer.serving.server.admission import Limits, deadline_exceeded
from keras_transformer.serving.server.json_text import shown

_FIELD = "glossary"
_MOST_TERMS = 1000


def annotated_inputs(
    document: Mapping[str, Any],
    signature: str,
    inputs: Mapping[str, np.ndarray],
    has_terms: bool,
    placeholders: tuple[str, ...],
    limits: Limits,
    deadline: float,
) -> Mapping[str, np.ndarray]:
    """The inputs of a request that has a glossary, its terms annotated.

    Args:
        document: the request: its glossary is a list of pairs of a term and
            the translation that is wanted, "" for a term that stays.
        signature: its signature.
        inputs: arrays by name, as the request has them.
        has_terms: whether the model has learned of terms.
        placeholders: regular expressions of markup, in which no term is.
        limits: of the texts, before and after.
        deadline: of the request, by `time.monotonic`, seconds.

    Raises:
        ServingError: DEADLINE_EXCEEDED: it has passed.
        ServingError: INVALID_ARGUMENT: the glossary isn't as accepted, the
            signature or the model takes none, or a text is too long.
    """
    terms = document[_FIELD]
    if not isinstance(terms, list) or len(terms) > _MOST_TERMS:
        raise invalid_argument(
            f"{_FIELD} must be a list of pairs of a term and its translation, "
            f"up to {_MOST_TERMS}. Received: {shown(terms)}"
        )
    if signature not in layout.TRANSLATING or not has_terms:
        raise invalid_argument(
            f"{_FIELD} needs a model that has learned of terms and signature "
            f"{', '.join(layout.TRANSLATING)}. Received: {signature}"
        )
    try:
        glossary = Glossary(terms)
    except InputError as error:
        raise invalid_argument(f"{_FIELD}: {error}") from None
    limits.check(inputs)
    texts = inputs[layout.TEXT]
    found = np.empty(texts.shape, object)
    for index, text in np.ndenumerate(texts):
        if time.monotonic() > deadline:
            raise deadline_exceeded()
        line = text.decode("utf-8", "surrogateescape")
        line = annotated(line, glossary.find(line, placeholders))
        found[index] = line.encode("utf-8", "surrogateescape")
        # Each by itself: all of them might take hundreds of times the memory.
        limits.check({layout.TEXT: np.asarray(found[index], object)})
    return {**inputs, layout.TEXT: found}
