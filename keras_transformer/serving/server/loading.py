"""Loading: what is read of a version's folder, whose files may block.

A pipe in a version folder, or a file system that has gone, blocks the thread
that reads it. Pipes are refused before they are opened; all else is read in
threads that the server doesn't wait for.
"""

import contextlib
import os
import pathlib
import stat
import threading
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any, TypeVar

from keras_transformer.config.data import DataConfig
from keras_transformer.errors import InputError
from keras_transformer.exporting.saved_translator import data_of
from keras_transformer.system.files import read_json

T = TypeVar("T")


class PatientCalls:
    """Calls that may never return, each in a thread of its own.

    Args:
        seconds: that a call is waited for.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._last: dict[str, Future] = {}

    def call(self, path: str, function: Callable[..., T], *arguments: Any) -> T:
        """Calls a function, and returns or raises as it does.

        Args:
            path: that it reads, for the error. While a call for it hangs, there
                is no second one.
            function: is called with the arguments.

        Raises:
            InputError: it hasn't returned in time, or hangs since before.
        """
        future = self._last.get(path)
        if future is None or future.done():
            future = self._last[path] = Future()
            called = (future, function, arguments)
            threading.Thread(target=_call, args=called, daemon=True).start()
            seconds = self._seconds
        else:
            seconds = 0.0
        try:
            return future.result(seconds)
        except FutureTimeoutError:
            raise InputError(
                f"{path}: no answer after {self._seconds:g} s"
            ) from None


def _call(future, function, arguments):
    try:
        future.set_result(function(*arguments))
    except BaseException as error:
        future.set_exception(error)


def require_regular_files(folder: str | os.PathLike) -> None:
    """Refuses a folder with a file that may block when it is opened.

    Links are followed.

    Raises:
        InputError: names a pipe, a socket or a device.
        OSError: a folder or file can't be looked at.
    """
    seen = set()
    for path, folders, names in os.walk(os.fspath(folder), followlinks=True):
        status = pathlib.Path(path).stat()
        key = status.st_dev, status.st_ino
        if key in seen:
            folders.clear()
            continue
        seen.add(key)
        for name in names:
            file = pathlib.Path(path, name)
            # One that is missing is found when the version is loaded.
            if os.path.exists(file) and not stat.S_ISREG(file.stat().st_mode):
                raise InputError(
                    f"{file}: not a regular file. Accepted: folders and files"
                )


def stated_data(folder: pathlib.Path, name: str) -> DataConfig | None:
    """How the data of an export was prepared, if it says so.

    Args:
        folder: of one version.
        name: of the file with its description.

    Raises:
        InputError: the file is damaged: without it markup would be lost.
    """
    path = folder / name
    return data_of(read_json(path)) if path.is_file() else None


def folder_stamp(folder: pathlib.Path) -> tuple:
    """Times and sizes of all files of a version: one may come late."""
    stamp = []
    for path in sorted(folder.rglob("*")):
        with contextlib.suppress(OSError):
            status = path.stat()
            stamp.append((path, status.st_mtime_ns, status.st_size))
    return tuple(stamp)
