"""Checks of exports for Keras in a fresh process.

    python -m keras_transformer.export.verification.keras_checks FOLDER

Loads the file as its users do, by `keras.models.load_model` after `import
keras_transformer` and nothing else of the package that knows Keras, and
compares its logits with those of the run's model, which the exporting process
left in `reference.npz`.

FOLDER/
  model.keras             the functional model, in float32, not compiled
  source_tokenizer/  target_tokenizer/
  imported/               licence and model card of an imported model
  keras_transformer.json  configuration, languages, origin, checksums
  reference.npz           ids, and the logits that they have to give

Axes: B sentences, S source and T target positions, V vocabulary.
"""

import functools
import os
import pathlib
import sys

import keras
import numpy as np

from keras_transformer.checksums import check_file, is_bare_name
from keras_transformer.constants import SIDES
from keras_transformer.errors import shown
from keras_transformer.export.verification.checks import (
    KERAS_DESCRIPTION,
    KERAS_FORMAT,
    KERAS_FORMAT_VERSION,
    KERAS_MODEL,
    KERAS_REFERENCE,
    CheckFailed,
    CheckResults,
    command_line,
)
from keras_transformer.files import read_json

INPUTS = ("source_ids", "target_ids")
# How far logits may be from the run's, as a share of the largest.
TOLERANCE = 1e-6
_EXPORT_AGAIN = "export it again"


def verify(folder: str | os.PathLike) -> CheckResults:
    """Runs every check; those that need what has failed are left out.

    Args:
        folder: the export's.
    """
    folder = pathlib.Path(folder)
    results = CheckResults()
    description = results.run(description_is_readable, folder)
    if description is None:
        return results
    results.run(files_are_whole, folder, description)
    model = results.run(model_loads, folder)
    if model is not None:
        results.run(logits_agree, folder, model)
    results.run(tokenizers_load, folder, description)
    return results


def description_is_readable(folder: pathlib.Path) -> dict:
    """What the export says about itself."""
    description = read_json(folder / KERAS_DESCRIPTION)
    kind = description.get("format"), description.get("format_version")
    if kind != (KERAS_FORMAT, KERAS_FORMAT_VERSION):
        raise CheckFailed(f"{KERAS_DESCRIPTION}: not of {KERAS_FORMAT}")
    return description


def files_are_whole(folder: pathlib.Path, description: dict) -> None:
    """Files are as they were written."""
    for file in description["files"]:
        if not is_bare_name(file["name"]):
            raise CheckFailed(
                f"{KERAS_DESCRIPTION}: {shown(file['name'], 60)} is no file "
                "of the folder"
            )
        check_file(folder / file["name"], file, _EXPORT_AGAIN, content=True)


def model_loads(folder: pathlib.Path) -> keras.Model:
    """The only thing that Keras needs is the package's name imported."""
    return keras.models.load_model(folder / KERAS_MODEL)


def logits_agree(folder: pathlib.Path, model: keras.Model) -> str:
    """The loaded model gives the logits that the run's gave."""
    with np.load(folder / KERAS_REFERENCE) as reference:
        inputs = {name: reference[name] for name in INPUTS}
        expected = reference["logits"]  # (B, T, V)
    logits = keras.ops.convert_to_numpy(model(inputs, training=False))
    if logits.shape != expected.shape:
        raise CheckFailed(f"shape {logits.shape} and not {expected.shape}")
    difference = np.abs(logits - expected).max()
    largest = np.abs(expected).max()
    said = f"{difference:.1e}, of logits up to {largest:.1f}"
    # Not `>`, which isn't true of NaN.
    if not difference <= TOLERANCE * max(largest, 1.0):
        raise CheckFailed(f"they differ by up to {said}")
    return f"differ by up to {said}"


def tokenizers_load(folder: pathlib.Path, description: dict) -> None:
    """The tokenizers are those that the model was trained with."""
    from keras_transformer.text.tokenizer import load_tokenizer

    for side in SIDES:
        path = folder / f"{side}_tokenizer"
        expected = description["tokenizers"][side]["fingerprint"]
        if load_tokenizer(path).fingerprint() != expected:
            raise CheckFailed(f"{path}: not the one of the model")


main = functools.partial(
    command_line,
    verify,
    "python -m keras_transformer.export.verification.keras_checks",
    "Check exported models as Keras loads them.",
)

if __name__ == "__main__":
    sys.exit(main())
