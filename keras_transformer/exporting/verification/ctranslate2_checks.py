"""Checks of a CTranslate2 export in a fresh process.

    python -m keras_transformer.exporting.verification.ctranslate2_checks \\
        FOLDER REPORT

Loads the folder as `translate --ctranslate2` does, and compares CTranslate2's
translations of some texts with those of the run's own search, which the
exporting process wrote to `reference.json`. If the weights were rounded, as in
int8, only log-probabilities are required to be close, as two translations with
similar scores may change places.
"""

import os
import pathlib
from typing import NamedTuple

from keras_transformer.config import Config
from keras_transformer.exporting.ctranslate2_folder import REFERENCE
from keras_transformer.exporting.ctranslate2_translator import (
    CTranslate2Translator,
)
from keras_transformer.exporting.verification.checks import (
    CheckFailed,
    CheckResults,
    write_results,
)
from keras_transformer.system.files import read_json

_KEYS = ("texts", "decoding", "tolerance", "exact", "scored", "greedy", "beam")


def verify(folder: str | os.PathLike) -> CheckResults:
    """Runs every check except those that depend on a failed one.

    Args:
        folder: the export's folder.
    """
    folder = pathlib.Path(folder)
    results = CheckResults()
    reference = results.run(reference_is_readable, folder)
    if reference is None:
        return results
    beam = results.run(folder_loads, folder, reference)
    if beam is None:
        return results
    results.run(log_probabilities_agree, beam, reference)
    results.run(greedy_translations_agree, folder, reference)
    results.run(beam_scores_agree, beam, reference)
    return results


def reference_is_readable(folder: pathlib.Path) -> dict:
    """Reads the hypotheses of the run's own search."""
    reference = read_json(folder / REFERENCE)
    for key in _KEYS:
        if key not in reference:
            raise CheckFailed(f"{REFERENCE} has no {key!r}")
    return reference


def folder_loads(
    folder: pathlib.Path, reference: dict
) -> CTranslate2Translator:
    """Loads the folder, which verifies the files' checksums."""
    return CTranslate2Translator(folder, _decoding(reference))


def log_probabilities_agree(
    translator: CTranslate2Translator, reference: dict
) -> str:
    """Compares log-probabilities of the run's translations.

    They are computed over all tokens that can be generated, whereas
    CTranslate2's searches normalize over the tokens that aren't banned.
    """
    columns = reference["texts"], _hypotheses(reference["scored"])
    rows = [
        (text, one)
        for text, hypotheses in zip(*columns, strict=True)
        for one in hypotheses
    ]
    scored = translator.token_log_probabilities(
        [text for text, _ in rows], [one.ids for _, one in rows]
    )
    largest = 0.0
    for (_, one), values in zip(rows, scored, strict=True):
        # The last value is END's, which unfinished hypotheses don't have.
        difference = sum(values[: one.length]) - one.log_probability
        largest = max(largest, abs(difference) / one.length)
    said = f"{largest:.1e} nats a token in {len(rows)} translations"
    # Not `>`, which isn't true of NaN.
    if not largest <= reference["tolerance"]:
        raise CheckFailed(f"they differ by up to {said}")
    return f"differ by up to {said}"


def greedy_translations_agree(folder: pathlib.Path, reference: dict) -> str:
    """Compares translations and scores with a beam of 1."""
    translator = CTranslate2Translator(folder, _decoding(reference, 1))
    result = translator.search(reference["texts"])
    same = 0
    for number, (expected,) in enumerate(_hypotheses(reference["greedy"])):
        ids, score = result.ids[number][0], result.scores[number][0]
        same += ids == expected.ids
        # Ids may differ where two tokens are equally probable.
        apart = abs(score - expected.score)
        if reference["exact"] and not apart <= _tolerance(reference, expected):
            raise CheckFailed(
                f"text {number + 1}: {ids[:8]}, {score:.5f}, and not "
                f"{expected.ids[:8]}, {expected.score:.5f}"
            )
    texts, _, _ = translator.answer(reference["texts"])
    pairs = zip(texts, reference["greedy"]["texts"], strict=True)
    spelt = sum(one == other for (one,), other in pairs)
    if spelt < same:
        raise CheckFailed(f"{same} have the same ids, {spelt} the same text")
    return f"{same} of {len(reference['texts'])} the same"


def beam_scores_agree(
    translator: CTranslate2Translator, reference: dict
) -> str:
    """Compares scores of hypotheses that both searches found.

    The best hypotheses may differ: CTranslate2 stops after a fixed number of
    finished hypotheses, and ranks those that reached the length limit among
    the finished ones.
    """
    result = translator.search(reference["texts"])
    same = 0
    for number, hypotheses in enumerate(_hypotheses(reference["beam"])):
        ids, score = result.ids[number][0], result.scores[number][0]
        same += ids == hypotheses[0].ids
        # The same ids may occur twice, ended by END and by the limit.
        both = [one for one in hypotheses if one.ids == ids]
        near = [
            abs(score - one.score) <= _tolerance(reference, one) for one in both
        ]
        if both and not any(near) and reference["exact"]:
            raise CheckFailed(
                f"text {number + 1}: score {score:.5f} and not "
                f"{both[0].score:.5f}"
            )
    return f"{same} of {len(reference['texts'])} the same"


class _Hypothesis(NamedTuple):
    """A hypothesis of the run's own search; its length includes END."""

    ids: list[int]
    length: int
    score: float
    log_probability: float


def _hypotheses(values) -> list[list[_Hypothesis]]:
    """Returns the hypotheses of each text, the best first."""
    names = ("ids", "lengths", "finished", "scores", "log_probabilities")
    return [
        [
            _Hypothesis(ids[: length - finished], length, *values)
            for ids, length, finished, *values in zip(*columns, strict=True)
            if length
        ]
        for columns in zip(*(values[name] for name in names), strict=True)
    ]


def _tolerance(reference, expected):
    return reference["tolerance"] * (1 + abs(expected.score))


def _decoding(reference, beam_size=None):
    """Returns the reference's search, optionally with another beam size."""
    values = dict(reference["decoding"])
    values["beam_size"] = beam_size or values["beam_size"]
    return Config().updated({"decoding": values}, REFERENCE).decoding


if __name__ == "__main__":
    write_results(verify)
