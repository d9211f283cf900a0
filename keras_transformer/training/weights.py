"""Files of weights, each with notes that tell whether it is whole.

`NAME.weights.h5` has a `NAME.json` beside it: epoch, scores, and the SHA-256
of the file.
"""

import math
import pathlib
import shutil

import keras

from keras_transformer.checksums import checksum
from keras_transformer.errors import InputError
from keras_transformer.files import (
    read_json,
    replacing,
    require_space,
    write_json,
)

_SUFFIX = ".weights.h5"
# What HDF5 and Keras add to each weight, groups included, is less.
_HDF5_BYTES = 8192


def weights_path(folder, name: str) -> pathlib.Path:
    """The file of the weights `name`."""
    return pathlib.Path(folder) / f"{name}{_SUFFIX}"


def save_weights(path, model, notes: dict):
    """Replaces a file of weights and its notes.

    A kill at any moment leaves the old weights or the new ones, and notes
    that accept whichever is there.

    Args:
        path: `weights_path`.
        model: built `keras.Model`.
        notes: JSON-able.
    """
    # Not the compiled model: without the optimizer's slots the file is a
    # third as large.
    model = _bare(model)

    def write(temporary):
        require_space(temporary, _file_size(model))
        model.save_weights(temporary)

    _replace(path, write, notes)


def copy_weights(source, target, notes: dict):
    """Replaces the file `target` and its notes by a copy of `source`.

    Raises:
        InputError: `source` is missing or damaged.
    """
    check_weights(source)
    _replace(target, lambda path: shutil.copyfile(source, path), notes)


def load_weights(path, model):
    """Puts saved weights into a model of the same shape, compiled or not.

    Raises:
        InputError: no such weights, or they are damaged or don't fit.
    """
    check_weights(path)
    try:
        _bare(model).load_weights(path)
    except (OSError, ValueError, KeyError) as error:
        reason = str(error).splitlines()[0] if str(error) else "unreadable"
        raise InputError(
            f"{path}: damaged weights, or of another model: {reason}"
        ) from None


def check_weights(path):
    """Refuses a file that is missing, or isn't what its notes describe."""
    if not path.is_file():
        with_average = path.name.startswith("average")
        hint = ", with training.average_epochs" if with_average else ""
        raise InputError(
            f"{path}: no such weights. Has the run finished an epoch{hint}?"
        )
    notes = read_notes(path)
    if notes and checksum(path) not in notes.get("sha256", []):
        raise InputError(
            f"{path}: damaged weights (SHA-256 is not the one in "
            f"{_notes_path(path).name})"
        )


def read_notes(path) -> dict:
    """What stands beside a file of weights; nothing if there are no notes."""
    notes = _notes_path(path)
    return read_json(notes) if notes.is_file() else {}


def remove_weights(path):
    """Removes a file of weights and its notes."""
    path.unlink(missing_ok=True)
    _notes_path(path).unlink(missing_ok=True)


def _bare(model):
    """A view of the same layers that is not compiled."""
    return keras.Model(model.inputs, model.outputs)


def _file_size(model):
    """More bytes than the file of a model's weights takes."""
    sizes = [4 * math.prod(weight.shape) for weight in model.weights]
    return sum(sizes) + _HDF5_BYTES * (len(sizes) + 1)


def _replace(path, write, notes):
    known = read_notes(path).get("sha256", [])
    with replacing(path) as temporary:
        write(temporary)
        digest = checksum(temporary)
        described = {**notes, "sha256": [*known, digest]}
        write_json(_notes_path(path), described)
    write_json(_notes_path(path), {**notes, "sha256": [digest]})


def _notes_path(path):
    return path.with_name(path.name.removesuffix(_SUFFIX) + ".json")
