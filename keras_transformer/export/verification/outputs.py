"""What a signature's outputs have to be, and when two are the same."""

import numpy as np

from keras_transformer.contract import layout
from keras_transformer.export.verification.report import CheckFailed


def readable(where: str, values, count: int):
    """An output as it is compared; refuses what a client can't read.

    Args:
        where: names the output.
        values: an array; strings are bytes in an array of objects.
        count: rows that it has to have.

    Returns:
        the array, its strings decoded.

    Raises:
        CheckFailed: text isn't UTF-8, a number isn't finite, or there isn't
            a row for each of the inputs'.
    """
    if len(values) != count:
        raise CheckFailed(
            f"{where}: {count} texts gave an output of shape {values.shape}"
        )
    if values.dtype != object:
        if not np.isfinite(values).all():
            raise CheckFailed(f"{where}: not finite: {values}")
        return values
    try:
        flat = [text.decode() for text in values.reshape(-1)]
    except UnicodeDecodeError as error:
        raise CheckFailed(f"{where}: not UTF-8: {error}") from None
    return _objects(flat, values.shape)


def rows_of(outputs: dict, rows) -> dict:
    """Some rows of every output.

    Args:
        rows: a slice, or a list of their numbers.
    """
    return {name: values[rows] for name, values in outputs.items()}


def expected_outputs(signature: str, reference: dict) -> dict:
    """A signature's outputs in the reference, as arrays."""
    types = layout.SIGNATURES[signature].outputs
    found = {}
    for name, values in reference["outputs"][signature].items():
        if name not in types:
            raise CheckFailed(f"{layout.REFERENCE}: {signature} has no {name}")
        dtype, _ = types[name]
        array = np.array(values, dtype=object if dtype == "string" else dtype)
        found[name] = array
    return found


def compare(signature, what, found, expected, reference) -> int:
    """Refuses outputs that differ, naming the first that does.

    Texts, whole numbers and truths have to be the same, other numbers to the
    reference's tolerance. In bfloat16 two translations can be equally good
    to the tolerance; then either may come first.

    Args:
        signature: its name.
        what: is compared, for the message.
        found: arrays by the outputs' names.
        expected: likewise.
        reference: gives precision and tolerance.

    Returns:
        the number of texts that differ so.

    Raises:
        CheckFailed: they differ.
    """
    what = f"{signature}, {what}"
    if found.keys() != expected.keys():
        raise CheckFailed(f"{what}: {sorted(found)} and {sorted(expected)}")
    if layout.SIGNATURES[signature].varying:
        found, expected = _padded(found, expected)
    ties = _tied_texts(what, found, expected, reference)
    for name, values in found.items():
        if values.dtype == object:
            continue
        others = expected[name]
        if values.shape != others.shape:
            raise CheckFailed(
                f"{what}: {name} has shape {values.shape} and {others.shape}"
            )
        same = _are_same(values, others, reference["tolerance"])
        if name == layout.ALIGNMENT:
            # Of other tokens it is another.
            same[sorted(ties)] = True
        if not same.all():
            place = _first(~same)
            raise CheckFailed(
                f"{what}: {name} {place} is {values[place]} and {others[place]}"
            )
    return len(ties)


def _tied_texts(what, found, expected, reference) -> set[int]:
    """The rows in which a text differs; refuses any in float32."""
    ties = set()
    for name, values in found.items():
        if values.dtype != object:
            continue
        others = expected[name]
        if values.shape != others.shape:
            raise CheckFailed(
                f"{what}: {name} has shape {values.shape} and {others.shape}"
            )
        differ = values != others
        if differ.any() and (
            reference["precision"] == "float32" or name == layout.SOURCE_TOKENS
        ):
            place = _first(differ)
            raise CheckFailed(
                f"{what}: {name} {place} is {values[place]!r} "
                f"and {others[place]!r}"
            )
        ties |= {int(row) for row in np.argwhere(differ)[:, 0]}
    return ties


def _are_same(values, others, tolerance):
    if values.dtype.kind == "f":
        return np.isclose(values, others, tolerance, tolerance)
    return values == others


def _first(wrong):
    return tuple(int(index) for index in np.argwhere(wrong)[0])


def _padded(found, expected):
    """Both with the longer one's inner axes; nothing is added to batches."""
    pairs = {
        name: _same_lengths(values, expected[name])
        for name, values in found.items()
    }
    return (
        {name: pair[0] for name, pair in pairs.items()},
        {name: pair[1] for name, pair in pairs.items()},
    )


def _same_lengths(*arrays):
    if len({array.ndim for array in arrays}) > 1:
        return arrays
    longest = np.max([array.shape[1:] for array in arrays], axis=0)
    padded = []
    for array in arrays:
        more = [(0, 0)]
        more += [
            (0, int(most) - length)
            for most, length in zip(longest, array.shape[1:], strict=True)
        ]
        padding = "" if array.dtype == object else 0
        padded.append(np.pad(array, more, constant_values=padding))
    return padded


def _objects(flat, shape):
    array = np.empty(len(flat), dtype=object)
    array[:] = flat
    return array.reshape(shape)
