"""Reading of version folders, whose files may block.

A pipe in a version folder, or an unavailable network file system, blocks the
thread that reads it. Pipes are refused before they are opened; everything else
is read in threads that the server can abandon.
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
    """Runs calls that may never return, each in its own thread.

    Args:
        seconds: time to wait for a call.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._last: dict[str, Future] = {}

    def call(self, path: str, function: Callable[..., T], *arguments: Any) -> T:
        """Calls a function, and returns its result or raises its error.

        Args:
            path: the path that it reads, for the error. While a call for a path
                hangs, no second one starts.
            function: the function.
            *arguments: its arguments.

        Raises:
            InputError: the call doesn't return in time, or an earlier one for
                the path still hangs.
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
        OSError: a folder or file can't be examined.
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
            # A broken link is reported when the version is loaded.
            if os.path.exists(file) and not stat.S_ISREG(file.stat().st_mode):
                raise InputError(
                    f"{file}: not a regular file. Accepted: folders and files"
                )


def stated_data(folder: pathlib.Path, name: str) -> DataConfig | None:
    """Reads the data section of an export's description, if it has one.

    Args:
        folder: the version folder.
        name: name of the description's file.

    Raises:
        InputError: the file is damaged. It isn't ignored, as the model would
            get markup without symbols.
    """
    path = folder / name
    return data_of(read_json(path)) if path.is_file() else None


def folder_stamp(folder: pathlib.Path) -> tuple:
    """Returns times and sizes of a version's files, to detect changes."""
    stamp = []
    for path in sorted(folder.rglob("*")):
        with contextlib.suppress(OSError):
            status = path.stat()
            stamp.append((path, status.st_mtime_ns, status.st_size))
    return tuple(stamp)
