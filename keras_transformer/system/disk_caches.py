"""Folders in which compiled programs are kept from one process to the next."""

import os
import pathlib
import platform
import stat
from importlib import metadata

from keras_transformer.system.checksums import digest


def private_cache_folder(
    compiler: str, distribution: str
) -> pathlib.Path | None:
    """A folder for the programs that one compiler makes on this machine.

    Whoever can write to it can have this user run code, so that it belongs to
    the user alone. Programs fit one version and one kind of machine and aren't
    checked: the folder's name has a digest of both.

    Args:
        compiler: the beginning of the folder's name.
        distribution: the package whose version counts.

    Returns:
        `pathlib.Path`; None if none can be made, or if others may write to
        the one that is there.
    """
    named = os.environ.get("XDG_CACHE_HOME")
    try:
        base = pathlib.Path(named) if named else pathlib.Path.home() / ".cache"
    except RuntimeError:  # The user has none.
        return None
    facts = [platform.machine(), metadata.version(distribution), _processor()]
    machine = digest("\n".join(facts).encode())[:16]
    path = base / "keras_transformer" / f"{compiler}-{machine}"
    try:
        path.parent.parent.mkdir(parents=True, exist_ok=True)
        for folder in (path.parent, path):
            folder.mkdir(exist_ok=True, mode=0o700)
        both = _is_private(path.parent) and _is_private(path)
        return path if both else None
    except OSError:
        return None


def _is_private(path):
    """Whether a folder is the user's, and no one else may write to it."""
    status = path.stat()
    writable = stat.S_IWGRP | stat.S_IWOTH
    return status.st_uid == os.getuid() and not status.st_mode & writable


def _processor():
    """What the processor can do, as Linux tells it."""
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor()
    names = ("model name", "flags", "Features")
    lines = [line for line in text.splitlines() if line.startswith(names)]
    return "\n".join(sorted(set(lines)))
