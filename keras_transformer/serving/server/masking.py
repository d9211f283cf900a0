"""Masking of markup in requests, for models that have symbols for it.

Texts that have symbols already stay unchanged. The package's client sends such
texts, as TensorFlow Serving doesn't mask markup.
"""

import re
from collections.abc import Callable

import numpy as np

from keras_transformer.contract import layout
from keras_transformer.data.masking import mask_pairs
from keras_transformer.documents.markup import find_marks, mask_text
from keras_transformer.exporting.session import outputs_of, results_of
from keras_transformer.symbols import ANNOTATION, MARKUP_SYMBOLS, SYMBOL
from keras_transformer.translation.markup import (
    MaskedLines,
    with_terms,
    without_terms,
)

_LEAST_ROWS = 64


def masked_pairs(inputs: dict, placeholders: tuple[str, ...]) -> dict:
    """Replaces markup with symbols in inputs of the signature `score`.

    Args:
        inputs: `text` and `translation`, arrays of bytes.
        placeholders: regular expressions of markup.
    """
    names = (layout.TEXT, layout.TRANSLATION)
    sides = [
        [text.decode("utf-8", "replace") for text in inputs[name].ravel()]
        for name in names
    ]
    if len(sides[0]) != len(sides[1]):
        return inputs  # The graph refuses them.
    pairs = mask_pairs(zip(*sides, strict=True), placeholders)
    columns = zip(*pairs, strict=True) if pairs else ((), ())
    return {
        name: _encoded(column)
        for name, column in zip(names, columns, strict=True)
    }


def masked_texts(inputs: dict, placeholders: tuple[str, ...]) -> dict:
    """Replaces markup in inputs of the signature `align`, as `run_masked`.

    A text with so many marks that it is translated in parts stays unchanged.

    Args:
        inputs: `text`, array of bytes `(B,)`.
        placeholders: regular expressions of markup.
    """
    texts = []
    for text in inputs[layout.TEXT]:
        line = text.decode("utf-8", "replace")
        parts = mask_text(line, placeholders)
        is_whole = len(parts) == 1 and not _is_masked(line, placeholders)
        texts.append(parts[0].unwrapped()[1] if is_whole else line)
    return {layout.TEXT: _encoded(texts)}


def run_masked(
    run: Callable[[dict, tuple], dict],
    inputs: dict,
    outputs: tuple,
    placeholders: tuple[str, ...],
) -> dict:
    """Runs a translating signature with symbols in place of markup.

    Args:
        run: function that runs the signature, from inputs and names of outputs
            to arrays by name.
        inputs: `text`, array of bytes `(B,)`.
        outputs: names of the requested outputs; empty: all of them.
        placeholders: regular expressions of markup.

    Returns:
        arrays by name, as from `run`.
    """
    lines = [text.decode("utf-8", "replace") for text in inputs[layout.TEXT]]
    own = [_is_masked(line, placeholders) for line in lines]
    rest = [line for line, is_own in zip(lines, own, strict=True) if not is_own]
    if not MaskedLines(rest, placeholders).has_marks:
        return run(inputs, outputs)
    kept = [line for line, is_own in zip(lines, own, strict=True) if is_own]
    # Texts with many marks have many parts, so these run in batches of the
    # request's size.
    size = max(_LEAST_ROWS, len(lines))
    ran: list[dict] = []

    def translate(texts):
        results = []
        for i in range(0, len(texts), size):
            some = texts[i : i + size]
            ran.append(run({layout.TEXT: _encoded(some)}, ()))
            results += results_of(some, ran[-1])
        return results

    def forced(lines):
        masked = MaskedLines(lines, placeholders)
        return masked.unmasked(translate(masked.parts))

    masked = MaskedLines(without_terms(rest), placeholders)
    count = len(masked.parts)
    results = translate([*masked.parts, *kept])
    found = masked.unmasked(results[:count])
    unmasked = iter(with_terms(rest, found, forced))
    following = iter(results[count:])
    answers = [next(following if is_own else unmasked) for is_own in own]
    # If all texts are markup alone, a row is run for the outputs' names and
    # shapes.
    like = ran[0] if ran else run({layout.TEXT: _encoded([""])}, ())
    nbest = like.get(layout.TRANSLATIONS)
    arrays = outputs_of(answers, None if nbest is None else nbest.shape[1])
    return {name: arrays[name] for name in outputs or like}


def _is_masked(line, placeholders):
    """True if a text's only markup are symbols of marks, each of them once."""
    symbols = re.findall(SYMBOL, re.sub(ANNOTATION, "", line))
    marks = find_marks(line, placeholders)
    once = set(symbols).intersection(MARKUP_SYMBOLS)
    return 0 < len(once) == len(symbols) == len(marks)


def _encoded(texts):
    return np.array([text.encode() for text in texts], object)
