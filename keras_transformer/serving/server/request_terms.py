"""Terms of a request: its field "glossary", unknown to TensorFlow Serving."""

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
    """Annotates the terms of a request's glossary in its inputs.

    Args:
        document: the request. Its glossary is a list of pairs of a term and
            the requested translation, "" for a term to keep.
        signature: name of the signature.
        inputs: arrays by name.
        has_terms: True if the model was trained with annotated terms.
        placeholders: regular expressions of markup, in which terms aren't
            searched for.
        limits: limits of the texts, before and after annotation.
        deadline: time in seconds, as of `time.monotonic`.

    Returns:
        the inputs with annotated texts.

    Raises:
        ServingError: DEADLINE_EXCEEDED: the deadline has passed.
        ServingError: INVALID_ARGUMENT: the glossary is invalid, the signature
            or the model doesn't support it, or a text is too long.
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
        # Checked one by one, as all annotated texts together may be hundreds of
        # times larger.
        limits.check({layout.TEXT: np.asarray(found[index], object)})
    return {**inputs, layout.TEXT: found}
