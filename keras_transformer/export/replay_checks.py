"""What an export answers when it runs as the server runs it.

Every check takes the loaded model, its folder and the reference: inputs, and
what the live model made of them. `ServedModel.predict` itself refuses
outputs that aren't UTF-8 text and finite numbers, a row a text.
"""

import numpy as np

from keras_transformer.export import layout
from keras_transformer.export.report import CheckFailed
from keras_transformer.export.warmup import read_warmup

_LONG = 10_000  # words
_INVALID = (b"\xff\xfe", b"a \xc3( b", b"\xed\xa0\x80", b"cut off: \xe4\xbd")


def equals_live_model(served, folder, reference) -> str:
    """The same texts exactly, and numbers to the tolerance."""
    for signature, inputs in _inputs(reference).items():
        expected = reference["outputs"][signature]
        _compare(
            f"{signature}, loaded and live",
            served.predict(signature, inputs),
            {name: _array(values) for name, values in expected.items()},
            reference,
        )
    count = len(reference["texts"])
    return f"{count} texts, {len(layout.SIGNATURES)} signatures"


def batch_does_not_matter(served, folder, reference) -> str:
    """Each text alone gives what it gives among all."""
    count = len(reference["texts"])
    ties = 0
    for signature, inputs in _inputs(reference).items():
        together = served.predict(signature, inputs)
        for row in range(count):
            own = slice(row, row + 1)
            alone = {name: values[own] for name, values in inputs.items()}
            ties += _compare(
                f"{signature}, batch of 1 and of {count}, text {row}",
                served.predict(signature, alone),
                {name: values[own] for name, values in together.items()},
                reference,
            )
    return f"{count} texts alone and together" + (
        f"; {ties} of equal score to {reference['tolerance']} differ"
        if ties
        else ""
    )


def empty_batch_is_answered(served, folder, reference) -> str:
    """No text gives no translation."""
    for signature, expected in layout.SIGNATURES.items():
        served.predict(signature, {name: [] for name in expected.inputs})
    return "no rows"


def empty_text_is_answered(served, folder, reference) -> str:
    """Nothing gives nothing."""
    texts = [b"", b"  "]
    for signature, expected in layout.SIGNATURES.items():
        outputs = served.predict(
            signature, dict.fromkeys(expected.inputs, texts)
        )
        for name in (layout.TRANSLATION, layout.TRANSLATIONS):
            if any(np.ravel(outputs.get(name, []))):
                raise CheckFailed(
                    f"{signature}: empty texts gave {outputs[name]}"
                )
    return "empty translations"


def invalid_utf8_is_answered(served, folder, reference) -> str:
    """Broken bytes give valid text and leave their neighbours alone."""
    count = len(_INVALID)
    for signature, inputs in _inputs(reference).items():
        mixed = {name: [*_INVALID, *values] for name, values in inputs.items()}
        outputs = served.predict(signature, mixed)
        _compare(
            f"{signature}, beside invalid UTF-8 and not",
            {name: values[count:] for name, values in outputs.items()},
            served.predict(signature, inputs),
            reference,
        )
    return f"{count} broken texts"


def long_text_is_answered(served, folder, reference) -> str:
    """More words than the model has positions."""
    words = [word for text in reference["texts"] for word in text.split()]
    words = (words or ["a"]) * _LONG
    text = " ".join(words[:_LONG]).encode()
    for signature, expected in layout.SIGNATURES.items():
        served.predict(signature, dict.fromkeys(expected.inputs, [text]))
    return f"{_LONG} words"


def warmup_replays(served, folder, reference) -> str:
    """Each warm-up request is answered; one that isn't stops the server."""
    count = 0
    seen = set()
    for signature, inputs in read_warmup(folder / layout.WARMUP):
        served.predict(signature, inputs)
        seen.add(signature)
        count += 1
    if missing := set(layout.SIGNATURES) - seen:
        raise CheckFailed(f"no request for {', '.join(sorted(missing))}")
    return f"{count} requests"


REPLAY_CHECKS = (
    equals_live_model,
    batch_does_not_matter,
    empty_batch_is_answered,
    empty_text_is_answered,
    invalid_utf8_is_answered,
    long_text_is_answered,
    warmup_replays,
)


def _inputs(reference):
    """The reference's inputs, encoded, by signature."""
    return {
        signature: {
            name: [text.encode() for text in texts]
            for name, texts in inputs.items()
        }
        for signature, inputs in reference["inputs"].items()
    }


def _array(values):
    """As `ServedModel.predict` gives them."""
    array = np.array(values)
    return array.astype(object) if array.dtype.kind == "U" else array


def _compare(what, found, expected, reference) -> int:
    """Refuses outputs that differ, naming the first that does.

    In bfloat16 two translations can be equally good to the tolerance; then
    either may come first.

    Returns:
        the number of texts that differ so.
    """
    tolerance = reference["tolerance"]
    for name, values in found.items():
        if values.dtype == object:
            continue
        close = np.isclose(values, expected[name], tolerance, tolerance)
        if not close.all():
            place = tuple(np.argwhere(~close)[0])
            raise CheckFailed(
                f"{what}: {name} {place} is {values[place]} "
                f"and {expected[name][place]}"
            )
    ties = 0
    for name, values in found.items():
        if values.dtype != object or (values == expected[name]).all():
            continue
        place = tuple(np.argwhere(values != expected[name])[0])
        if reference["precision"] == "float32":
            raise CheckFailed(
                f"{what}: {name} {place} is {values[place]!r} "
                f"and {expected[name][place]!r}"
            )
        ties += int((values != expected[name]).sum())
    return ties
