"""Locks: what one process at a time may do, until it ends or dies."""

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

# What a file system says that has no locks.
NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)
_POLL = 0.05  # seconds between two attempts
_HOLDER_BYTES = 1000  # that are read of who holds a lock
_held: dict = {}  # real path to the thread of this process that holds it


@contextlib.contextmanager
def locked(
    path: str | os.PathLike,
    where: str | os.PathLike,
    doing: str,
    wait: float = 0.0,
) -> Iterator[None]:
    """Keeps other processes from something while the block lasts.

    The system frees a lock when its process dies, however that happens; file
    systems that hosts share (NFS 4, Lustre, GPFS) tell the others of it. Where
    a file system has no locks, no process is kept away. The same thread may
    enter again.

    Args:
        path: of the lock's file, which says who holds it, and is removed at
            the end.
        where: what it locks, for the error's message.
        doing: what who holds it does there, and what would be accepted.
        wait: seconds to wait for another process.

    Raises:
        InputError: another process holds it; the file can't be written.
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
    """The `opener` of `open` of a file that may be a stranger's.

    Returns:
        the file's descriptor, not that of one that a link names.
    """
    return os.open(path, flags | os.O_NOFOLLOW, 0o666)


def _taken(path, where, doing, deadline):
    """The lock's file, opened and locked; see `locked`."""
    while True:
        with writing(path):
            file = open(path, "a+b", opener=open_unlinked)
        try:
            # A lock is of an opened file: it keeps threads away as well.
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
    """True if the file still has its name, which its holder removes."""
    try:
        return os.path.samestat(path.lstat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


def _lock(file) -> bool:
    """Locks the file until it is closed; False if another has it."""
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
    with contextlib.suppress(OSError):  # Of a full disk: only words.
        file.truncate(0)  # What one that was killed has left.
        file.write(json.dumps(holder).encode())
        file.flush()


def _holder(file) -> str:
    """Who holds a lock, in words."""
    try:
        file.seek(0)
        holder = json.loads(file.read(_HOLDER_BYTES))
        process, host = int(holder["process"]), str(holder["host"])
        since = str(holder["since"])
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return "another process"
    return f"process {process} on {host[:64]}, since {since[:32]},"
