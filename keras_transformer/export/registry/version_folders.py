"""Version folders: found, chosen, and published whole or not at all."""

import contextlib
import errno
import os
import pathlib
import shutil
import sys
from collections.abc import Iterator

from keras_transformer.contract.layout import SAVED_MODEL
from keras_transformer.errors import InputError

# The server reads versions as signed 64-bit integers.
_MAX_VERSION = 2**63 - 1

ACCEPTED_MODEL = "Accepted: what `keras-transformer export` wrote"


def version_folders(base: str | os.PathLike) -> dict[int, pathlib.Path]:
    """What is named like a version, as the server reads names: 007 is 7.

    A number that the server can't hold is none.

    Returns:
        `{version: path}`, the lowest first; empty where `base` is no folder.

    Raises:
        InputError: the folder can't be read.
    """
    base = pathlib.Path(base)
    try:
        names = os.listdir(base) if base.is_dir() else []
    except OSError as error:
        raise InputError(f"{base}: {error.strerror}") from None
    found = {
        int(name): base / name
        for name in names
        if name.isascii() and name.isdigit() and int(name) <= _MAX_VERSION
    }
    return dict(sorted(found.items()))


def choose_version(base: str | os.PathLike, version: int | None) -> int:
    """The version to write: the one asked for, or the next.

    Raises:
        InputError: `base` can't hold versions, or has this one.
    """
    base = pathlib.Path(base)
    accepted = "Accepted: a folder, new or not, that holds version folders"
    if os.path.lexists(base) and not base.is_dir():
        raise InputError(f"{base} is a file. {accepted}")
    if (base / SAVED_MODEL).exists():
        raise InputError(f"{base} is a version itself. {accepted}")
    taken = version_folders(base)
    if version is None:
        return max(taken, default=0) + 1
    if not 0 < version <= _MAX_VERSION:
        raise InputError(
            f"version must be a whole number from 1 on. Received: {version}"
        )
    if version in taken:
        raise InputError(
            f"{taken[version]} exists, and a version is never overwritten. "
            f"Accepted: another number; the next is {max(taken) + 1}"
        )
    return version


def find_saved_model(path: str | os.PathLike) -> pathlib.Path:
    """The version folder that a path means.

    Raises:
        InputError: the path is none, and holds none.
    """
    path = pathlib.Path(path)
    if not path.is_dir():
        problem = "is a file" if path.exists() else "doesn't exist"
        raise InputError(f"{path} {problem}. {ACCEPTED_MODEL}")
    if (path / SAVED_MODEL).is_file():
        return path
    versions = version_folders(path)
    if not versions:
        raise InputError(
            f"{path}: no SavedModel (no {SAVED_MODEL}, and no version "
            f"folders such as 1). {ACCEPTED_MODEL}"
        )
    latest = versions[max(versions)]
    if not (latest / SAVED_MODEL).is_file():
        raise InputError(
            f"{latest}: no SavedModel (no {SAVED_MODEL}). {ACCEPTED_MODEL}"
        )
    return latest


@contextlib.contextmanager
def new_version(
    base: str | os.PathLike, version: int
) -> Iterator[pathlib.Path]:
    """A temporary folder that becomes `base/version` if the block ends well.

    The server ignores its name. When the block fails, or the process is
    interrupted, it is removed, with the parents that were made for it.

    Raises:
        InputError: the folder can't be written, or the version has appeared
            meanwhile.
    """
    base = pathlib.Path(base)
    goal = base / str(version)
    temporary = base / f".tmp-{version}-{os.getpid()}"
    made = [path for path in (base, *base.parents) if not path.exists()]
    published = False
    try:
        with writing(goal):
            base.mkdir(parents=True, exist_ok=True)
            temporary.mkdir()
        yield temporary
        with writing(goal):
            _flush(temporary)
            os.rename(temporary, goal)
        published = True
    finally:
        if not published:
            shutil.rmtree(temporary, ignore_errors=True)
            with contextlib.suppress(OSError):
                for path in made:
                    path.rmdir()


@contextlib.contextmanager
def writing(goal: pathlib.Path) -> Iterator[None]:
    """Turns the errors of writing into one line that names `goal`."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            reason = "appeared while it was being exported; left as it is"
        elif error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            reason = _FULL
        else:
            reason = f"can't be written ({error.strerror})"
        raise InputError(f"{goal}: {reason}") from error
    except Exception as error:
        # Not imported for this: what needs no TensorFlow starts fast.
        tensorflow = sys.modules.get("tensorflow")
        if tensorflow is None or not isinstance(
            error, tensorflow.errors.OpError
        ):
            raise
        if isinstance(error, tensorflow.errors.ResourceExhaustedError):
            raise InputError(f"{goal}: {_FULL}") from error
        # "PATH; No space left on device", and more lines in a traceback.
        reason = error.message.splitlines()[0].rsplit("; ", 1)[-1]
        raise InputError(f"{goal}: can't be written ({reason})") from error


_FULL = "the disk is full; nothing was left there"


def _flush(folder):
    """Brings every file to the disk, so that the rename publishes them."""
    for path in folder.rglob("*"):
        if path.is_file():
            with open(path, "rb") as file:
                os.fsync(file.fileno())


def folder_size(folder: pathlib.Path) -> int:
    """Bytes in all files of a folder."""
    return sum(
        path.stat().st_size for path in folder.rglob("*") if path.is_file()
    )
