"""Files of weights, each with notes by which damage is found.

`NAME.weights.h5` has a `NAME.json` beside it: epoch, scores, the run's id, and
the SHA-256 of the file.
"""

import contextlib
import math
import os
import pathlib
import shutil
import warnings

import h5py
import keras

from keras_transformer.errors import InputError, shown
from keras_transformer.system.checksums import checksum
from keras_transformer.system.files import (
    read_json,
    replacing,
    require_space,
    write_json,
)

_NAMES = "best", "last", "average"
_SUFFIX = ".weights.h5"
_HDF5_ERRORS = (OSError, ValueError, KeyError, TypeError, RuntimeError)
LARGEST_TABLE = 1 << 28  # bytes that may be computed however small the file
_SAID = 200  # characters of an error that are repeated
# More than HDF5 and Keras add to each weight, groups included.
_HDF5_BYTES = 8192


def require_name(weights: str | None) -> None:
    """Refuses names of weights that a run can't translate by.

    Args:
        weights: a name; None: the default.
    """
    if weights is not None and weights not in _NAMES:
        raise InputError(
            f"weights must be one of {', '.join(_NAMES)}. "
            f"Received: {shown(weights)}"
        )


def weights_path(folder: str | os.PathLike, name: str) -> pathlib.Path:
    """The file of the weights `name`."""
    return pathlib.Path(folder) / f"{name}{_SUFFIX}"


def save_weights(path: pathlib.Path, model: keras.Model, notes: dict) -> None:
    """Replaces a file of weights and its notes.

    A kill at any moment leaves the old weights or the new ones, and notes
    that accept whichever is there.

    Args:
        path: `weights_path`.
        model: built `keras.Model`.
        notes: JSON-able; `run`, if there, is the id of the run.
    """
    # Not the compiled model: without the optimizer's slots the file is a
    # third as large.
    model = _bare(model)

    def write(temporary):
        require_space(temporary, file_size(model))
        model.save_weights(temporary)

    _replace(path, write, notes)


def copy_weights(
    source: pathlib.Path, target: pathlib.Path, notes: dict
) -> None:
    """Replaces the file `target` and its notes by a copy of `source`.

    Raises:
        InputError: `source` is missing or damaged.
    """
    check_weights(source)
    _replace(target, lambda path: shutil.copyfile(source, path), notes)


def load_weights(path: pathlib.Path, model: keras.Model) -> None:
    """Loads saved weights into a model of the same shape, compiled or not.

    Args:
        path: `weights_path`, which `check_weights` accepts.
        model: built `keras.Model`.

    Raises:
        InputError: the weights don't fit the model, or can't be read.
    """
    # Keras ignores tensors that the model has no weights for.
    with _opened(path) as file:
        count = len(_tensors(file))
    if count != len(model.weights):
        raise InputError(
            f"{path}: damaged weights, or of another model: {count} tensors "
            f"for {len(model.weights)} weights"
        )
    try:
        with warnings.catch_warnings():
            # Keras would leave layers that the file lacks as they are.
            warnings.filterwarnings("error", "Skipping nested", UserWarning)
            _bare(model).load_weights(path)
    except (*_HDF5_ERRORS, UserWarning) as error:
        raise InputError(
            f"{path}: damaged weights, or of another model: "
            f"{_first_line(error)}"
        ) from None


def check_weights(path: pathlib.Path) -> None:
    """Refuses a file that is missing or damaged.

    Args:
        path: `weights_path`.

    Raises:
        InputError: names the file and what is wrong.
    """
    if not path.is_file():
        with_average = path.name.startswith("average")
        hint = ", with training.average_epochs" if with_average else ""
        raise InputError(
            f"{path}: no such weights. Has the run finished an epoch{hint}?"
        )
    notes = read_notes(path)
    if not notes:
        raise InputError(
            f"{path}: weights without a checksum. Accepted: a file that a run "
            f"wrote, with {_notes_path(path).name} beside it"
        )
    if checksum(path) not in _digests(path, notes):
        raise InputError(
            f"{path}: damaged weights (SHA-256 is not the one in "
            f"{_notes_path(path).name})"
        )


def require_size(path: pathlib.Path, least: int, computed: int) -> None:
    """Refuses a file that is too small for a model, before it is built.

    Args:
        path: an existing file of weights, float32 and not compressed.
        least: a lower bound of the model's number of parameters.
        computed: float32 numbers in the largest table that isn't a parameter.

    Raises:
        InputError: names the file.
    """
    size = path.stat().st_size
    if size < 4 * least:
        raise InputError(
            f"{path}: damaged weights, or of another model: {size:,} bytes "
            f"for {least:,} parameters"
        )
    if 4 * computed > max(size, LARGEST_TABLE):
        raise InputError(
            f"{path}: its positions would take {4 * computed:,} bytes, its "
            f"weights take {size:,}. Accepted: a model.max_length whose "
            f"table is no larger than the weights or {LARGEST_TABLE:,} bytes"
        )


def read_notes(path: pathlib.Path) -> dict:
    """Reads the notes beside a file of weights; `{}` without notes."""
    notes = _notes_path(path)
    return read_json(notes) if notes.is_file() else {}


def remove_weights(path: pathlib.Path) -> None:
    """Removes a file of weights and its notes."""
    path.unlink(missing_ok=True)
    _notes_path(path).unlink(missing_ok=True)


def file_size(model: keras.Model) -> int:
    """An upper bound of the bytes that a file of a model's weights takes."""
    sizes = [4 * math.prod(weight.shape) for weight in model.weights]
    return sum(sizes) + _HDF5_BYTES * (len(sizes) + 1)


def _bare(model):
    """A model of the same layers that isn't compiled."""
    return keras.Model(model.inputs, model.outputs)


def _replace(path, write, notes):
    known = _digests(path, read_notes(path))
    with replacing(path, follow=False) as temporary:
        write(temporary)
        digest = checksum(temporary)
        described = {**notes, "sha256": [*known, digest]}
        write_json(_notes_path(path), described)
    write_json(_notes_path(path), {**notes, "sha256": [digest]})


def _notes_path(path):
    return path.with_name(path.name.removesuffix(_SUFFIX) + ".json")


def _digests(path, notes) -> list[str]:
    """The SHA-256 of each file that the notes accept."""
    digests = notes.get("sha256", [])
    if not isinstance(digests, list):
        raise InputError(
            f"{_notes_path(path)}: damaged, sha256 is no list of checksums"
        )
    return digests


@contextlib.contextmanager
def _opened(path):
    """Opens a file of weights; errors of HDF5 become an `InputError`.

    Tensors that claim more bytes than the file has count as damage, too.
    """
    try:
        with h5py.File(path) as file:
            claimed = sum(tensor.nbytes for tensor in _tensors(file))
            size = path.stat().st_size
            if claimed > size:
                raise ValueError(
                    f"tensors of {claimed} bytes in a file of {size}"
                )
            yield file
    except _HDF5_ERRORS as error:
        raise InputError(
            f"{path}: damaged weights ({_first_line(error)})"
        ) from None


def _tensors(file) -> list[h5py.Dataset]:
    """All tensors of a file."""
    names: list = []
    file.visit(names.append)
    parts = [file[name] for name in names]
    return [part for part in parts if isinstance(part, h5py.Dataset)]


def _first_line(error):
    """The first line of an error of HDF5 or Keras."""
    lines = str(error).splitlines()
    return lines[0][:_SAID] if lines else "unreadable"
