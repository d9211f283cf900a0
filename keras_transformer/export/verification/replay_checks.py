"""What an export answers when it runs as the server runs it.

Every check takes the loaded model, its folder and the reference: inputs, and
what the live model made of them. The model's `predict` itself refuses
outputs that aren't UTF-8 text and finite numbers, a row a text. Nothing here
knows TensorFlow: the proof through the C API runs in a process without it.
"""

import numpy as np

from keras_transformer.contract import layout
from keras_transformer.export.verification.outputs import (
    compare,
    expected_outputs,
    rows_of,
)
from keras_transformer.export.verification.report import CheckFailed
from keras_transformer.export.writer.warmup import read_warmup

_LONG = 10_000  # words
_INVALID = (b"\xff\xfe", b"a \xc3( b", b"\xed\xa0\x80", b"cut off: \xe4\xbd")


def equals_live_model(served, folder, reference) -> str:
    """The same texts exactly, and numbers to the tolerance."""
    for signature, inputs in _inputs(reference).items():
        compare(
            signature,
            "loaded and live",
            served.predict(signature, inputs),
            expected_outputs(signature, reference),
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
            ties += compare(
                signature,
                f"batch of 1 and of {count}, text {row}",
                served.predict(signature, rows_of(inputs, own)),
                rows_of(together, own),
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
        compare(
            signature,
            "beside invalid UTF-8 and not",
            rows_of(served.predict(signature, mixed), slice(count, None)),
            served.predict(signature, inputs),
            reference,
        )
    return f"{count} broken texts"


def long_text_is_answered(served, folder, reference) -> str:
    """More words than the model has positions, and the answer says so."""
    words = [word for text in reference["texts"] for word in text.split()]
    words = (words or ["a"]) * _LONG
    text = " ".join(words[:_LONG]).encode()
    for signature, expected in layout.SIGNATURES.items():
        outputs = served.predict(
            signature, dict.fromkeys(expected.inputs, [text])
        )
        for name in layout.LATER_OUTPUTS & expected.outputs.keys():
            if not outputs[name].all():
                raise CheckFailed(
                    f"{signature}: {_LONG} words, and not {name!r}"
                )
    return f"{_LONG} words"


def warmup_replays(served, folder, reference) -> str:
    """Each warm-up request is answered as the live model answers its rows.

    One that isn't answered stops the server.
    """
    count = 0
    inputs = _inputs(reference)
    seen = set()
    for signature, request in read_warmup(folder / layout.WARMUP):
        if signature not in inputs:
            raise CheckFailed(f"a request for {signature!r}, not a signature")
        found = served.predict(signature, request)
        rows = _rows(request, inputs[signature])
        compare(
            signature,
            f"warm-up request {count + 1} and live",
            found,
            rows_of(expected_outputs(signature, reference), rows),
            reference,
        )
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


def _rows(request, inputs):
    """Where a request's rows stand in the reference."""
    names = sorted(inputs)
    places = {
        row: place
        for place, row in enumerate(
            zip(*(inputs[name] for name in names), strict=True)
        )
    }
    if sorted(request) != names:
        raise CheckFailed(f"a request with inputs {sorted(request)}")
    rows = list(zip(*(request[name] for name in names), strict=True))
    for row in rows:
        if row not in places:
            raise CheckFailed(f"the reference has no answer to {row[0]!r}")
    return [places[row] for row in rows]
