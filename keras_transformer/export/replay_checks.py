"""What an export answers when it runs as the server runs it.

Every check takes the loaded model, its folder and the reference: texts, and
what the live model made of them. `ServedModel.predict` itself refuses
outputs that aren't one UTF-8 translation and one finite score a text.
"""

import numpy as np

from keras_transformer.export import layout
from keras_transformer.export.report import CheckFailed
from keras_transformer.export.warmup import read_warmup

TOLERANCE = 1e-4  # of scores, absolute and relative
_LONG = 10_000  # words
_INVALID = (b"\xff\xfe", b"a \xc3( b", b"\xed\xa0\x80", b"cut off: \xe4\xbd")


def equals_live_model(served, folder, reference) -> str:
    """The same texts exactly, and scores to `TOLERANCE`."""
    texts = _encoded(reference)
    for signature in layout.SIGNATURES:
        expected = reference["outputs"][signature]
        _compare(
            f"{signature}, loaded and live",
            served.predict(signature, texts),
            (expected[layout.TRANSLATION], expected[layout.SCORE]),
        )
    return f"{len(texts)} texts, {len(layout.SIGNATURES)} signatures"


def batch_does_not_matter(served, folder, reference) -> str:
    """Each text alone gives what it gives among all."""
    texts = _encoded(reference)
    for signature in layout.SIGNATURES:
        alone = [served.predict(signature, [text]) for text in texts]
        _compare(
            f"{signature}, batch of 1 and of {len(texts)}",
            (
                [translations[0] for translations, _ in alone],
                [scores[0] for _, scores in alone],
            ),
            served.predict(signature, texts),
        )
    return f"{len(texts)} texts alone and together"


def empty_batch_is_answered(served, folder, reference) -> str:
    """No text gives no translation."""
    for signature in layout.SIGNATURES:
        served.predict(signature, [])
    return "shape (0,)"


def empty_text_is_answered(served, folder, reference) -> str:
    """Nothing gives nothing."""
    for signature in layout.SIGNATURES:
        translations, _ = served.predict(signature, [b"", b"  "])
        if any(translations):
            raise CheckFailed(f"{signature}: empty texts gave {translations}")
    return "empty translations"


def invalid_utf8_is_answered(served, folder, reference) -> str:
    """Broken bytes give valid text and leave their neighbours alone."""
    texts = _encoded(reference)
    for signature in layout.SIGNATURES:
        translations, scores = served.predict(signature, [*_INVALID, *texts])
        count = len(_INVALID)
        _compare(
            f"{signature}, beside invalid UTF-8 and not",
            (translations[count:], scores[count:]),
            served.predict(signature, texts),
        )
    return f"{len(_INVALID)} broken texts"


def long_text_is_answered(served, folder, reference) -> str:
    """More words than the model has positions."""
    words = [word for text in reference["texts"] for word in text.split()]
    words = (words or ["a"]) * _LONG
    text = " ".join(words[:_LONG]).encode()
    for signature in layout.SIGNATURES:
        served.predict(signature, [text])
    return f"{_LONG} words"


def warmup_replays(served, folder, reference) -> str:
    """Each warm-up request is answered; one that isn't stops the server."""
    count = 0
    seen = set()
    for signature, inputs in read_warmup(folder / layout.WARMUP):
        served.predict(signature, inputs[layout.INPUT])
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


def _encoded(reference):
    return [text.encode() for text in reference["texts"]]


def _compare(what, found, expected):
    """Refuses outputs that differ, naming the first that does."""
    rows = zip(*found, *expected, strict=True)
    for row, (text, score, other_text, other_score) in enumerate(rows):
        if text != other_text:
            raise CheckFailed(
                f"{what}: text {row} gives {text!r} and {other_text!r}"
            )
        if not np.isclose(score, other_score, TOLERANCE, TOLERANCE):
            raise CheckFailed(
                f"{what}: text {row} scores {score} and {other_score}"
            )
