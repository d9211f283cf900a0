"""Export of a run for Keras: a `.keras` file and its companions.

FOLDER/
  model.keras             the functional model, in float32, not compiled
  source_tokenizer/  target_tokenizer/
  imported/               licence and model card of an imported model
  keras_transformer.json  configuration, languages, origin, scores

The file contains neither the search nor the tokenizers.

Axes: B sentences, S source and T target positions, V vocabulary.
"""

import os
import pathlib
import time
from collections.abc import Callable

import keras
import numpy as np

from keras_transformer.constants import SIDES, SPECIAL_TOKENS
from keras_transformer.errors import InputError
from keras_transformer.exporting.registry.version_folders import folder_size
from keras_transformer.exporting.writer.saved_model import (
    ExportReport,
    describe,
    load_exported,
)
from keras_transformer.exporting.writer.signatures import full_precision
from keras_transformer.importing.folders import copy_own_files
from keras_transformer.system.files import (
    check_free,
    new_folder,
    require_space,
    write_json,
)
from keras_transformer.training.run import Run
from keras_transformer.training.weights import file_size

MODEL = "model.keras"
# Tolerance of the loaded model's logits, relative to the largest one.
_TOLERANCE = 1e-6


def export_keras(
    run: Run,
    folder: str | os.PathLike,
    *,
    weights: str,
    progress: Callable[[str], None],
) -> ExportReport:
    """Writes a folder with a `.keras` file, loads it, and publishes it.

    `keras.models.load_model(folder / "model.keras")` loads it once
    `keras_transformer` is imported. It is a `Transformer` as returned by
    `build_transformer`, from `source_ids` int32 `(B, S)` and `target_ids`
    int32 `(B, T)` to logits float32 `(B, T, V)`.

    Args:
        run: a trained run.
        folder: a folder that doesn't exist yet or is empty.
        weights: "best", "last" or "average".
        progress: called with a line before each long step.

    Raises:
        InputError: the folder can't be written, the weights are damaged, or
            the loaded model's logits differ.
    """
    started = time.monotonic()
    folder = pathlib.Path(folder)
    if folder.suffix == ".keras":
        raise InputError(
            f"{folder}: a folder is written, which has {MODEL} in it. "
            f"Accepted: a name without .keras, such as {folder.with_suffix('')}"
        )
    check_free(folder)
    config, model = load_exported(run, weights)
    with new_folder(folder) as temporary:
        progress(f"writing {folder}")
        # If memory is scarce, Keras lets HDF5 write the file, which crashes
        # when the disk is full.
        require_space(temporary / MODEL, file_size(model))
        model.save(temporary / MODEL)
        _require_equal(model, keras.models.load_model(temporary / MODEL), run)
        write_json(
            temporary / "keras_transformer.json",
            {
                "format": "keras_transformer.keras",
                "format_version": 1,
                "model": MODEL,
                **describe(run, config, weights, [model]),
            },
        )
        write_companions(temporary, run)
    return ExportReport(
        path=folder,
        size=folder_size(folder),
        seconds=round(time.monotonic() - started, 1),
    )


def write_companions(folder: pathlib.Path, run: Run) -> None:
    """Writes a model's companions: tokenizers, licence, model card.

    Args:
        folder: the export's folder.
        run: the exported run.

    Raises:
        InputError: a licence or a model card is too large.
    """
    tokenizers = run.source_tokenizer, run.target_tokenizer
    for side, tokenizer in zip(SIDES, tokenizers, strict=True):
        tokenizer.save(folder / f"{side}_tokenizer")
    notices = run.folder / "imported"
    # In an untrusted run, the folder may be a link to private files.
    if not notices.is_symlink():
        copy_own_files(notices, folder / "imported")


def _require_equal(model, loaded, run):
    """Refuses a loaded model whose logits differ from the saved one's."""
    random = np.random.default_rng(0)
    length = min(8, run.config.model.max_length)
    ids = {
        f"{side}_ids": random.integers(
            len(SPECIAL_TOKENS),
            getattr(run, f"{side}_tokenizer").vocabulary_size,
            (2, length),  # (B, S) or (B, T)
        )
        for side in SIDES
    }
    with full_precision():
        expected, logits = (
            keras.ops.convert_to_numpy(each(ids, training=False))  # (B, T, V)
            for each in (model, loaded)
        )
    difference = np.abs(logits - expected).max()
    # Not `>`, which isn't true of NaN.
    if not difference <= _TOLERANCE * max(np.abs(expected).max(), 1.0):
        raise InputError(
            f"{MODEL}: after loading, logits differ by up to {difference:.1e}; "
            "nothing was published"
        )
