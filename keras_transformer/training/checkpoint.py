"""All that a killed run needs to go on as if it had never stopped.

One `.npz` file: every variable of the model (dropout's random states too),
of the optimizer and of the metrics, and a JSON note with the position in
the data and the callbacks' memory. The zip container's CRC tells damage.
"""

import json

import numpy as np

from keras_transformer.errors import InputError
from keras_transformer.files import replacing

FORMAT = 1
_NOTE = "note"


def save_checkpoint(path, model, note: dict):
    """Writes the state of a compiled model, all or nothing.

    Args:
        path: the `.npz` file.
        model: compiled and built `keras.Model`.
        note: JSON-able; where in the data the model stands.
    """
    arrays = {name: variable.numpy() for name, variable in _variables(model)}
    text = json.dumps({"format": FORMAT, **note})
    arrays[_NOTE] = np.frombuffer(text.encode("utf-8"), dtype=np.uint8)
    with replacing(path) as temporary:
        np.savez(temporary, **arrays)


def load_checkpoint(path, model) -> dict:
    """Puts a saved state back into a model compiled the same way.

    Returns:
        the note that was saved.

    Raises:
        InputError: the file is missing, damaged or of another model.
    """
    try:
        # NumPy leaves a damaged file open that it has opened itself.
        with open(path, "rb") as file:
            with np.load(file, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
        note = json.loads(arrays.pop(_NOTE).tobytes())
    except FileNotFoundError:
        raise InputError(f"{path}: no checkpoint to resume from") from None
    except MemoryError:
        raise
    except Exception:  # NumPy and zipfile have many words for damage.
        raise InputError(f"{path}: damaged checkpoint") from None
    variables = dict(_variables(model))
    shapes = {name: tuple(v.shape) for name, v in variables.items()}
    saved = {name: array.shape for name, array in arrays.items()}
    if note.get("format") != FORMAT or shapes != saved:
        raise InputError(f"{path}: checkpoint of another model")
    for name, variable in variables.items():
        variable.assign(arrays[name])
    return note


def _variables(model):
    """Names and variables in an order that building again repeats."""
    groups = {
        "model": model.variables,
        "optimizer": model.optimizer.variables,
        "metrics": model.metrics_variables,
    }
    for group, variables in groups.items():
        for index, variable in enumerate(variables):
            yield f"{group}/{index:04d}", variable
