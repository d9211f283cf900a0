"""Checks that run an export and compare its outputs.

A reference has inputs and the outputs of the live model, which was exported. A
loaded model is any object with `run(signature, inputs)`, which maps lists of
bytes by input name to arrays by output name; strings are bytes in an array of
objects. This module doesn't import TensorFlow: `c_api_checks` runs these checks
through its C API alone.
"""

import itertools
import pathlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

import numpy as np

from keras_transformer.contract import layout
from keras_transformer.exporting.verification.checks import (
    CheckFailed,
    CheckResults,
)
from keras_transformer.exporting.warmup_requests import read_warmup
from keras_transformer.system.files import read_json

# Numbers of words of texts that may exceed a model's length. Shorter ones are
# tried first, as a model that splits texts has to translate all of it.
_LONG = (200, 500, 2_000, 10_000)
# The output that reports an input as truncated.
_FLAGS = {
    layout.TEXT: layout.TRUNCATED,
    layout.TRANSLATION: layout.TRANSLATION_TRUNCATED,
}
_INVALID = (b"\xff\xfe", b"a \xc3( b", b"\xed\xa0\x80", b"cut off: \xe4\xbd")


class LoadedModel(Protocol):
    """Interface of a model that the checks run."""

    def run(
        self, signature: str, inputs: Mapping[str, Sequence[bytes]]
    ) -> dict[str, np.ndarray]:
        """Returns the outputs of a signature by their names."""


def replay(
    results: CheckResults,
    load: Callable[[pathlib.Path], LoadedModel],
    folder: pathlib.Path,
) -> None:
    """Loads a version folder and runs all checks of this module.

    Args:
        results: the results to append to; only that of `load` if it fails.
        load: function that loads the model of a folder.
        folder: the version folder.
    """

    def model_loads():
        return load(folder)

    model = results.run(model_loads)
    if model is None:
        return
    reference = read_json(folder / layout.REFERENCE, layout.LARGEST_REFERENCE)
    results.run(equals_live_model, model, reference)
    results.run(empty_batch_is_answered, model)
    results.run(empty_text_is_answered, model)
    results.run(invalid_utf8_is_answered, model, reference)
    results.run(long_text_is_answered, model, reference)
    results.run(warmup_replays, model, reference, folder)


def equals_live_model(
    model: LoadedModel,
    reference: dict,
    signatures: Iterable[str] = tuple(layout.SIGNATURES),
) -> str:
    """Compares outputs with the live model's; see `compare`."""
    inputs = _inputs(reference)
    for signature in signatures:
        compare(
            signature,
            "loaded and live",
            _answers(model, signature, inputs[signature]),
            _expected(signature, reference),
            reference,
        )
    count = len(reference["texts"])
    return f"{count} texts: {', '.join(signatures)}"


def empty_batch_is_answered(model: LoadedModel) -> str:
    """Checks that a batch of no texts has outputs without rows."""
    for signature, expected in layout.SIGNATURES.items():
        _answers(model, signature, {name: [] for name in expected.inputs})
    return "no rows"


def empty_text_is_answered(model: LoadedModel) -> str:
    """Checks that empty and blank texts have empty translations."""
    texts = [b"", b"  "]
    for signature, expected in layout.SIGNATURES.items():
        outputs = _answers(
            model, signature, dict.fromkeys(expected.inputs, texts)
        )
        for name in (layout.TRANSLATION, layout.TRANSLATIONS):
            if any(np.ravel(outputs.get(name, []))):
                raise CheckFailed(
                    f"{signature}: empty texts gave {outputs[name]}"
                )
    return "empty translations"


def invalid_utf8_is_answered(model: LoadedModel, reference: dict) -> str:
    """Checks that invalid UTF-8 gives valid text and affects no other row."""
    count = len(_INVALID)
    for signature, inputs in _inputs(reference).items():
        mixed = {name: [*_INVALID, *values] for name, values in inputs.items()}
        compare(
            signature,
            "beside invalid UTF-8 and not",
            _rows(_answers(model, signature, mixed), slice(count, None)),
            _answers(model, signature, inputs),
            reference,
        )
    return f"{count} broken texts"


def long_text_is_answered(model: LoadedModel, reference: dict) -> str:
    """Checks that too long texts are split or reported as truncated."""
    words = [word for text in reference["texts"] for word in text.split()]
    words = words or ["a"]
    for signature, expected in layout.SIGNATURES.items():
        for side in expected.inputs:
            # The other side is short: `score` splits both sides only if they
            # have equally many sentences.
            inputs = {name: [words[0].encode()] for name in expected.inputs}
            for count in _LONG:
                repeated = itertools.islice(itertools.cycle(words), count)
                inputs[side] = [" ".join(repeated).encode()]
                outputs = _answers(model, signature, inputs)
                if np.all(outputs.get(_FLAGS[side], True)) or np.any(
                    outputs.get(layout.SENTENCES, 0) > 1
                ):
                    break
            else:
                raise CheckFailed(
                    f"{signature}: {side} of {count} words, and not "
                    f"{_FLAGS[side]!r}"
                )
    return f"up to {count} words"


def warmup_replays(
    model: LoadedModel, reference: dict, folder: pathlib.Path
) -> str:
    """Compares answers to the warm-up requests with the live model's rows.

    The requests have one text or several, so this also checks that the batch
    doesn't matter. A request that fails would keep the server from starting.
    """
    count = 0
    inputs = _inputs(reference)
    missing = set(layout.SIGNATURES)
    for signature, request in read_warmup(folder / layout.WARMUP):
        if signature not in inputs:
            raise CheckFailed(f"a request for {signature!r}, not a signature")
        answers = _answers(model, signature, request)
        rows = _reference_rows(request, inputs[signature])
        compare(
            signature,
            f"warm-up request {count + 1} and live",
            answers,
            _rows(_expected(signature, reference), rows),
            reference,
        )
        missing.discard(signature)
        count += 1
    if missing:
        raise CheckFailed(f"no request for {', '.join(sorted(missing))}")
    return f"{count} requests"


def _answers(model, signature, inputs) -> dict:
    """Runs a signature and checks its outputs by `readable`."""
    count = len(inputs[layout.TEXT])
    return {
        name: readable(f"{signature}, {name}", values, count)
        for name, values in model.run(signature, inputs).items()
    }


def readable(where: str, values: np.ndarray, count: int) -> np.ndarray:
    """Decodes an output; refuses values that a client couldn't read.

    Args:
        where: the output's name, for error messages.
        values: an array; strings are bytes in an array of objects.
        count: the expected number of rows.

    Returns:
        the array with its strings decoded.

    Raises:
        CheckFailed: text isn't UTF-8, a number isn't finite, or the number of
            rows isn't `count`.
    """
    if len(values) != count:
        raise CheckFailed(
            f"{where}: {count} texts gave an output of shape {values.shape}"
        )
    if values.dtype != object:
        if not np.isfinite(values).all():
            raise CheckFailed(f"{where}: not finite: {values}")
        return values
    texts = np.empty(values.shape, dtype=object)
    try:
        texts.flat[:] = [text.decode() for text in values.flat]
    except UnicodeDecodeError as error:
        raise CheckFailed(f"{where}: not UTF-8: {error}") from None
    return texts


def _inputs(reference) -> dict:
    """Returns the reference's inputs by signature, encoded."""
    return {
        signature: {
            name: [text.encode() for text in texts]
            for name, texts in inputs.items()
        }
        for signature, inputs in reference["inputs"].items()
    }


def _expected(signature, reference) -> dict:
    """Returns the reference's outputs of a signature as arrays."""
    types = layout.SIGNATURES[signature].outputs
    arrays = {}
    for name, values in reference["outputs"][signature].items():
        if name not in types:
            raise CheckFailed(f"{layout.REFERENCE}: {signature} has no {name}")
        dtype, _ = types[name]
        is_text = dtype == "string"
        arrays[name] = np.array(values, object if is_text else dtype)
    return arrays


def _rows(values: dict, rows) -> dict:
    """Selects rows of every output by a slice or a list of indices."""
    return {name: column[rows] for name, column in values.items()}


def _reference_rows(request, inputs) -> list[int]:
    """Returns the indices of a request's rows in the reference's inputs."""
    keys = sorted(inputs)
    if sorted(request) != keys:
        raise CheckFailed(f"a request with inputs {sorted(request)}")
    columns = zip(*(inputs[key] for key in keys), strict=True)
    indices = {row: index for index, row in enumerate(columns)}
    rows = list(zip(*(request[key] for key in keys), strict=True))
    for row in rows:
        if row not in indices:
            raise CheckFailed(f"the reference has no answer to {row[0]!r}")
    return [indices[row] for row in rows]


def compare(
    signature: str,
    what: str,
    answers: Mapping[str, np.ndarray],
    expected: Mapping[str, np.ndarray],
    reference: dict,
) -> None:
    """Raises `CheckFailed` for the first output that differs.

    Texts, integers and booleans must be equal, other numbers must be within
    the reference's tolerance. In bfloat16 and int8 the scores of two
    translations can be equal within the tolerance; then either may come first.

    Args:
        signature: the signature's name.
        what: what is compared, for error messages.
        answers: arrays by output name.
        expected: arrays by output name.
        reference: the reference, for its precision and tolerance.

    Raises:
        CheckFailed: they differ.
    """
    what = f"{signature}, {what}"
    if answers.keys() != expected.keys():
        raise CheckFailed(f"{what}: {sorted(answers)} and {sorted(expected)}")
    pairs = {name: (answers[name], expected[name]) for name in answers}
    if layout.SIGNATURES[signature].varying:
        pairs = {name: _padded(*pair) for name, pair in pairs.items()}
    texts = [name for name in pairs if pairs[name][0].dtype == object]
    ties = set()
    for name in texts:
        values, others = pairs[name]
        same = _same(what, name, values, others, 0.0)
        if reference["precision"] == "float32" or name == layout.SOURCE_TOKENS:
            _require_all(what, name, values, others, same)
        ties |= {int(row) for row in np.argwhere(~same)[:, 0]}
    for name in [name for name in pairs if name not in texts]:
        values, others = pairs[name]
        same = _same(what, name, values, others, reference["tolerance"])
        if name == layout.ALIGNMENT:
            # The alignment of other target tokens differs, too.
            same[sorted(ties)] = True
        _require_all(what, name, values, others, same)


def _same(what, name, values, others, tolerance):
    """Compares element by element; returns a boolean array."""
    if values.shape != others.shape:
        raise CheckFailed(
            f"{what}: {name} has shape {values.shape} and {others.shape}"
        )
    if values.dtype.kind == "f":
        return np.isclose(values, others, tolerance, tolerance)
    return values == others


def _require_all(what, name, values, others, same):
    if not same.all():
        index = tuple(int(i) for i in np.argwhere(~same)[0])
        value, other = values[index], others[index]
        raise CheckFailed(
            f"{what}: {name} {index} is {_shown(value)} and {_shown(other)}"
        )


def _shown(value):
    return repr(value) if isinstance(value, str) else value


def _padded(*arrays):
    """Pads all axes except the first to the longest length."""
    if len({array.ndim for array in arrays}) > 1:
        return arrays
    longest = np.max([array.shape for array in arrays], axis=0)
    padded = []
    for array in arrays:
        more = [(0, length) for length in longest - array.shape]
        more[0] = 0, 0
        padding = "" if array.dtype == object else 0
        padded.append(np.pad(array, more, constant_values=padding))
    return padded
