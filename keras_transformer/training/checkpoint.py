"""The checkpoint from which a killed run continues as if it hadn't stopped.

One `.npz` file: every variable of the model (dropout's random states too),
of the optimizer and of the metrics, and a JSON note with the position in
the data and the callbacks' memory. The zip container's CRC shows damage.
"""

from __future__ import annotations

import json
import math
import os
import pathlib
from collections.abc import Callable
from typing import TYPE_CHECKING

import keras
import numpy as np

from keras_transformer.errors import InputError
from keras_transformer.system.files import replacing
from keras_transformer.training import hosts
from keras_transformer.training.ownership import check_owner

if TYPE_CHECKING:
    from keras_transformer.config.training import TrainingConfig
    from keras_transformer.data.batching import TrainingBatches
    from keras_transformer.training.callbacks import KeepBest, Speed


FORMAT = 1
_NOTE = "note"
# Epochs, batches and seconds in a checkpoint are all less than this.
_MOST = 1 << 31
# The entries of `KeepBest.memory`, and their types.
_MEMORY = {"best": (int, float), "best_epoch": (int,), "scored": (int,)}


class Interrupted(KeyboardInterrupt):
    """Training was asked to stop, after a step or before the first.

    After a step, a checkpoint has been written.
    """


class Checkpoint(keras.callbacks.Callback):
    """Writes the state every few steps, and restores it on a resume.

    Args:
        path: the checkpoint file.
        run: id of the run, which is saved too.
        batches: `TrainingBatches`, set to where training continues.
        keep_best: `KeepBest`, whose memory is saved too.
        speed: `Speed`, whose time is saved too.
        training: `TrainingConfig`: how often to write, how many epochs.
        stop_requested: callable; once true, the current step is finished, a
            checkpoint written, and `Interrupted` raised.
    """

    def __init__(
        self,
        path: pathlib.Path,
        run: str,
        batches: TrainingBatches,
        keep_best: KeepBest,
        speed: Speed,
        training: TrainingConfig,
        stop_requested: Callable[[], bool],
    ) -> None:
        super().__init__()
        self.path = path
        self._run = run
        self._batches = batches
        self._keep_best = keep_best
        self._speed = speed
        self._every = training.checkpoint_every
        self._epochs = training.epochs
        self._stop_requested = stop_requested
        self._resume = False
        self._done = 0  # batches of the current epoch
        self._is_whole = True  # whether the current epoch came to its end

    def on_epoch_begin(self, epoch: int, logs: dict | None = None) -> None:
        self._done = self._batches.first_batch
        self._is_whole = True
        if self._resume:
            # Keras has just reset the metrics; they continue from the sums of
            # the interrupted epoch instead.
            load_checkpoint(self.path, self.model, self._run)
            self._resume = False

    def on_train_batch_end(self, batch: int, logs: dict | None = None) -> None:
        done = self._done + batch + 1
        if done == self._batches.batches_per_epoch:
            return  # `on_epoch_end` follows, and saves
        stop = self._stop_requested()
        # Another callback may end the epoch here. What is left of it is
        # trained when the run is resumed.
        self._is_whole = not self.model.stop_training
        if stop or not self._is_whole or done % self._every == 0:
            self._save(self._batches.epoch, done)
        if stop:
            raise Interrupted

    def on_epoch_end(self, epoch: int, logs: dict | None = None) -> None:
        if self._is_whole:
            self._save(epoch + 1, 0)
        is_last = epoch + 1 == self._epochs or self.model.stop_training
        if self._stop_requested() and not is_last:
            raise Interrupted

    def _save(self, epoch, batch):
        note = {
            "epoch": int(epoch),
            "batch": int(batch),
            "keep_best": self._keep_best.memory,
            "seconds": self._speed.seconds() if batch else 0.0,
            "run": self._run,
        }
        hosts.synchronized(self.model)
        hosts.by_chief(save_checkpoint)(self.path, self.model, note)
        # Else the other hosts wait in the next step's collective, which times
        # out before a large model is written.
        hosts.wait()

    def restore(self, model: keras.Model) -> int:
        """Restores the saved state.

        Args:
            model: compiled model, its metrics built.

        Returns:
            the epoch to continue with, counted from 0.

        Raises:
            InputError: as in `load_checkpoint`, or the epoch has fewer batches
                than the checkpoint counts.
        """
        note = load_checkpoint(self.path, model, self._run)
        if note["batch"] >= self._batches.batches_per_epoch:
            raise _damaged(self.path)
        self._batches.epoch = note["epoch"]
        self._batches.first_batch = note["batch"]
        self._keep_best.memory.update(note["keep_best"])
        self._speed.seconds_before = note["seconds"]
        self._resume = note["batch"] > 0
        return note["epoch"]


def save_checkpoint(
    path: str | os.PathLike, model: keras.Model, note: dict
) -> None:
    """Writes the state of a compiled model, all or nothing.

    Args:
        path: the `.npz` file.
        model: compiled and built `keras.Model`.
        note: JSON-able; the position in the data.
    """
    arrays = {
        name: keras.ops.convert_to_numpy(variable)
        for name, variable in _variables(model)
    }
    text = json.dumps({"format": FORMAT, **note})
    arrays[_NOTE] = np.frombuffer(text.encode("utf-8"), dtype=np.uint8)
    with replacing(path, follow=False) as temporary:
        np.savez(temporary, **arrays)


def load_checkpoint(
    path: str | os.PathLike, model: keras.Model, run: str
) -> dict:
    """Restores a saved state into a model compiled the same way.

    Args:
        path: the `.npz` file.
        model: compiled and built `keras.Model`.
        run: id of the run that must have written the file.

    Returns:
        the note that was saved.

    Raises:
        InputError: the file is missing, damaged, of another model or of
            another run.
    """
    try:
        # NumPy doesn't close a damaged file that it has opened itself.
        with pathlib.Path(path).open("rb") as file:
            with np.load(file, allow_pickle=False) as archive:
                size = os.fstat(file.fileno()).st_size
                _check_members(archive.zip, size)
                arrays = {name: archive[name] for name in archive.files}
        note = json.loads(arrays.pop(_NOTE).tobytes())
        _check_note(note)
    except FileNotFoundError:
        raise InputError(f"{path}: no checkpoint to resume from") from None
    except MemoryError:
        raise
    except Exception:  # NumPy and zipfile raise many kinds of errors.
        raise _damaged(path) from None
    check_owner(path, "checkpoint", note.get("run"), run)
    variables = dict(_variables(model))
    shapes = {name: tuple(v.shape) for name, v in variables.items()}
    saved = {name: array.shape for name, array in arrays.items()}
    if note.get("format") != FORMAT or shapes != saved:
        raise InputError(f"{path}: checkpoint of another model")
    if any(
        array.dtype.kind not in _kinds(variables[name])
        for name, array in arrays.items()
    ):
        raise _damaged(path)
    for name, variable in variables.items():
        variable.assign(arrays[name])
    return note


def _damaged(path):
    return InputError(f"{path}: damaged checkpoint")


def _kinds(variable):
    """Kinds of arrays, as NumPy names them, that a variable takes.

    The states of dropout are integers of different types on TensorFlow and
    JAX.
    """
    return "f" if "float" in variable.dtype else "biu"


def _check_members(archive, size):
    """Refuses arrays that would take more memory than the file has bytes.

    Args:
        archive: the open zip file; checkpoints aren't compressed.
        size: of the file, in bytes.
    """
    for info in archive.infolist():
        if info.compress_type or info.file_size > size:
            raise ValueError("compressed")
        with archive.open(info) as member:
            if np.lib.format.read_magic(member) != (1, 0):
                raise ValueError("another version of the format")
            shape, _, dtype = np.lib.format.read_array_header_1_0(member)
            length = member.tell()
        if length + math.prod(shape) * dtype.itemsize != info.file_size:
            raise ValueError("another shape than the member has bytes for")


def _check_note(note):
    """Refuses a note without a position in the data."""
    numbers = [note["epoch"], note["batch"]]
    if any(type(n) is not int or not 0 <= n < _MOST for n in numbers):
        raise ValueError("no position in the data")
    if not 0 <= note["seconds"] < _MOST:
        raise ValueError("no time")
    best = note["keep_best"]
    for name, types in _MEMORY.items():
        if best[name] is not None and type(best[name]) not in types:
            raise ValueError("no memory of the best")


def _variables(model):
    """Names and variables, in the same order whenever the model is built."""
    groups = {
        "model": model.variables,
        "optimizer": model.optimizer.variables,
        "metrics": model.metrics_variables,
    }
    for group, variables in groups.items():
        for index, variable in enumerate(variables):
            yield f"{group}/{index:04d}", variable
