"""What a run says of itself in `manifest.json`."""

import pathlib

from keras_transformer.errors import InputError
from keras_transformer.files import read_json
from keras_transformer.version import versions

FORMAT = 1
SIDES = ("source", "target")


def new_manifest(prepared) -> dict:
    """Of a run that begins: versions, data and tokenizers; no scores yet.

    Args:
        prepared: `PreparedData` that the run is trained on.
    """
    tokenizers = prepared.source_tokenizer, prepared.target_tokenizer
    return {
        "format": FORMAT,
        "versions": versions(),
        "data": {
            "fingerprint": prepared.fingerprint,
            "counts": prepared.counts,
        },
        "tokenizers": {
            side: {
                "vocabulary_size": tokenizer.vocabulary_size,
                "fingerprint": tokenizer.fingerprint(),
            }
            for side, tokenizer in zip(SIDES, tokenizers, strict=True)
        },
        "scores": {},
    }


def read_manifest(folder: pathlib.Path) -> dict:
    """That of a run's folder.

    Raises:
        InputError: there is none, it is damaged, or it is something else's.
    """
    path = folder / "manifest.json"
    if not path.is_file():
        raise InputError(
            f"{folder}: not a run folder (no manifest.json). Expected "
            "what `keras-transformer train --out` wrote"
        )
    manifest = read_json(path)
    if "splits" in manifest:
        raise InputError(
            f"{folder}: prepared data, not a run. Expected what "
            "`keras-transformer train --out` wrote"
        )
    if not _is_of_a_run(manifest):
        raise InputError(f"{path}: damaged, or not of a run of format {FORMAT}")
    return manifest


def _is_of_a_run(manifest):
    try:
        return (
            manifest["format"] == FORMAT
            and isinstance(manifest["data"]["fingerprint"], str)
            and isinstance(manifest["scores"], dict)
            and all(manifest["tokenizers"][s]["fingerprint"] for s in SIDES)
        )
    except (KeyError, TypeError):
        return False
