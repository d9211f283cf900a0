"""The export of a run for Keras: a `.keras` file, and what goes with it.

The file is the functional model from ids to logits, in float32 whatever the
run was trained in, and not compiled, so that neither a loss nor a schedule is
needed to load it. Search, and text in and out, aren't in it.

Axes: B sentences, S source and T target positions, V vocabulary.
"""

import dataclasses
import os
import pathlib
import time
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from keras_transformer.checksums import describe_file
from keras_transformer.constants import (
    END_ID,
    PAD_ID,
    SIDES,
    SPECIAL_TOKENS,
    START_ID,
)
from keras_transformer.errors import InputError
from keras_transformer.export.registry.version_folders import folder_size
from keras_transformer.export.verification.checks import (
    KERAS_CHECKS,
    KERAS_DESCRIPTION,
    KERAS_FORMAT,
    KERAS_FORMAT_VERSION,
    KERAS_MODEL,
    KERAS_REFERENCE,
    CheckResult,
    check_in_fresh_process,
    require_passed,
)
from keras_transformer.export.writer.saved_model import (
    describe,
    exported_config,
    load_model,
)
from keras_transformer.export.writer.signatures import full_precision
from keras_transformer.files import (
    check_free,
    new_folder,
    require_space,
    write_json,
)
from keras_transformer.importing.folders import copy_own_files
from keras_transformer.training.run import Run
from keras_transformer.training.weights import file_size

_LENGTHS = (0, 3, 8)  # tokens of the sentences to compare with


@dataclasses.dataclass(frozen=True)
class KerasReport:
    """What `export_keras` published.

    Attributes:
        path: the folder.
        model: the `.keras` file in it.
        size: bytes in all its files.
        checks: every `CheckResult`, all passed.
        seconds: of the whole export, checks included.
    """

    path: pathlib.Path
    model: pathlib.Path
    size: int
    checks: tuple[CheckResult, ...] = dataclasses.field(repr=False)
    seconds: float

    def to_dict(self) -> dict:
        """The same as JSON holds it."""
        return {
            **dataclasses.asdict(self),
            "path": str(self.path),
            "model": str(self.model),
        }


def export_keras(
    run: Run,
    folder: str | os.PathLike,
    *,
    which: str = "best",
    progress: Callable[[str], None] | None = None,
) -> KerasReport:
    """Writes, checks and publishes a folder with a `.keras` file.

    `keras.models.load_model(folder / "model.keras")` loads it wherever
    `keras_transformer` is imported: a `Transformer` as `build_transformer`
    makes one, from `source_ids` int32 `(B, S)` and `target_ids` int32 `(B, T)`
    to logits float32 `(B, T, V)`. Tokenizers, licence and model card lie
    beside it.

    Args:
        run: a trained run.
        folder: that doesn't exist yet or is empty.
        which: weights, "best", "last" or "average".
        progress: called with a line before each long step.

    Returns:
        What was written and checked.

    Raises:
        InputError: the folder can't be written, the weights are damaged, or a
            check failed.
    """
    started = time.monotonic()
    progress = progress or (lambda line: None)
    folder = pathlib.Path(folder)
    if folder.suffix == ".keras":
        raise InputError(
            f"{folder}: a folder is written, which has {KERAS_MODEL} in it. "
            f"Accepted: a name without .keras, such as {folder.with_suffix('')}"
        )
    check_free(folder)
    config = exported_config(run.config, None)
    model = load_model(run, config, which)
    with new_folder(folder) as temporary:
        progress(f"writing {folder}")
        # Where memory is scarce Keras has HDF5 write, which crashes on a full
        # disk.
        require_space(temporary / KERAS_MODEL, file_size(model))
        model.save(temporary / KERAS_MODEL)
        reference: dict[str, Any] = _reference(run, model)
        np.savez(temporary / KERAS_REFERENCE, **reference)
        files = (temporary / KERAS_MODEL, temporary / KERAS_REFERENCE)
        description = {
            "format": KERAS_FORMAT,
            "format_version": KERAS_FORMAT_VERSION,
            "model": KERAS_MODEL,
            "files": [describe_file(path) for path in files],
            **describe(run, config, which, model),
        }
        write_json(temporary / KERAS_DESCRIPTION, description)
        write_companions(temporary, run)
        progress("checking it in a fresh process")
        checks = check_in_fresh_process(temporary, module=KERAS_CHECKS)
        require_passed(checks)
    return KerasReport(
        path=folder,
        model=folder / KERAS_MODEL,
        size=folder_size(folder),
        checks=checks,
        seconds=round(time.monotonic() - started, 1),
    )


def write_companions(folder: pathlib.Path, run: Run) -> None:
    """What travels with a model: tokenizers, licence and model card.

    Args:
        folder: that is being written.
        run: whose they are.

    Raises:
        InputError: a licence or a model card is too large.
    """
    tokenizers = run.source_tokenizer, run.target_tokenizer
    for side, tokenizer in zip(SIDES, tokenizers, strict=True):
        tokenizer.save(folder / f"{side}_tokenizer")
    notices = run.folder / "imported"
    # The run may be a stranger's, and the folder a link to a private one.
    if not notices.is_symlink():
        copy_own_files(notices, folder / "imported")


def _reference(run, model) -> dict[str, np.ndarray]:
    """Ids of some sentences, and the logits that the model gives for them."""
    random = np.random.default_rng(0)
    longest = min(max(_LENGTHS), run.config.model.max_length - 2)
    lengths = [min(length, longest) for length in _LENGTHS]
    ids = {}
    tokenizers = run.source_tokenizer, run.target_tokenizer
    for side, tokenizer in zip(SIDES, tokenizers, strict=True):
        first, size = len(SPECIAL_TOKENS), tokenizer.vocabulary_size
        rows = [random.integers(first, size, length) for length in lengths]
        # The decoder's inputs have no END.
        end = [END_ID] if side == "source" else []
        framed = [[START_ID, *row, *end] for row in rows]
        ids[f"{side}_ids"] = _padded(framed)
    # The checks compute on the processor as well.
    with full_precision(), tf.device("CPU"):
        logits = model(ids, training=False)
    return {**ids, "logits": keras.ops.convert_to_numpy(logits)}


def _padded(rows):
    """Lists of ids as an array, int32 `(B, longest)`."""
    padded = np.full((len(rows), max(map(len, rows))), PAD_ID, np.int32)
    for row, ids in zip(padded, rows, strict=True):
        row[: len(ids)] = ids
    return padded
