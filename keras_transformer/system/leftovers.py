"""Leftovers: temporary files and folders of processes that were killed.

The name of a temporary file contains the process and the machine that write it,
so that other processes can remove it once that process has ended.
"""

import contextlib
import functools
import glob
import os
import pathlib
import re
import shutil
import socket
import uuid
import zlib

HIDDEN = ".tmp-"
# After the machine, 8 digits: the process, and a random part for each file.
_PROCESS = "([0-9a-f]{6})[0-9a-f]{6}-"
# A regular expression for the beginning of every temporary name.
TEMPORARY = rf"{re.escape(HIDDEN)}[0-9a-f]{{20}}-"
# Bytes of a file's name, less those of HIDDEN, the 20 digits and a hyphen.
_LONGEST = 255 - 26
_swept: set = set()


def hidden(path: pathlib.Path) -> pathlib.Path:
    """A new temporary path beside `path`, with this process in its name."""
    ours = f"{_machine()}{os.getpid():06x}{uuid.uuid4().hex[:6]}"
    return path.with_name(f"{HIDDEN}{ours}-{_shortened(path.name)}")


def sweep(folder: str | os.PathLike) -> None:
    """Removes what ended processes of this machine left in a folder.

    Each folder is searched only once.
    """
    name = os.path.realpath(folder)
    if name in _swept:
        return
    _swept.add(name)
    with contextlib.suppress(OSError):
        for entry in list(os.scandir(name)):
            if _is_of_the_dead(entry.name):
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path, ignore_errors=True)
                else:
                    pathlib.Path(entry).unlink()


def remove_leftovers(folder: str | os.PathLike) -> None:
    """Removes temporary files that killed processes left below a folder.

    No other process may be writing there.
    """
    for path in pathlib.Path(folder).rglob(f"{HIDDEN}*"):
        if re.match(TEMPORARY, path.name) and path.is_file():
            path.unlink(missing_ok=True)


def remove_leftovers_of(path: str | os.PathLike) -> None:
    """Removes temporary files that killed processes left of a target.

    No other process may be writing it.
    """
    path = pathlib.Path(os.path.realpath(path))
    name = _shortened(path.name)
    for left in path.parent.glob(f"{HIDDEN}*-{glob.escape(name)}"):
        if re.fullmatch(TEMPORARY + re.escape(name), left.name):
            left.unlink(missing_ok=True)


def _shortened(name):
    """The end of a name that a temporary name has room for."""
    while len(os.fsencode(name)) > _LONGEST:
        name = name[1:]
    return name


def _is_of_the_dead(name):
    """True if a name belongs to an ended process of this machine."""
    match = re.match(f"{re.escape(HIDDEN + _machine())}{_PROCESS}", name)
    return match is not None and not _is_alive(int(match[1], 16))


def _is_alive(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # Another user's process.
        return True
    return True


@functools.cache
def _machine():
    """Identifies the scope of process ids: a host, or a container on it.

    The host's name isn't enough, as hosts that share a file system may all be
    called localhost; nor is the namespace's number, which is the same on every
    host outside of containers.
    """
    name = socket.gethostname()
    with contextlib.suppress(OSError):  # Not on macOS.
        name += f" {pathlib.Path('/proc/self/ns/pid').stat().st_ino}"
        name += f" {pathlib.Path('/etc/machine-id').read_text()}"
    return f"{zlib.crc32(name.encode()):08x}"
