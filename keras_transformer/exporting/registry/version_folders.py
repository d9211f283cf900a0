"""Version folders: listing, choosing and resolving them."""

import os
import pathlib

from keras_transformer.contract.layout import SAVED_MODEL
from keras_transformer.errors import InputError

# The server reads versions as signed 64-bit integers.
_MAX_VERSION = 2**63 - 1

ACCEPTED_MODEL = "Accepted: what `keras-transformer export` wrote"


def version_folders(base: str | os.PathLike) -> dict[int, pathlib.Path]:
    """Finds folders named like a version. As in the server, 007 is 7.

    Numbers above the server's maximum are ignored. If two names have the same
    number, the shorter counts.

    Returns:
        `{version: path}`, the lowest first; empty if `base` isn't a folder.

    Raises:
        InputError: the folder can't be read.
    """
    base = pathlib.Path(base)
    try:
        names = os.listdir(base) if base.is_dir() else []
    except OSError as error:
        raise InputError(f"{base}: {error.strerror}") from None
    versions = {
        int(name): base / name
        for name in sorted(names, key=len, reverse=True)
        if name.isascii() and name.isdigit() and int(name) <= _MAX_VERSION
    }
    return dict(sorted(versions.items()))


def absolute(base: str | os.PathLike) -> pathlib.Path:
    """Returns an absolute path without following links.

    A link's own name, not its target's, is the model's name.
    """
    return pathlib.Path(os.path.abspath(base))  # noqa: PTH100


def whole_versions(base: str | os.PathLike) -> dict[int, pathlib.Path]:
    """Finds `version_folders` that hold a SavedModel; raises as it does."""
    return {
        version: folder
        for version, folder in version_folders(base).items()
        if (folder / SAVED_MODEL).is_file()
    }


def choose_version(base: str | os.PathLike, version: int | None) -> int:
    """Returns the version to write: the requested or the next one.

    Raises:
        InputError: `base` can't hold versions, or has this version already.
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
            f"version must be an integer from 1 on. Received: {version}"
        )
    if version in taken:
        raise InputError(
            f"{taken[version]} exists, and a version is never overwritten. "
            f"Accepted: another number; the next is {max(taken) + 1}"
        )
    return version


def find_saved_model(path: str | os.PathLike) -> pathlib.Path:
    """Resolves a version folder, or a model's folder to its latest version.

    Raises:
        InputError: the path neither is nor contains a version folder.
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


def folder_size(folder: pathlib.Path) -> int:
    """Returns the total size of a folder's files in bytes."""
    return sum(
        path.stat().st_size for path in folder.rglob("*") if path.is_file()
    )
