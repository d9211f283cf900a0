"""Locks that one process at a time holds, until it releases them or dies."""

import contextlib
import errno
import fcntl
import json
import os
import pathlib
import socket
import threading
import time
from collections.abc import Iterator

from keras_transformer.errors import InputError
from keras_transformer.system.files import writing

# Errors of file systems without locks.
NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)
_POLL = 0.05  # seconds between two attempts
_HOLDER_BYTES = 1000  # read at most from the description of a lock's holder
_held: dict = {}  # real paths of locks to the threads that hold them


@contextlib.contextmanager
def locked(
    path: str | os.PathLike,
    where: str | os.PathLike,
    doing: str,
    wait: float = 0.0,
) -> Iterator[None]:
    """Holds an exclusive lock in the block.

    The operating system releases the lock when the process dies for any
    reason; shared file systems (NFS 4, Lustre, GPFS) do so across hosts. On a
    file system without locks, no process is excluded. The lock is reentrant
    for its thread.

    Args:
        path: of the lock file. It describes the holder, and is removed at the
            end.
        where: the locked resource, for the error's message.
        doing: the end of the message: what the holder is doing, and what would
            be accepted.
        wait: seconds to wait for another holder.

    Raises:
        InputError: another process or thread holds the lock, or the file can't
            be written.
    """
    path = pathlib.Path(path)
    name, own = os.path.realpath(path), threading.get_ident()
    if _held.get(name) == own:
        yield
        return
    with _taken(path, where, doing, time.monotonic() + wait) as file:
        _held[name] = own
        try:
            _write_holder(file)
            yield
        finally:
            del _held[name]
            with contextlib.suppress(OSError):
                path.unlink()


def open_unlinked(path: str, flags: int) -> int:
    """An `opener` for `open` that doesn't follow a symbolic link.

    For folders where another user may have put one.

    Returns:
        the file's descriptor.
    """
    return os.open(path, flags | os.O_NOFOLLOW, 0o666)


def _taken(path, where, doing, deadline):
    """Opens and locks the lock file; see `locked`."""
    while True:
        with writing(path):
            file = open(path, "a+b", opener=open_unlinked)
        try:
            # `flock` is per open file, so it excludes other threads, too.
            if _lock(file):
                if _is_current(file, path):
                    return file
            elif time.monotonic() >= deadline:
                raise InputError(f"{where}: {_holder(file)} {doing}")
            else:
                time.sleep(_POLL)
        except BaseException:
            file.close()
            raise
        file.close()


def _is_current(file, path) -> bool:
    """True if the path is still this file; a former holder removes it."""
    try:
        return os.path.samestat(path.lstat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


def _lock(file) -> bool:
    """Locks the file until it is closed; False if it is locked already."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
    return True


def _write_holder(file):
    since = time.strftime("%Y-%m-%d %H:%M:%S")
    holder = {
        "process": os.getpid(),
        "host": socket.gethostname(),
        "since": since,
    }
    # A full disk is no reason to fail: the text is only for messages.
    with contextlib.suppress(OSError):
        file.truncate(0)  # Removes the text of a killed holder.
        file.write(json.dumps(holder).encode())
        file.flush()


def _holder(file) -> str:
    """Describes the holder of a lock in words."""
    try:
        file.seek(0)
        holder = json.loads(file.read(_HOLDER_BYTES))
        process, host = int(holder["process"]), str(holder["host"])
        since = str(holder["since"])
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return "another process"
    return f"process {process} on {host[:64]}, since {since[:32]},"
